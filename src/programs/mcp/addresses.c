/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/mcp/addresses.h"

#include <stdlib.h>

#include "files/resources.h"

enum address_tool { TOOL_LIST, TOOL_READ, TOOL_COMPLETE };

static const struct catalog_tool tools[] = {
    [TOOL_LIST] = {.id = TOOL_LIST, .provider = "addresses", .name = STR_LITERAL("resources/list")},
    [TOOL_READ] = {.id = TOOL_READ, .provider = "addresses", .name = STR_LITERAL("resources/read")},
    [TOOL_COMPLETE] = {.id = TOOL_COMPLETE,
                       .provider = "addresses",
                       .name = STR_LITERAL("completion/complete")},
};

struct address_call {
    struct addresses *addresses;
    enum address_tool tool;
    struct str text;
};

static const struct catalog_tool *with_text(enum address_tool tool, struct str text,
                                            struct json_value *out_text)
{
    *out_text =
        (struct json_value){.type = JSON_STRING, .size = (uint32_t)text.len, .text = text.ptr};
    return &tools[tool];
}

const struct catalog_tool *addresses_request(const struct mcp_request *request,
                                             struct json_value *out_text)
{
    switch (request->kind) {
    case MCP_RESOURCES_LIST:
        return with_text(TOOL_LIST, request->cursor, out_text);
    case MCP_RESOURCE_READ:
        return with_text(TOOL_READ, request->uri, out_text);
    case MCP_COMPLETE:
        return with_text(TOOL_COMPLETE, request->complete.value, out_text);
    case MCP_TOOL_CALL:
    case MCP_SUBSCRIBE:
    case MCP_PROMPT_GET:
        break;
    }
    return NULL;
}

/*
 * URIs are only offered if reading needs no permission. That can change at run time, when the
 * user's rules cannot be read any more.
 */
static int prepare(void *self, const struct catalog_tool *tool, const struct json_value *arguments,
                   uint64_t number, const struct cancel *cancel, void **out_call, struct err *err)
{
    struct addresses *addresses = self;
    struct permission_modes modes = permission_modes(keeper_permission(addresses->keeper));
    struct address_call *call;

    (void)number;
    (void)cancel;
    if (modes.of[CATALOG_FILESYSTEM_READ] != PERMISSION_ALLOW)
        return err_set(
            err, ERR_DENIED_BY_POLICY,
            "reading needs the user's permission, which only tools can ask for: use read_file");
    call = malloc(sizeof(*call));
    if (call == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    *call = (struct address_call){
        .addresses = addresses, .tool = (enum address_tool)tool->id, .text = json_str(arguments)};
    *out_call = call;
    return 0;
}

static int run(void *data, const char *decision, const struct cancel *cancel,
               provider_progress_fn *progress, void *progress_data, struct buf *out,
               struct err *err)
{
    const struct address_call *call = data;
    struct toolbox *box = call->addresses->box;

    (void)decision;
    (void)progress;
    (void)progress_data;
    switch (call->tool) {
    case TOOL_LIST:
        return resource_list(box, call->text, cancel, out, err);
    case TOOL_READ:
        return resource_read(box, call->text, cancel, out, err);
    case TOOL_COMPLETE:
        return resource_complete(box, call->text, cancel, out, err);
    }
    return err_set_plain(err, ERR_INTERNAL);
}

const struct provider addresses_provider = {
    .name = "addresses",
    .prepare = prepare,
    .free = free,
    .run = run,
};
