/* SPDX-License-Identifier: Apache-2.0 */
/* What a toolhost says about itself and its errors. It may be broken into: nothing is believed. */
#include "daemon/hostlink_internal.h"

#include <stdio.h>
#include <string.h>

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

/* Commands are run by others, and what it says of them means nothing. */
static bool may_have(const struct catalog_tool *tool)
{
    return tool->group == CATALOG_FILESYSTEM_READ || tool->group == CATALOG_FILESYSTEM_WRITE;
}

static void take_tools(struct hostlink *link, const struct json_value *ready)
{
    const struct json_value *tools = json_get(ready, STR("tools"));

    memset(link->has_tool, 0, sizeof(link->has_tool));
    if (tools == NULL || tools->type != JSON_ARRAY)
        return;
    json_each_item (item, tools) {
        const struct catalog_tool *tool =
            item->type == JSON_STRING ? catalog_find(json_str(item)) : NULL;

        if (tool != NULL && tool->id < HOSTLINK_MOST_TOOLS && may_have(tool))
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
        return err_set(err, ERR_INVALID_ARGUMENT, "the toolhost speaks another version");
    tell_walls(link, ready);
    take_tools(link, ready);
    return 0;
}

/* An error comes as its name. */
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
