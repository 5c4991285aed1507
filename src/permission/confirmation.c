/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/confirmation.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsonwrite.h"
#include "base/list.h"
#include "base/sha256.h"
#include "protocol/toolresult.h"

enum { DESCRIPTION_BYTES = 1 << 20, TEXT_BYTES = 4 << 20 };

struct waiting {
    struct list link; /* oldest first */
    int64_t ends_ms;
    unsigned choices;
    unsigned char digest[SHA256_BYTES];
};

struct confirmations {
    const struct clock *clock;
    struct list open;
    size_t count;
};

/* ---- the wire ---- */

int confirmation_take(struct arena *arena, const struct json_value *arguments,
                      const struct json_value **out_arguments, struct str *out_answer)
{
    const struct json_value *answer = json_get(arguments, STR(CONFIRMATION_ARGUMENT));
    struct json_value *rest;
    size_t before;
    size_t dropped;

    *out_answer = STR_EMPTY;
    *out_arguments = arguments;
    if (answer == NULL)
        return 0;
    if (answer->type == JSON_STRING)
        *out_answer = json_str(answer);
    /* Values stand behind each other: what is left moves together. */
    before = (size_t)(answer - 1 - arguments);
    dropped = 1 + json_span(answer);
    rest = arena_alloc_array(arena, arguments->span - dropped, sizeof(*rest));
    if (rest == NULL)
        return arena->error;
    memcpy(rest, arguments, before * sizeof(*rest));
    memcpy(rest + before, answer + json_span(answer),
           (arguments->span - before - dropped) * sizeof(*rest));
    rest->span -= dropped;
    rest->size--;
    *out_arguments = rest;
    return 0;
}

static int write_resources(const struct question *question, struct buf *out)
{
    int r = 0;

    /* Several operations on one resource name it once. */
    for (size_t i = 0; i < question->resource_count && r == 0; i++) {
        if (question_first_of(question, i) != i)
            continue;
        if (i > 0)
            r = buf_append_str(out, STR(", "));
        if (r == 0)
            r = question_add_line(out, question->resources[i].shown);
    }
    return r;
}

/* The action, and the diff or the arguments below it: the page shows one text. */
static int write_description(const struct question *question, struct buf *out)
{
    int r = question_add_line(out, question->action);

    if (r == 0 && question->detail.len > 0)
        r = buf_append_str(out, STR("\n\n"));
    return r == 0 ? question_add_lines(out, question->detail) : r;
}

int confirmation_write_members(const struct question *question, unsigned choices,
                               struct json_writer *json)
{
    cleanup_buf struct buf text = BUF_INIT(DESCRIPTION_BYTES);
    int r = write_resources(question, &text);

    if (r < 0)
        return r;
    json_put_str(json, STR("toolGroup"), str_from(catalog_group_name(question->group)));
    json_put_str_lossy(json, STR("resource"), buf_view(&text));
    buf_clear(&text);
    r = question->is_private
            ? buf_printf(&text,
                         "%.*s: what it would do is shown on the machine only, because the "
                         "agent may not read there",
                         STR_ARG(question->tool))
            : write_description(question, &text);
    json_put_str_lossy(json, STR("description"), buf_view(&text));
    json_key(json, STR("options"));
    json_begin_array(json);
    for (enum permission_choice choice = 0; choice < CHOICES; choice++)
        if ((question->choices & choices & 1U << choice) != 0)
            json_write_str(json, str_from(permission_choice_name(choice)));
    json_end_array(json);
    return r;
}

int confirmation_write(const struct question *question, struct buf *out)
{
    struct json_writer json;
    int r = buf_append_str(out, STR(CONFIRMATION_PREFIX));

    if (r < 0)
        return r;
    json_writer_init(&json, out);
    json_begin_object(&json);
    r = confirmation_write_members(question, ~0U, &json);
    json_end_object(&json);
    return r < 0 ? r : json_writer_finish(&json);
}

int confirmation_write_result(const struct question *question, struct buf *out)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);
    cleanup_buf struct buf object = BUF_INIT(2 * TEXT_BYTES);
    struct json_writer json;
    int r = confirmation_write(question, &text);

    if (r < 0)
        return r;
    json_writer_init(&json, &object);
    json_begin_object(&json);
    json_put_str(&json, STR("error"), buf_view(&text));
    json_end_object(&json);
    r = json_writer_finish(&json);
    return r == 0 ? toolresult_write(out, buf_view(&object), buf_view(&object), true) : r;
}

/* ---- what was asked ---- */

static void feed_text(struct sha256 *sha, char kind, struct str text)
{
    uint64_t len = text.len;

    sha256_add(sha, (struct str){&kind, 1});
    sha256_add(sha, (struct str){(const char *)&len, sizeof(len)});
    sha256_add(sha, text);
}

static int compare_keys(const void *a, const void *b)
{
    return str_compare(json_str(*(const struct json_value *const *)a),
                       json_str(*(const struct json_value *const *)b));
}

static int feed_value(struct sha256 *sha, struct arena *arena, const struct json_value *value);

/* Sorted by name: a client that adds its answer may write the others in another order. */
static int feed_members(struct sha256 *sha, struct arena *arena, const struct json_value *object)
{
    const struct json_value **keys = arena_alloc_array(arena, object->size, sizeof(*keys));
    size_t count = 0;

    if (keys == NULL)
        return arena->error;
    json_each_member (key, object)
        keys[count++] = key;
    if (count > 0)
        qsort(keys, count, sizeof(*keys), compare_keys);
    for (size_t i = 0; i < count; i++) {
        int r;

        feed_text(sha, 'k', json_str(keys[i]));
        r = feed_value(sha, arena, keys[i] + 1);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Each value marks its end, so that no two trees have the same bytes. */
static int feed_value(struct sha256 *sha, struct arena *arena, const struct json_value *value)
{
    uint64_t size = value->size;
    char type = (char)('0' + value->type);
    int r = 0;

    sha256_add(sha, (struct str){&type, 1});
    switch ((enum json_type)value->type) {
    case JSON_NULL:
        return 0;
    case JSON_BOOL:
    case JSON_INT:
        sha256_add(sha, (struct str){(const char *)&value->integer, sizeof(value->integer)});
        return 0;
    case JSON_NUMBER:
    case JSON_STRING:
        feed_text(sha, type, json_str(value));
        return 0;
    case JSON_ARRAY:
        sha256_add(sha, (struct str){(const char *)&size, sizeof(size)});
        json_each_item (item, value) {
            r = feed_value(sha, arena, item);
            if (r < 0)
                return r;
        }
        return 0;
    case JSON_OBJECT:
        sha256_add(sha, (struct str){(const char *)&size, sizeof(size)});
        return feed_members(sha, arena, value);
    }
    return ERR_INTERNAL;
}

/*
 * Covers the tool, the arguments, and the resources: a file that leads elsewhere by now is another
 * one.
 */
static int make_digest(const struct question *question, const struct json_value *arguments,
                       unsigned char out_digest[SHA256_BYTES])
{
    cleanup_arena struct arena arena = ARENA_INIT(JSON_DEFAULT_MAX_BYTES);
    struct sha256 sha;
    int r;

    sha256_init(&sha);
    feed_text(&sha, 't', question->tool);
    sha256_add(&sha, (struct str){(const char *)&question->mark, sizeof(question->mark)});
    for (size_t i = 0; i < question->resource_count; i++) {
        feed_text(&sha, (char)('a' + question->resources[i].group), question->resources[i].shown);
        feed_text(&sha, 'o', str_from(permission_operation_name(question->resources[i].operation)));
    }
    r = feed_value(&sha, &arena, arguments);
    if (r == 0)
        sha256_end(&sha, out_digest);
    return r;
}

int confirmations_new(const struct clock *clock, struct confirmations **out_confirmations)
{
    struct confirmations *confirmations = malloc(sizeof(*confirmations));

    if (confirmations == NULL)
        return ERR_NO_MEMORY;
    *confirmations = (struct confirmations){.clock = clock};
    list_init(&confirmations->open);
    *out_confirmations = confirmations;
    return 0;
}

static void forget(struct confirmations *confirmations, struct waiting *waiting)
{
    list_remove(&waiting->link);
    confirmations->count--;
    free(waiting);
}

void confirmations_forget_all(struct confirmations *confirmations)
{
    list_each_safe (node, &confirmations->open)
        forget(confirmations, list_entry(node, struct waiting, link));
}

void confirmations_free(struct confirmations *confirmations)
{
    if (confirmations == NULL)
        return;
    confirmations_forget_all(confirmations);
    free(confirmations);
}

/* Expired ones come first. */
static void drop_old(struct confirmations *confirmations, int64_t now_ms)
{
    list_each_safe (node, &confirmations->open) {
        struct waiting *waiting = list_entry(node, struct waiting, link);

        if (waiting->ends_ms > now_ms && confirmations->count < CONFIRMATION_MAX_OPEN)
            return;
        forget(confirmations, waiting);
    }
}

/* One at most: a repeated question is the same. */
static struct waiting *find(const struct confirmations *confirmations,
                            const unsigned char digest[SHA256_BYTES])
{
    list_each (node, &confirmations->open) {
        struct waiting *waiting = list_entry(node, struct waiting, link);

        if (memcmp(waiting->digest, digest, SHA256_BYTES) == 0)
            return waiting;
    }
    return NULL;
}

int confirmations_expect(struct confirmations *confirmations, const struct question *question,
                         const struct json_value *arguments)
{
    int64_t now_ms = clock_monotonic_ms(confirmations->clock);
    struct waiting *waiting = malloc(sizeof(*waiting));
    struct waiting *same;
    int r;

    if (waiting == NULL)
        return ERR_NO_MEMORY;
    r = make_digest(question, arguments, waiting->digest);
    if (r < 0) {
        free(waiting);
        return r;
    }
    /* Two equal questions share one answer, or the second would be unaccounted for. */
    same = find(confirmations, waiting->digest);
    if (same != NULL)
        forget(confirmations, same);
    drop_old(confirmations, now_ms);
    waiting->ends_ms = now_ms + CONFIRMATION_LIFE_MS;
    waiting->choices = question->choices;
    list_append(&confirmations->open, &waiting->link);
    confirmations->count++;
    return 0;
}

int confirmations_use(struct confirmations *confirmations, const struct question *question,
                      const struct json_value *arguments, struct str answer,
                      enum permission_choice *out_choice)
{
    int64_t now_ms = clock_monotonic_ms(confirmations->clock);
    unsigned char digest[SHA256_BYTES];
    struct waiting *waiting;
    enum permission_choice choice;
    unsigned choices;
    bool is_over;
    int r = make_digest(question, arguments, digest);

    if (r < 0)
        return r;
    waiting = find(confirmations, digest);
    if (waiting == NULL)
        return ERR_NOT_FOUND;
    is_over = waiting->ends_ms <= now_ms;
    choices = waiting->choices;
    forget(confirmations, waiting);
    if (is_over)
        return ERR_NOT_FOUND;
    if (!permission_choice_from(answer, &choice) || (choices & 1U << choice) == 0)
        return ERR_INVALID_ARGUMENT;
    *out_choice = choice;
    return 0;
}
