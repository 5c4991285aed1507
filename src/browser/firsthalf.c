/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/firsthalf.h"

#include <limits.h>
#include <stdio.h>

#include "browser/fileurl.h"
#include "browser/jsonf.h"
#include "browser/url.h"
#include "protocol/staged.h"
#include "protocol/toolids.h"

/* False as well for an address of a file that cannot be read: the tool itself says why. */
static bool take_file(const struct json_value *arguments, char out_path[PATH_MAX])
{
    struct browser_url url;
    struct str text;

    return json_get_str(arguments, STR("url"), &text) && browser_url_parse(text, &url) &&
           url.scheme == BROWSER_FILE && fileurl_path(text, out_path, NULL) == 0;
}

const struct catalog_tool *browser_first_tool(const struct catalog_tool *tool,
                                              const struct json_value *arguments)
{
    char path[PATH_MAX];

    switch (tool->id) {
    case TOOL_BROWSER_UPLOAD:
        return &catalog_tools[TOOL_STAGE_UPLOAD];
    case TOOL_BROWSER_NAVIGATE:
    case TOOL_BROWSER_TAB_OPEN:
        return arguments == NULL || take_file(arguments, path) ? &catalog_tools[TOOL_LOAD_PAGE_FILE]
                                                               : NULL;
    default:
        return NULL;
    }
}

int browser_write_first_arguments(const struct json_value *arguments, uint64_t number,
                                  struct buf *out)
{
    char path[PATH_MAX];

    return take_file(arguments, path) ? jsonf(out, "{\"path\":%z,\"onlyLook\":true}", path)
                                      : jsonf(out, "{\"files\":%v,\"number\":%d}",
                                              json_get(arguments, STR("files")), (int64_t)number);
}

int browser_upload_write_files(const struct json_value *arguments, uint64_t number,
                               const char *staging_dir, struct buf *out)
{
    const struct json_value *files = json_get(arguments, STR("files"));
    size_t index = 0;
    int r = buf_append_char(out, '[');

    if (files != NULL)
        json_each_item (file, files) {
            char name[STAGED_NAME_BYTES];
            char path[PATH_MAX];

            if (!staged_name(number, index, json_str(file), name) ||
                snprintf(path, sizeof(path), "%s/" STAGED_UPLOADS "/%s", staging_dir, name) >=
                    (int)sizeof(path))
                return ERR_TOO_LARGE;
            if (r == 0)
                r = jsonf(out, "%r%z", index++ > 0 ? STR(",") : STR_EMPTY, path);
        }
    return r == 0 ? buf_append_char(out, ']') : r;
}
