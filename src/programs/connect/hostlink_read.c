/* SPDX-License-Identifier: Apache-2.0 */
/* Parses messages of a toolhost. It may be compromised: it can only lie about files. */
#include "programs/connect/hostlink_internal.h"

#include <stdio.h>
#include <string.h>

#include "files/filesprovider.h"
#include "permission/settings/settings.h"

enum { MARK_DIGITS = 16 };

static void tell_walls(const struct hostlink *link, const struct json_value *ready)
{
    const struct json_value *walls = json_get(ready, STR("walls"));

    if (walls == NULL || walls->type != JSON_ARRAY)
        return;
    json_each_item (wall, walls) {
        struct str name = STR_EMPTY;
        struct str detail = STR_EMPTY;
        bool stands = false;

        (void)json_get_str(wall, STR("name"), &name);
        (void)json_get_str(wall, STR("detail"), &detail);
        (void)json_get_bool(wall, STR("stands"), &stands);
        log_write(link->config.log, stands ? LOG_DEBUG : LOG_WARN,
                  stands ? "toolhost confined" : "toolhost not confined", LOG_STR("wall", name),
                  LOG_STR("detail", detail));
    }
}

static void take_tools(struct hostlink *link, const struct json_value *ready)
{
    const struct json_value *tools = json_get(ready, STR("tools"));

    memset(link->has_tool, 0, sizeof(link->has_tool));
    if (tools == NULL || tools->type != JSON_ARRAY)
        return;
    json_each_item (item, tools) {
        const struct catalog_tool *tool =
            item->type == JSON_STRING ? catalog_find_any(json_str(item)) : NULL;

        /*
         * Tools of other families are ignored. By name, since this program does not link the file
         * tools.
         */
        if (tool != NULL && tool->id < HOSTLINK_MOST_TOOLS &&
            strcmp(tool->provider, FILES_PROVIDER_NAME) == 0)
            link->has_tool[tool->id] = true;
    }
}

int hostlink_read_ready(struct hostlink *link, struct str body, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(HOSTLINK_ARENA_BYTES);
    const struct json_value *ready;
    int64_t wire = 0;
    int r = json_parse(&arena, body, JSON_LIMITS_DEFAULT, &ready, err);

    if (r < 0)
        return r;
    if (!json_get_int(ready, STR("wire"), &wire) || wire != TOOLWIRE_VERSION)
        return err_set(err, ERR_INVALID_ARGUMENT, "the toolhost has another protocol version");
    tell_walls(link, ready);
    take_tools(link, ready);
    return 0;
}

/* An error is sent by its name. */
void hostlink_read_error(struct str body, struct err *out_err, bool *out_has_begun)
{
    cleanup_arena struct arena arena = ARENA_INIT(HOSTLINK_ARENA_BYTES);
    const struct json_value *document;
    struct str text;

    *out_has_begun = false;
    err_set_plain(out_err, ERR_IO);
    if (json_parse(&arena, body, JSON_LIMITS_DEFAULT, &document, NULL) < 0)
        return;
    (void)json_get_bool(document, STR("hasBegun"), out_has_begun);
    if (json_get_str(document, STR("error"), &text))
        out_err->code = err_from_name(text.ptr, text.len);
    if (json_get_str(document, STR("message"), &text))
        err_set(out_err, out_err->code, "%.*s", STR_ARG(text));
    if (json_get_str(document, STR("field"), &text))
        snprintf(out_err->field, sizeof(out_err->field), "%.*s", STR_ARG(text));
}

/* ---- about calls ---- */

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

/* Copies all texts, since the document is freed. */
static bool copy_text(struct arena *arena, const struct json_value *object, struct str key,
                      struct str *out_text)
{
    struct str text;

    return json_get_str(object, key, &text) && arena_copy_str(arena, text, out_text);
}

static bool read_touched(struct host_work *work, const struct json_value *list)
{
    work->touched_count = 0;
    work->touched = arena_alloc_array(&work->work.arena, list->size + 1, sizeof(*work->touched));
    if (work->touched == NULL)
        return false;
    json_each_item (item, list) {
        struct touched *touched = &work->touched[work->touched_count++];
        struct str access;

        *touched = (struct touched){.request_id = 0};
        if (!json_get_str(item, STR("access"), &access) ||
            !access_from(access, &touched->operation) ||
            !copy_text(&work->work.arena, item, STR("resolved"), &touched->name))
            return false;
    }
    /* A call that names nothing is about the folder. */
    if (work->touched_count == 0)
        work->touched[work->touched_count++] = (struct touched){
            .operation = work->work.input->tool->group == CATALOG_FILESYSTEM_WRITE
                             ? AUTHORITY_OP_WRITE
                             : AUTHORITY_OP_READ,
            .name = STR_EMPTY,
        };
    return true;
}

/* An answer about another group would be saved for what no toolhost does. */
static bool is_of_files(enum catalog_group group)
{
    return group == CATALOG_FILESYSTEM_READ || group == CATALOG_FILESYSTEM_WRITE;
}

static bool read_consent(struct host_work *work, const struct json_value *list)
{
    struct permission_resource *resources =
        arena_alloc_array(&work->work.arena, list->size, sizeof(*resources));
    size_t count = 0;

    if (resources == NULL)
        return false;
    json_each_item (item, list) {
        struct permission_resource *resource = &resources[count++];
        struct str operation;
        struct str group;

        *resource = (struct permission_resource){.cwd = STR_EMPTY};
        if (!json_get_str(item, STR("group"), &group) ||
            !settings_group_from(group, &resource->group) || !is_of_files(resource->group) ||
            !copy_text(&work->work.arena, item, STR("given"), &resource->given) ||
            !copy_text(&work->work.arena, item, STR("resolved"), &resource->resolved) ||
            !json_get_str(item, STR("operation"), &operation) ||
            !permission_operation_from(operation, &resource->operation) ||
            resource->operation == PERMISSION_USES ||
            permission_operation_group(resource->operation) != resource->group)
            return false;
    }
    work->work.subject.resources = resources;
    work->work.subject.count = count;
    /* Every call of files touches something: none may pass without a decision. */
    return count > 0;
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

int hostlink_read_prepared(struct host_work *work, struct str body, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(work->work.arena.max);
    const struct json_value *document;
    const struct json_value *touched;
    const struct json_value *consent;
    int r = json_parse(&arena, body, JSON_LIMITS_DEFAULT, &document, err);

    if (r < 0)
        return r;
    touched = json_get(document, STR("resources"));
    consent = json_get(document, STR("consent"));
    if (touched == NULL || touched->type != JSON_ARRAY || consent == NULL ||
        consent->type != JSON_ARRAY || !read_touched(work, touched) ||
        !read_consent(work, consent) || !read_mark(document, &work->work.subject.mark) ||
        !json_get_bool(document, STR("deletes"), &work->deletes) ||
        !json_get_bool(document, STR("isFolder"), &work->is_folder))
        return err_set(err, ERR_INTERNAL, "cannot parse the resources of the call");
    return 0;
}

int hostlink_read_previewed(struct host_work *work, struct str body, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(work->work.arena.max);
    struct question *question = &work->work.decision.question;
    const struct json_value *document;
    int r = json_parse(&arena, body, JSON_LIMITS_DEFAULT, &document, err);

    if (r < 0)
        return r;
    question->deletes = work->deletes;
    question->is_folder = work->is_folder;
    if (!copy_text(&work->work.arena, document, STR("action"), &question->action) ||
        !copy_text(&work->work.arena, document, STR("detail"), &question->detail) ||
        !json_get_bool(document, STR("isDiff"), &question->is_diff))
        return err_set(err, ERR_INTERNAL, "cannot parse the preview of the call");
    return 0;
}
