/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/authority/request.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hex.h"
#include "base/utf8.h"

enum { MAX_GLOBS = 1000, MAX_LABELS = 32, KEY_BYTES = 32 };

static int complain(struct err *err, struct str key, const char *what)
{
    return err_set(err, ERR_INVALID_ARGUMENT, "\"%.*s\": %s", STR_ARG(key), what);
}

static int no_memory(struct err *err)
{
    return err_set_plain(err, ERR_NO_MEMORY);
}

int request_text(struct arena *arena, const struct json_value *json, struct str key, bool is_needed,
                 const char **out_text, struct err *err)
{
    const struct json_value *value = json_get(json, key);
    const char *copy;

    if (value == NULL && !is_needed) {
        *out_text = NULL;
        return 0;
    }
    if (value == NULL || value->type != JSON_STRING || (is_needed && value->size == 0))
        return complain(err, key, "expected a text");
    if (str_has_nul(json_str(value)))
        return complain(err, key, "has a NUL");
    copy = arena_copy(arena, json_str(value));
    if (copy == NULL)
        return no_memory(err);
    *out_text = copy;
    return 0;
}

static int take_hex(struct arena *arena, struct str digits, struct str key, struct str *out_name,
                    struct err *err)
{
    char *bytes = arena_alloc(arena, digits.len / 2 + 1);

    if (bytes == NULL)
        return no_memory(err);
    if (digits.len % 2 != 0)
        return complain(err, key, "expected hex digits");
    for (size_t i = 0; i < digits.len / 2; i++) {
        int byte = hex_byte(digits, 2 * i);

        if (byte < 0)
            return complain(err, key, "expected hex digits");
        bytes[i] = (char)byte;
    }
    *out_name = (struct str){bytes, digits.len / 2};
    return 0;
}

int request_name(struct arena *arena, const struct json_value *json, struct str key, bool is_needed,
                 struct str *out_name, struct err *err)
{
    char hex_key[KEY_BYTES];
    struct str text;

    snprintf(hex_key, sizeof(hex_key), "%.*sHex", STR_ARG(key));
    if (json_get_str(json, str_from(hex_key), &text))
        return take_hex(arena, text, str_from(hex_key), out_name, err);
    if (json_get_str(json, key, &text)) {
        *out_name = text;
        return 0;
    }
    if (is_needed || json_get(json, key) != NULL)
        return complain(err, key, "expected a name");
    *out_name = STR_EMPTY;
    return 0;
}

int request_number(const struct json_value *json, struct str key, uint64_t *out_number,
                   struct err *err)
{
    int64_t number = 0;

    if (json_get(json, key) != NULL && (!json_get_int(json, key, &number) || number < 0))
        return complain(err, key, "expected a whole number from 0 on");
    *out_number = (uint64_t)number;
    return 0;
}

bool request_is_on(const struct json_value *json, struct str key)
{
    bool is_on = false;

    return json_get_bool(json, key, &is_on) && is_on;
}

int request_choice(const struct json_value *json, struct str key, const char *const *words,
                   size_t count, size_t *out_index, struct err *err)
{
    struct str word;
    size_t index;

    if (json_get(json, key) == NULL) {
        *out_index = 0;
        return 0;
    }
    index = json_get_str(json, key, &word) ? str_index(word, words, count) : SIZE_MAX;
    if (index == SIZE_MAX)
        return complain(err, key, "unknown value");
    *out_index = index;
    return 0;
}

/* ---- parts of a grant ---- */

/* Which value of an enum, from 0 to `last`, has that name. */
static int take_named(const struct json_value *json, struct str key, const char *(*name)(int value),
                      int last, int *out_value, struct err *err)
{
    struct str word;

    if (json_get_str(json, key, &word))
        for (int value = 0; value <= last; value++)
            if (str_eq_c(word, name(value))) {
                *out_value = value;
                return 0;
            }
    return complain(err, key, "missing or unknown");
}

static const char *subject_name(int value)
{
    return authority_subject_type_name((enum authority_subject_type)value);
}

static const char *kind_name(int value)
{
    return authority_root_kind_name((enum authority_root_kind)value);
}

static const char *source_name(int value)
{
    return authority_source_name((enum authority_source)value);
}

int request_parse_subject(struct arena *arena, const struct json_value *json,
                          struct authority_subject *out_subject, struct err *err)
{
    struct authority_subject subject = {0};
    int type;
    int r;

    if (json == NULL || json->type != JSON_OBJECT)
        return complain(err, STR("subject"), "expected an object");
    r = take_named(json, STR("type"), subject_name, AUTHORITY_AUTOMATION, &type, err);
    if (r == 0)
        r = request_text(arena, json, STR("id"), true, &subject.id, err);
    if (r == 0)
        r = request_text(arena, json, STR("runId"), false, &subject.run_id, err);
    if (r < 0)
        return r;
    subject.type = (enum authority_subject_type)type;
    *out_subject = subject;
    return 0;
}

static int take_labels(struct arena *arena, const struct json_value *json,
                       struct authority_root *root, struct err *err)
{
    struct authority_label *labels;

    if (json == NULL)
        return 0;
    labels = arena_alloc_array(arena, MAX_LABELS, sizeof(*labels));
    if (labels == NULL)
        return no_memory(err);
    if (json->type != JSON_OBJECT || json->size > MAX_LABELS)
        return complain(err, STR("labels"), "expected an object of up to 32 texts");
    json_each_member (key, json) {
        struct authority_label *label = &labels[root->label_count];
        int r = request_text(arena, json, json_str(key), false, &label->value, err);

        if (r < 0)
            return r;
        label->key = arena_copy(arena, json_str(key));
        if (label->key == NULL)
            return no_memory(err);
        root->label_count++;
    }
    root->labels = labels;
    return 0;
}

static int take_root(struct arena *arena, const struct json_value *json,
                     struct authority_root *root, struct err *err)
{
    int kind;
    int r;

    if (json == NULL || json->type != JSON_OBJECT)
        return complain(err, STR("root"), "expected an object");
    r = take_named(json, STR("kind"), kind_name, AUTHORITY_SECRET, &kind, err);
    if (r == 0)
        r = request_text(arena, json, STR("id"), true, &root->id, err);
    if (r == 0)
        r = request_text(arena, json, STR("path"), true, &root->path, err);
    if (r == 0)
        r = request_text(arena, json, STR("displayName"), false, &root->display_name, err);
    if (r == 0)
        r = take_labels(arena, json_get(json, STR("labels")), root, err);
    if (r == 0)
        root->kind = (enum authority_root_kind)kind;
    return r;
}

static int take_access(const struct json_value *json, unsigned *out_access, struct err *err)
{
    unsigned access = 0;

    if (json == NULL || json->type != JSON_ARRAY)
        return complain(err, STR("access"), "expected an array of texts");
    json_each_item (item, json) {
        unsigned found = 0;

        for (unsigned bit = 1; bit <= AUTHORITY_ALL_ACCESS && item->type == JSON_STRING; bit <<= 1)
            if (str_eq_c(json_str(item), authority_access_name((enum authority_access)bit)))
                found = bit;
        if (found == 0)
            return complain(err, STR("access"), "has an unknown word");
        access |= found;
    }
    *out_access = access;
    return 0;
}

static int take_globs(struct arena *arena, const struct json_value *json, struct str key,
                      const char *const **out_globs, struct err *err)
{
    const struct json_value *list = json_get(json, key);
    const char **globs;
    size_t count = 0;

    if (list == NULL)
        return 0;
    if (list->type != JSON_ARRAY || list->size > MAX_GLOBS)
        return complain(err, key, "expected an array of up to 1000 globs");
    globs = arena_alloc_array(arena, (size_t)list->size + 1, sizeof(*globs));
    if (globs == NULL)
        return no_memory(err);
    json_each_item (item, list) {
        if (item->type != JSON_STRING || item->size == 0 || str_has_nul(json_str(item)))
            return complain(err, key, "expected texts");
        globs[count] = arena_copy(arena, json_str(item));
        if (globs[count++] == NULL)
            return no_memory(err);
    }
    globs[count] = NULL;
    *out_globs = globs;
    return 0;
}

static int take_limits(struct arena *arena, const struct json_value *json,
                       struct authority_limits *limits, struct err *err)
{
    static const char *const symlinks[] = {"", "reject", "allow-in-root"};
    static const char *const hardlinks[] = {"", "reject", "allow"};
    size_t links = 0;
    size_t names = 0;
    int r;

    if (json == NULL)
        return 0;
    if (json->type != JSON_OBJECT)
        return complain(err, STR("policy"), "expected an object");
    r = request_choice(json, STR("symlinks"), symlinks, array_size(symlinks), &links, err);
    if (r == 0)
        r = request_choice(json, STR("hardlinks"), hardlinks, array_size(hardlinks), &names, err);
    if (r == 0)
        r = request_number(json, STR("maxFileBytes"), &limits->max_file_bytes, err);
    if (r == 0)
        r = take_globs(arena, json, STR("allowedGlobs"), &limits->allowed_globs, err);
    if (r == 0)
        r = take_globs(arena, json, STR("deniedGlobs"), &limits->denied_globs, err);
    limits->symlinks = (enum authority_symlinks)links;
    limits->hardlinks = (enum authority_hardlinks)names;
    return r;
}

static int take_expiry(const struct json_value *json, int64_t *out_ms, struct err *err)
{
    struct clock_iso time;
    struct str text;

    if (json_get(json, STR("expiresAt")) == NULL)
        return 0;
    if (!json_get_str(json, STR("expiresAt"), &text) || !clock_parse_iso(text, &time))
        return complain(err, STR("expiresAt"), "expected a time like 2026-11-20T12:00:00Z");
    *out_ms = clock_iso_ms(&time);
    /* 0 would be never. */
    if (*out_ms <= 0)
        *out_ms = 1;
    return 0;
}

int request_parse_root(struct arena *arena, const struct json_value *json,
                       struct authority_request *out_request, struct err *err)
{
    struct authority_request request = {0};
    int source = 0;
    int r = request_parse_subject(arena, json_get(json, STR("subject")), &request.subject, err);

    if (r == 0)
        r = take_root(arena, json_get(json, STR("root")), &request.root, err);
    if (r == 0)
        r = take_access(json_get(json, STR("access")), &request.access, err);
    if (r == 0)
        r = request_text(arena, json, STR("reason"), true, &request.reason, err);
    if (r == 0)
        r = take_named(json, STR("source"), source_name, AUTHORITY_FROM_CORE, &source, err);
    if (r == 0)
        r = take_expiry(json, &request.expires_ms, err);
    if (r == 0)
        r = take_limits(arena, json_get(json, STR("policy")), &request.limits, err);
    if (r < 0)
        return r;
    request.source = (enum authority_source)source;
    request.is_interactive = request_is_on(json, STR("interactive"));
    *out_request = request;
    return 0;
}

/* ---- answers ---- */

void request_parse_decision(const struct json_value *json, struct authority_decision *out_decision)
{
    static const struct {
        const char *word;
        enum authority_verdict verdict;
        const char *text;
    } types[] = {
        {"abstain", AUTHORITY_ABSTAIN, ""}, {"allow", AUTHORITY_ALLOW, ""},
        {"deny", AUTHORITY_DENY, "reason"}, {"ask-user", AUTHORITY_ASK, "prompt"},
        {"fail", AUTHORITY_FAIL, "reason"},
    };
    struct authority_decision decision = {.verdict = AUTHORITY_FAIL, .if_unasked = AUTHORITY_DENY};
    struct str word;
    struct str text = STR("the answer makes no sense");
    bool allows;

    if (json_get_bool(json, STR("allow"), &allows)) {
        decision.verdict = allows ? AUTHORITY_ALLOW : AUTHORITY_DENY;
        text = STR_EMPTY;
    } else if (json_get_str(json, STR("type"), &word)) {
        for (size_t i = 0; i < array_size(types); i++)
            if (str_eq_c(word, types[i].word)) {
                decision.verdict = types[i].verdict;
                if (!json_get_str(json, str_from(types[i].text), &text))
                    text = STR_EMPTY;
            }
    }
    if (json_get_str(json, STR("default"), &word) && str_eq(word, STR("allow")))
        decision.if_unasked = AUTHORITY_ALLOW;
    text = utf8_cut(text, sizeof(decision.text) - 1);
    snprintf(decision.text, sizeof(decision.text), "%.*s", STR_ARG(text));
    *out_decision = decision;
}
