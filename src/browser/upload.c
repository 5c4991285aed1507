/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/upload.h"

#include <limits.h>
#include <stdio.h>

#include "browser/jsonf.h"
#include "protocol/staged.h"
#include "protocol/toolids.h"

const struct catalog_tool *browser_upload_first_tool(const struct catalog_tool *tool)
{
    return tool->id == TOOL_BROWSER_UPLOAD ? &catalog_tools[TOOL_STAGE_UPLOAD] : NULL;
}

int browser_upload_write_arguments(const struct json_value *arguments, uint64_t number,
                                   struct buf *out)
{
    return jsonf(out, "{\"files\":%v,\"number\":%d}", json_get(arguments, STR("files")),
                 (int64_t)number);
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
