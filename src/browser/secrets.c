/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/secrets.h"

#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "browser/jsonf.h"

enum { NAME_BYTES = 128, MAX_DEPTH = 16 };

struct captured {
    char key[NAME_BYTES];
    char field[NAME_BYTES];
    struct secret_text value; /* empty: this place is free */
};

struct browser_secrets {
    struct captured items[BROWSER_SECRETS_MAX];
};

int browser_secrets_new(struct browser_secrets **out_secrets)
{
    *out_secrets = calloc(1, sizeof(**out_secrets));
    return *out_secrets != NULL ? 0 : ERR_NO_MEMORY;
}

static bool is_used(const struct captured *captured)
{
    return captured->value.len > 0;
}

static void forget(struct captured *captured)
{
    secret_text_done(&captured->value);
    *captured = (struct captured){.value = SECRET_TEXT_INIT};
}

void browser_secrets_clear(struct browser_secrets *secrets)
{
    for (size_t i = 0; i < BROWSER_SECRETS_MAX; i++)
        if (is_used(&secrets->items[i]))
            forget(&secrets->items[i]);
}

void browser_secrets_free(struct browser_secrets *secrets)
{
    if (secrets == NULL)
        return;
    browser_secrets_clear(secrets);
    free(secrets);
}

static const struct captured *find(const struct browser_secrets *secrets, struct str key,
                                   struct str field)
{
    for (size_t i = 0; i < BROWSER_SECRETS_MAX; i++) {
        const struct captured *captured = &secrets->items[i];

        if (is_used(captured) && str_eq_c(key, captured->key) && str_eq_c(field, captured->field))
            return captured;
    }
    return NULL;
}

int browser_secrets_put(struct browser_secrets *secrets, struct str key, struct str field,
                        struct str value, struct err *err)
{
    const struct captured *old = find(secrets, key, field);
    struct captured *place = old != NULL ? &secrets->items[old - secrets->items] : NULL;
    int r;

    for (size_t i = 0; i < BROWSER_SECRETS_MAX && place == NULL; i++)
        if (!is_used(&secrets->items[i]))
            place = &secrets->items[i];
    if (place == NULL)
        return err_set(err, ERR_BUSY, "Secret capturing failed: too many secrets are kept");
    if (key.len >= NAME_BYTES || field.len >= NAME_BYTES)
        return err_set(err, ERR_TOO_LARGE, "Secret capturing failed: the name is too long");
    forget(place);
    r = secret_text_set(&place->value, value);
    if (r < 0)
        return err_set(err, r, "Secret capturing failed: the element %s",
                       r == ERR_TOO_LARGE ? "has too much text" : "has no text");
    memcpy(place->key, key.ptr, key.len);
    memcpy(place->field, field.ptr, field.len);
    return 0;
}

void browser_secrets_drop(struct browser_secrets *secrets, struct str key)
{
    for (size_t i = 0; i < BROWSER_SECRETS_MAX; i++)
        if (is_used(&secrets->items[i]) && str_eq_c(key, secrets->items[i].key))
            forget(&secrets->items[i]);
}

int browser_secrets_write_names(const struct browser_secrets *secrets, struct str key,
                                struct buf *out)
{
    bool is_first = true;
    int r = buf_append_char(out, '[');

    for (size_t i = 0; i < BROWSER_SECRETS_MAX && r == 0; i++) {
        const struct captured *captured = &secrets->items[i];

        if (!is_used(captured) || !str_eq_c(key, captured->key))
            continue;
        r = jsonf(out, "%r%z", is_first ? STR_EMPTY : STR(","), captured->field);
        is_first = false;
    }
    return r == 0 ? buf_append_char(out, ']') : r;
}

/* ---- the data of a credential ---- */

struct writing {
    const struct browser_secrets *secrets;
    struct str key;
    struct buf *out;
    struct err *err;
};

static int write_resolved(struct writing *writing, const struct json_value *value, int depth);

static int write_members(struct writing *writing, const struct json_value *object, bool is_first,
                         int depth)
{
    int r = 0;

    json_each_member (key, object) {
        if (r == 0)
            r = jsonf(writing->out, "%r%s:", is_first ? STR_EMPTY : STR(","), json_str(key));
        if (r == 0)
            r = write_resolved(writing, key + 1, depth);
        if (r < 0)
            return r;
        is_first = false;
    }
    return 0;
}

static int write_resolved(struct writing *writing, const struct json_value *value, int depth)
{
    const struct captured *captured;
    int r;

    if (value->type == JSON_OBJECT && depth < MAX_DEPTH) {
        r = buf_append_char(writing->out, '{');
        if (r == 0)
            r = write_members(writing, value, true, depth + 1);
        return r == 0 ? buf_append_char(writing->out, '}') : r;
    }
    if (value->type != JSON_STRING)
        return err_set(writing->err, ERR_INVALID_ARGUMENT,
                       "resolveData: its values must be names of captured fields");
    captured = find(writing->secrets, writing->key, json_str(value));
    if (captured == NULL)
        return err_set(writing->err, ERR_NOT_FOUND,
                       "resolveData: the captured field '%.*s' was not found",
                       (int)(value->size < 100 ? value->size : 100), json_str(value).ptr);
    /* Revealed for the server that the user paired with, and nobody else. */
    return jsonf(writing->out, "%s", secret_text_reveal(&captured->value));
}

static int write_all(struct writing *writing, bool is_first, size_t *out_count)
{
    int r = 0;

    *out_count = 0;
    for (size_t i = 0; i < BROWSER_SECRETS_MAX && r == 0; i++) {
        const struct captured *captured = &writing->secrets->items[i];

        if (!is_used(captured) || !str_eq_c(writing->key, captured->key))
            continue;
        /* Revealed for the server that the user paired with, and nobody else. */
        r = jsonf(writing->out, "%r%z:%s", is_first && *out_count == 0 ? STR_EMPTY : STR(","),
                  captured->field, secret_text_reveal(&captured->value));
        (*out_count)++;
    }
    return r;
}

static bool has_any(const struct browser_secrets *secrets, struct str key)
{
    for (size_t i = 0; i < BROWSER_SECRETS_MAX; i++)
        if (is_used(&secrets->items[i]) && str_eq_c(key, secrets->items[i].key))
            return true;
    return false;
}

/* A name twice would be one or the other. */
static int check_names(const struct browser_secrets *secrets, struct str key,
                       const struct json_value *plain, const struct json_value *resolved,
                       struct err *err)
{
    if (plain == NULL)
        return 0;
    json_each_member (name, plain)
        if (resolved != NULL ? json_get(resolved, json_str(name)) != NULL
                             : find(secrets, key, json_str(name)) != NULL)
            return err_set(err, ERR_INVALID_ARGUMENT,
                           "data: '%.*s' is also the name of a captured field",
                           (int)(name->size < 100 ? name->size : 100), json_str(name).ptr);
    return 0;
}

int browser_secrets_write_data(const struct browser_secrets *secrets, struct str key,
                               const struct json_value *plain, const struct json_value *resolved,
                               struct buf *out, struct err *err)
{
    struct writing writing = {.secrets = secrets, .key = key, .out = out, .err = err};
    bool is_first = true;
    size_t count;
    int r;

    if (!has_any(secrets, key))
        return err_set(err, ERR_NOT_FOUND,
                       "No captured fields found for '%.*s': capture them with "
                       "browser_capture_secret first",
                       (int)(key.len < 100 ? key.len : 100), key.ptr);
    r = check_names(secrets, key, plain, resolved, err);
    if (r < 0)
        return r;
    r = buf_append_char(out, '{');
    if (plain != NULL)
        json_each_member (name, plain) {
            if (r == 0)
                r = jsonf(out, "%r%s:%v", is_first ? STR_EMPTY : STR(","), json_str(name),
                          name + 1);
            is_first = false;
        }
    if (r == 0)
        r = resolved != NULL ? write_members(&writing, resolved, is_first, 0)
                             : write_all(&writing, is_first, &count);
    if (r == 0)
        r = buf_append_char(out, '}');
    return r < 0 && (err == NULL || err->code == 0) ? err_set_plain(err, r) : r;
}
