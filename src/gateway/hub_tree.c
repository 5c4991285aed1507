/* SPDX-License-Identifier: Apache-2.0 */
/* Lists and trees of a client that sent its file tree when it connected. */
#include "gateway/hub_internal.h"

#include "base/jsonwrite.h"
#include "protocol/toolresult.h"

enum {
    DEFAULT_DEPTH = 2,
    MAX_DEPTH = 64,
    MAX_LISTED = 10000,
};

struct str hub_operation(struct str tool)
{
    if (str_eq(tool, STR("read_file")))
        return STR("read-file");
    return str_eq(tool, STR("search_files")) ? STR("search-files") : tool;
}

/* "", "." and "/" are the root; else without slashes at both ends. */
static struct str folder_of(const struct json_value *arguments)
{
    struct str path = STR_EMPTY;

    json_get_str(arguments, STR("dirPath"), &path);
    while (str_starts_with(path, STR("./")))
        path = str_slice(path, 2, path.len);
    while (path.len > 0 && path.ptr[0] == '/')
        path = str_slice(path, 1, path.len);
    while (path.len > 0 && path.ptr[path.len - 1] == '/')
        path = str_slice(path, 0, path.len - 1);
    return str_eq(path, STR(".")) ? STR_EMPTY : path;
}

/* What is below the folder, relative to it; empty for anything else. */
static struct str below(struct str path, struct str folder)
{
    if (folder.len == 0)
        return path;
    if (path.len <= folder.len + 1 || !str_starts_with(path, folder) || path.ptr[folder.len] != '/')
        return STR_EMPTY;
    return str_slice(path, folder.len + 1, path.len);
}

static size_t depth_of(struct str path)
{
    size_t depth = 0;

    for (size_t i = 0; i < path.len; i++)
        depth += path.ptr[i] == '/';
    return depth;
}

static bool is_directory(const struct json_value *entry)
{
    struct str type;

    return json_get_str(entry, STR("type"), &type) && str_eq(type, STR("directory"));
}

static int write_list(const struct json_value *tree, struct str folder, struct json_writer *json)
{
    size_t count = 0;

    json_begin_array(json);
    json_each_item (entry, tree) {
        struct str path = STR_EMPTY;
        struct str rest;

        json_get_str(entry, STR("path"), &path);
        rest = below(path, folder);
        if (rest.len == 0 || depth_of(rest) > 0 || ++count > MAX_LISTED)
            continue;
        json_write_value(json, entry);
    }
    json_end_array(json);
    return json_writer_finish(json);
}

static int answer_list(const struct json_value *tree, struct str folder, struct buf *out)
{
    cleanup_buf struct buf text = BUF_INIT(HUB_MAX_BODY_BYTES);
    cleanup_buf struct buf structured = BUF_INIT(HUB_MAX_BODY_BYTES);
    struct json_writer json;
    int r;

    json_writer_init(&json, &text);
    r = write_list(tree, folder, &json);
    if (r < 0)
        return r;
    json_writer_init(&json, &structured);
    json_begin_object(&json);
    json_key(&json, STR("entries"));
    json_splice(&json, buf_view(&text));
    json_end_object(&json);
    r = json_writer_finish(&json);
    return r == 0 ? toolresult_write(out, buf_view(&text), buf_view(&structured), false) : r;
}

static int answer_tree(const struct hub_machine *machine, const struct json_value *tree,
                       struct str folder, size_t max_depth, struct buf *out)
{
    cleanup_buf struct buf text = BUF_INIT(HUB_MAX_BODY_BYTES);
    int r = buf_printf(&text, "%.*s/%.*s%s\n", STR_ARG(machine->root_path), STR_ARG(folder),
                       folder.len > 0 ? "/" : "");

    json_each_item (entry, tree) {
        struct str path = STR_EMPTY;
        struct str rest;
        size_t depth;

        json_get_str(entry, STR("path"), &path);
        rest = below(path, folder);
        depth = depth_of(rest);
        if (rest.len == 0 || depth >= max_depth)
            continue;
        for (size_t i = 0; i <= depth && r == 0; i++)
            r = buf_append_str(&text, STR("  "));
        while (depth-- > 0)
            (void)str_cut(&rest, '/', &path);
        if (r == 0)
            r = buf_append_str(&text, rest);
        if (r == 0)
            r = buf_append_str(&text, is_directory(entry) ? STR("/\n") : STR("\n"));
    }
    return r == 0 ? toolresult_write(out, buf_view(&text), STR_EMPTY, false) : r;
}

bool hub_serve_tree(const struct hub_machine *machine, struct str tool,
                    const struct json_value *arguments, struct buf *out_result)
{
    cleanup_arena struct arena arena = ARENA_INIT((size_t)HUB_MAX_BODY_BYTES * HUB_ARENA_FACTOR);
    const struct json_limits limits = {HUB_MAX_BODY_BYTES, JSON_DEFAULT_MAX_DEPTH};
    struct str folder = folder_of(arguments);
    const struct json_value *tree;
    struct err err = ERR_INIT;
    int64_t depth = DEFAULT_DEPTH;
    int r;

    if (!str_eq(tool, STR("list_files")) && !str_eq(tool, STR("get_file_tree")))
        return false;
    r = json_parse(&arena, machine->tree, limits, &tree, &err);
    if (r == 0 && str_eq(tool, STR("list_files"))) {
        r = answer_list(tree, folder, out_result);
    } else if (r == 0) {
        json_get_whole(arguments, STR("maxDepth"), &depth);
        r = answer_tree(machine, tree, folder,
                        depth < 1           ? 1
                        : depth > MAX_DEPTH ? MAX_DEPTH
                                            : (size_t)depth,
                        out_result);
    }
    if (r < 0) {
        buf_clear(out_result);
        err_set_plain(&err, r);
        (void)toolresult_write_error(&err, TOOLRESULT_JSON, out_result);
    }
    return true;
}
