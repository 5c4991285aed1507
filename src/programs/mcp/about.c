/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/mcp/about.h"

#include <stdlib.h>

#include "base/jsonwrite.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "browser/browsertools.h"
#include "files/resources.h"
#include "screen/screentools.h"
#include "shell/shellprovider.h"

enum {
    /* Every byte of a file may be escaped as six. */
    ESCAPED_BYTES = 6,
    TEMPLATE_BYTES = 64 << 10,
    INSTRUCTIONS_BYTES = 1 << 20,
};

static bool has_tool(const struct front_config *config, const struct catalog_tool *tool)
{
    return (config->workspace == NULL && toolbox_has(config->box, tool)) ||
           (config->shell != NULL && provider_owns(&shell_provider, tool)) ||
           (config->screen != NULL && provider_owns(&screen_provider, tool)) ||
           (config->browser != NULL && provider_owns(&browser_provider, tool) &&
            browser_tools_offer(tool, config->staging_dir[0] != '\0', false));
}

static int choose_tools(struct about *about, const struct front_config *config)
{
    about->tools = calloc(catalog_tool_count + workspace_tool_count, sizeof(*about->tools));
    if (about->tools == NULL)
        return ERR_NO_MEMORY;
    about->server.offer.tools = about->tools;
    for (size_t i = 0; i < workspace_tool_count && config->workspace != NULL; i++)
        if (config->modes->of[workspace_tools[i].group] != PERMISSION_DENY)
            about->tools[about->server.offer.tool_count++] = &workspace_listings[i];
    for (size_t i = 0; i < catalog_tool_count; i++)
        if (!catalog_tools[i].is_internal && has_tool(config, &catalog_tools[i]) &&
            config->modes->of[catalog_tools[i].group] != PERMISSION_DENY)
            about->tools[about->server.offer.tool_count++] = &catalog_listings[i];
    return 0;
}

/* One form of URI for all files: that of the folder, and a path below it. */
static int describe_templates(struct about *about, const struct toolbox *box, bool has_several)
{
    cleanup_buf struct buf address = BUF_INIT(TEMPLATE_BYTES);
    struct json_writer json;
    int r = 0;

    if (has_several) {
        r = buf_append_str(&address, STR("file://")); /* an absolute path follows */
    } else {
        r = resource_append_uri(box, STR_EMPTY, &address);
        if (r == 0 && !str_ends_with(buf_view(&address), STR("/")))
            r = buf_append_char(&address, '/');
    }
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
    json_write_str(&json, has_several ? STR("A file of one of the folders, by its absolute path")
                                      : STR("A file of the folder"));
    json_end_object(&json);
    json_end_array(&json);
    r = json_writer_finish(&json);
    about->server.resource_templates = buf_view(&about->templates);
    return r;
}

/* Of several folders, a client must know how to name the files. */
static int describe_folders(struct about *about, const struct toolbox *box)
{
    struct buf *out = &about->instructions;
    int r = buf_append_str(out, STR("Files of several folders:"));

    for (size_t i = 0; i < toolbox_folder_count(box) && r == 0; i++) {
        const struct toolbox_folder folder = toolbox_folder_at(box, i);

        r = buf_append_str(out, i > 0 ? STR(", ") : STR(" "));
        if (r == 0)
            r = printable_replace(out, str_from(folder.root_path), PRINTABLE_BLANKS,
                                  STR(UTF8_REPLACEMENT));
        if (r == 0)
            r = buf_append_str(out, folder.may_write ? STR("") : STR(" (read only)"));
    }
    if (r == 0)
        r = buf_append_str(out, STR(". Relative paths begin in the first; name files of the others "
                                    "by their absolute path. Lists, trees and searches without a "
                                    "path are of the first. Paths outside the folders are not "
                                    "accessible."));
    about->server.instructions = buf_view(out);
    return r;
}

static size_t largest_message(uint64_t max_file_bytes)
{
    size_t needed = (size_t)max_file_bytes * ESCAPED_BYTES + (64 << 10);

    return needed > MCP_DEFAULT_MESSAGE_BYTES ? needed : MCP_DEFAULT_MESSAGE_BYTES;
}

int about_init(struct about *about, const struct front_config *config)
{
    const struct toolbox *box = config->box;
    bool has_addresses =
        config->workspace == NULL && config->modes->of[CATALOG_FILESYSTEM_READ] == PERMISSION_ALLOW;
    bool has_several = toolbox_folder_count(box) > 1;
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
                .max_message_bytes = largest_message(config->max_file_bytes),
                .max_held_bytes = 4 * largest_message(config->max_file_bytes),
            },
    };
    buf_init(&about->templates, 2 * TEMPLATE_BYTES);
    buf_init(&about->instructions, INSTRUCTIONS_BYTES);
    if (config->workspace != NULL && config->workspace_provider == WORKSPACE_LOCAL)
        about->server.instructions =
            STR("Files and commands of a workspace for development, which is a folder on the "
                "user's machine. It stays when this server ends. Relative paths begin in it.");
    else if (config->workspace != NULL)
        about->server.instructions =
            STR("Files and commands of a workspace, which is apart from the user's machine and is "
                "deleted when this server ends. Relative paths begin in its home directory.");
    r = choose_tools(about, config);
    if (r == 0 && has_several)
        r = describe_folders(about, box);
    return r < 0 || !has_addresses ? r : describe_templates(about, box, has_several);
}

void about_done(struct about *about)
{
    buf_done(&about->templates);
    buf_done(&about->instructions);
    free(about->tools);
}
