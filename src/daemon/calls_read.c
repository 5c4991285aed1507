/* SPDX-License-Identifier: Apache-2.0 */
/* What the toolhost says about a call, and what the record is told of it. */
#include "daemon/calls_internal.h"

#include <string.h>

#include "permission/settings.h"

enum { MARK_DIGITS = 16 };

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
            !settings_group_from(group, &resource->group) ||
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
    return 0;
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
    return 0;
}

/* ---- the record ---- */

static int note(const struct call *call, struct authority_note *note)
{
    const struct authority_call about = {
        .tool = call->tool->name.ptr, /* of the catalogue, which ends its texts */
        .decision = permission_source_name(call->decision.source),
    };
    int r;

    authority_call_begin(&about);
    r = authority_note(call->calls->config.recorded, note);
    authority_call_end();
    return r;
}

static bool changes(const struct touched *touched)
{
    return touched->operation == AUTHORITY_OP_WRITE || touched->operation == AUTHORITY_OP_REMOVE;
}

int calls_note_intents(struct call *call)
{
    for (size_t i = 0; i < call->touched_count; i++) {
        struct touched *touched = &call->touched[i];
        struct authority_note intent = {
            .operation = touched->operation, .name = touched->name, .outcome = AUTHORITY_INTENT};
        int r;

        if (!changes(touched))
            continue;
        r = note(call, &intent);
        touched->request_id = intent.request_id;
        if (r < 0)
            return r;
    }
    return 0;
}

void calls_note_outcomes(struct call *call, int error)
{
    for (size_t i = 0; i < call->touched_count; i++) {
        const struct touched *touched = &call->touched[i];
        struct authority_note outcome = {
            .operation = touched->operation,
            .name = touched->name,
            .outcome = error < 0 ? AUTHORITY_FAILED : AUTHORITY_SUCCESS,
            .error = error,
            .request_id = touched->request_id,
        };

        (void)note(call, &outcome);
    }
}

void calls_note_error(struct call *call, const struct err *err)
{
    struct authority_note refusal = {
        .operation =
            call->tool->group == CATALOG_FILESYSTEM_READ ? AUTHORITY_OP_READ : AUTHORITY_OP_WRITE,
        .name = str_from(err->field),
        .outcome = AUTHORITY_DENIED,
        .error = err->code,
    };

    (void)note(call, &refusal);
}

/* The name below the folder, if the record has one for it. */
void calls_note_refusal(void *data, const struct permission_resource *resource, const char *source,
                        int code)
{
    const struct call *call = data;
    struct authority_note refusal = {
        .operation =
            resource->group == CATALOG_FILESYSTEM_READ ? AUTHORITY_OP_READ : AUTHORITY_OP_WRITE,
        .outcome = AUTHORITY_DENIED,
        .error = code,
        .policy_source = source,
    };

    for (size_t i = 0; i < call->touched_count; i++) {
        if (!str_ends_with(resource->resolved, call->touched[i].name))
            continue;
        refusal.name = call->touched[i].name;
        refusal.operation = call->touched[i].operation;
        break;
    }
    (void)note(call, &refusal);
}
