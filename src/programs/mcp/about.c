/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/mcp/about.h"

#include <stdlib.h>

#include "base/jsonwrite.h"
#include "files/resources.h"
#include "shell/shellprovider.h"

enum {
    /* Every byte of a file may be escaped as six. */
    ESCAPED_BYTES = 6,
    TEMPLATE_BYTES = 64 << 10,
};

static int choose_tools(struct about *about, const struct toolbox *box, bool has_commands,
                        const struct permission_modes *modes)
{
    about->tools = calloc(catalog_tool_count, sizeof(*about->tools));
    if (about->tools == NULL)
        return ERR_NO_MEMORY;
    about->server.offer.tools = about->tools;
    for (size_t i = 0; i < catalog_tool_count; i++)
        if ((toolbox_has(box, &catalog_tools[i]) ||
             (has_commands && provider_owns(&shell_provider, &catalog_tools[i]))) &&
            modes->of[catalog_tools[i].group] != PERMISSION_DENY)
            about->tools[about->server.offer.tool_count++] = &catalog_tools[i];
    return 0;
}

/* One form of URI for all files: that of the folder, and a path below it. */
static int describe_templates(struct about *about, const struct toolbox *box)
{
    cleanup_buf struct buf address = BUF_INIT(TEMPLATE_BYTES);
    struct json_writer json;
    int r = resource_append_uri(box, STR_EMPTY, &address);

    if (r == 0 && !str_ends_with(buf_view(&address), STR("/")))
        r = buf_append_char(&address, '/');
    if (r == 0)
        r = buf_append_str(&address, STR("{+path}"));
    if (r < 0)
        return r;
    json_writer_init(&json, &about->templates);
    json_begin_array(&json);
    json_begin_object(&json);
    json_key(&json, STR("uriTemplate"));
    json_write_str(&json, buf_view(&address));
    json_key(&json, STR("name"));
    json_write_str(&json, STR("file"));
    json_key(&json, STR("title"));
    json_write_str(&json, STR("A file of the folder"));
    json_end_object(&json);
    json_end_array(&json);
    r = json_writer_finish(&json);
    about->server.resource_templates = buf_view(&about->templates);
    return r;
}

static size_t largest_message(uint64_t max_file_bytes)
{
    size_t needed = (size_t)max_file_bytes * ESCAPED_BYTES + (64 << 10);

    return needed > MCP_DEFAULT_MESSAGE_BYTES ? needed : MCP_DEFAULT_MESSAGE_BYTES;
}

int about_init(struct about *about, const struct toolbox *box, bool has_commands,
               const struct permission_modes *modes, uint64_t max_file_bytes)
{
    bool has_addresses = modes->of[CATALOG_FILESYSTEM_READ] == PERMISSION_ALLOW;
    int r;

    *about = (struct about){
        .server =
            {
                .name = STR("gatehouse"),
                .title = STR("Gatehouse"),
                .version = STR(GATEHOUSE_VERSION),
                .instructions = STR("Files of one folder. Paths are relative to it; paths outside "
                                    "it are not accessible."),
                .has_resources = has_addresses,
                .has_subscriptions = has_addresses,
                .has_completions = has_addresses,
                .max_message_bytes = largest_message(max_file_bytes),
                .max_held_bytes = 4 * largest_message(max_file_bytes),
            },
    };
    buf_init(&about->templates, 2 * TEMPLATE_BYTES);
    r = choose_tools(about, box, has_commands, modes);
    return r < 0 || !has_addresses ? r : describe_templates(about, box);
}

void about_done(struct about *about)
{
    buf_done(&about->templates);
    free(about->tools);
}
