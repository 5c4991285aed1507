/* SPDX-License-Identifier: Apache-2.0 */
/* What the toolhost says about a call. It may be broken into: it can lie about files alone. */
#include "daemon/calls_internal.h"

#include <string.h>

#include "permission/settings.h"

enum { MARK_DIGITS = 16, FAILURE_BYTES = 64 << 10, FAILURE_ARENA_BYTES = 4 << 20 };

static bool access_from(struct str name, enum authority_operation *out_operation)
{
    static const struct {
        const char *name;
        enum authority_operation operation;
    } rows[] = {
        {"reads", AUTHORITY_OP_READ},
        {"lists", AUTHORITY_OP_LIST},
        {"writes", AUTHORITY_OP_WRITE},
        {"deletes", AUTHORITY_OP_REMOVE},
    };

    for (size_t i = 0; i < array_size(rows); i++) {
        if (!str_eq_c(name, rows[i].name))
            continue;
        *out_operation = rows[i].operation;
        return true;
    }
    return false;
}

/* The document may go: all texts are copied. */
static bool copy_text(struct arena *arena, const struct json_value *object, struct str key,
                      struct str *out_text)
{
    struct str text;
    const char *copy;

    if (!json_get_str(object, key, &text))
        return false;
    copy = arena_copy(arena, text);
    if (copy == NULL)
        return false;
    *out_text = (struct str){copy, text.len};
    return true;
}

static bool read_touched(struct call *call, const struct json_value *list)
{
    call->touched_count = 0;
    call->touched = arena_alloc_array(&call->arena, list->size + 1, sizeof(*call->touched));
    if (call->touched == NULL)
        return false;
    json_each_item (item, list) {
        struct touched *touched = &call->touched[call->touched_count++];
        struct str access;

        *touched = (struct touched){.request_id = 0};
        if (!json_get_str(item, STR("access"), &access) ||
            !access_from(access, &touched->operation) ||
            !copy_text(&call->arena, item, STR("resolved"), &touched->name))
            return false;
    }
    /* A call that names nothing is about the folder. */
    if (call->touched_count == 0)
        call->touched[call->touched_count++] = (struct touched){
            .operation = call->tool->group == CATALOG_FILESYSTEM_WRITE ? AUTHORITY_OP_WRITE
                                                                       : AUTHORITY_OP_READ,
            .name = STR_EMPTY,
        };
    return true;
}

/* An answer about anything else would be kept for what no toolhost does. */
static bool is_of_files(enum catalog_group group)
{
    return group == CATALOG_FILESYSTEM_READ || group == CATALOG_FILESYSTEM_WRITE;
}

static bool read_consent(struct call *call, const struct json_value *list)
{
    call->resource_count = 0;
    call->resources = arena_alloc_array(&call->arena, list->size, sizeof(*call->resources));
    if (call->resources == NULL)
        return false;
    json_each_item (item, list) {
        struct permission_resource *resource = &call->resources[call->resource_count++];
        struct str group;

        *resource = (struct permission_resource){.cwd = STR_EMPTY};
        if (!json_get_str(item, STR("group"), &group) ||
            !settings_group_from(group, &resource->group) || !is_of_files(resource->group) ||
            !copy_text(&call->arena, item, STR("given"), &resource->given) ||
            !copy_text(&call->arena, item, STR("resolved"), &resource->resolved) ||
            !json_get_bool(item, STR("deletes"), &resource->deletes))
            return false;
    }
    /* Of files every call touches something: none would pass without a decision. */
    return call->resource_count > 0;
}

static bool read_mark(const struct json_value *document, uint64_t *out_mark)
{
    struct str text;
    uint64_t mark = 0;

    if (!json_get_str(document, STR("mark"), &text) || text.len != MARK_DIGITS)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        const char *digits = "0123456789abcdef";
        const char *digit = memchr(digits, text.ptr[i], MARK_DIGITS);

        if (digit == NULL)
            return false;
        mark = mark << 4 | (uint64_t)(digit - digits);
    }
    *out_mark = mark;
    return true;
}

int calls_read_prepared(struct call *call, struct str body, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(call->arena.max);
    const struct json_value *document;
    const struct json_value *touched;
    const struct json_value *consent;
    int r = json_parse(&arena, body, JSON_LIMITS_DEFAULT, &document, err);

    if (r < 0)
        return r;
    touched = json_get(document, STR("resources"));
    consent = json_get(document, STR("consent"));
    if (touched == NULL || touched->type != JSON_ARRAY || consent == NULL ||
        consent->type != JSON_ARRAY || !read_touched(call, touched) ||
        !read_consent(call, consent) || !read_mark(document, &call->mark) ||
        !json_get_bool(document, STR("deletes"), &call->deletes))
        return err_set(err, ERR_INTERNAL, "what the call is about cannot be understood");
    return calls_hold_too_much(call->calls) ? err_set_plain(err, ERR_BUSY) : 0;
}

int calls_read_previewed(struct call *call, struct str body, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(call->arena.max);
    struct question *question = &call->decision.question;
    const struct json_value *document;
    int r = json_parse(&arena, body, JSON_LIMITS_DEFAULT, &document, err);

    if (r < 0)
        return r;
    question->deletes = call->deletes;
    if (!copy_text(&call->arena, document, STR("action"), &question->action) ||
        !copy_text(&call->arena, document, STR("detail"), &question->detail) ||
        !json_get_bool(document, STR("isDiff"), &question->is_diff))
        return err_set(err, ERR_INTERNAL, "what the call would do cannot be understood");
    return calls_hold_too_much(call->calls) ? err_set_plain(err, ERR_BUSY) : 0;
}

/* {"error": "..."}, as the text of a result is. */
static void read_words(struct arena *arena, const struct json_value *result, struct err *err)
{
    const struct json_value *content = json_get(result, STR("content"));
    const struct json_value *told;
    struct str text;

    if (content == NULL || content->type != JSON_ARRAY || content->size == 0)
        return;
    json_each_item (item, content) {
        if (json_get_str(item, STR("text"), &text) &&
            json_parse(arena, text, JSON_LIMITS_DEFAULT, &told, NULL) == 0 &&
            json_get_str(told, STR("error"), &text))
            err_set(err, ERR_TOOL_FAILED, "%.*s", STR_ARG(text));
        return;
    }
}

/* Errors are short and say so; of all else nothing need be read. */
bool calls_read_failure(struct str result, struct err *out_err)
{
    cleanup_arena struct arena arena = ARENA_INIT(FAILURE_ARENA_BYTES);
    const struct json_value *document;
    bool is_error = false;

    if (result.len > FAILURE_BYTES || str_find(result, STR("\"isError\":true")) == SIZE_MAX ||
        json_parse(&arena, result, JSON_LIMITS_DEFAULT, &document, NULL) < 0 ||
        !json_get_bool(document, STR("isError"), &is_error) || !is_error)
        return false;
    err_set_plain(out_err, ERR_TOOL_FAILED);
    read_words(&arena, document, out_err);
    return true;
}
