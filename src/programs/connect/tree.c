/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/tree.h"

#include <limits.h>
#include <string.h>

#include "base/err.h"
#include "base/printable.h"
#include "base/utf8.h"

enum { ARENA_BYTES = 64 << 20, TEXT_BYTES = 4 * TREE_MAX_BYTES, INDENT = 2 };

int tree_take(struct str result, struct buf *out_text)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_value *document;
    const struct json_value *content;
    struct str text;
    int r = json_parse(&arena, result, JSON_LIMITS_DEFAULT, &document, NULL);

    if (r < 0)
        return r;
    content = json_get(document, STR("content"));
    if (content == NULL || content->type != JSON_ARRAY || content->size == 0 ||
        json_get(document, STR("isError")) != NULL)
        return ERR_INVALID_JSON;
    json_each_item (item, content)
        if (json_get_str(item, STR("text"), &text))
            return buf_append_str(out_text, text);
    return ERR_INVALID_JSON;
}

/* One name. The tree comes from a toolhost and may be wrong. */
static bool is_name(struct str name)
{
    return name.len > 0 && !str_eq_c(name, ".") && !str_eq_c(name, "..") &&
           memchr(name.ptr, '/', name.len) == NULL;
}

static bool is_directory(const struct json_value *node)
{
    struct str type;

    return json_get_str(node, STR("type"), &type) && str_eq(type, STR("directory"));
}

/* What is in a directory that was opened; or NULL. */
static const struct json_value *children_of(const struct json_value *node)
{
    const struct json_value *children = json_get(node, STR("children"));

    return children != NULL && children->type == JSON_ARRAY ? children : NULL;
}

/* The servers of the older dialect do not get directories that are left out. */
static bool is_excluded(const struct json_value *node)
{
    struct str why;

    return json_get_str(node, STR("notOpened"), &why) && str_eq(why, STR("excluded"));
}

static void write_entry(struct json_writer *json, const struct json_value *node, struct str path)
{
    int64_t size;

    json_begin_object(json);
    json_put_str_lossy(json, STR("path"), path);
    json_put_str(json, STR("type"), is_directory(node) ? STR("directory") : STR("file"));
    if (!is_directory(node) && json_get_int(node, STR("sizeBytes"), &size) && size >= 0)
        json_put_int(json, STR("sizeBytes"), size);
    json_end_object(json);
}

struct path {
    size_t len;
    char bytes[PATH_MAX];
};

/* Entries of one level, which is `level` levels below this directory, whose path has its slash. */
static void write_level(struct json_writer *json, const struct json_value *directory,
                        struct path *path, size_t level)
{
    const struct json_value *children = children_of(directory);
    size_t begin = path->len;
    struct str name;

    if (children == NULL)
        return;
    json_each_item (node, children) {
        if (!json_get_str(node, STR("name"), &name) || !is_name(name) ||
            name.len >= sizeof(path->bytes) - begin)
            continue;
        memcpy(path->bytes + begin, name.ptr, name.len);
        path->len = begin + name.len;
        if (level == 1 && !is_excluded(node)) {
            write_entry(json, node, (struct str){path->bytes, path->len});
        } else if (level > 1 && is_directory(node)) {
            path->bytes[path->len++] = '/';
            write_level(json, node, path, level - 1);
        }
    }
    path->len = begin;
}

static int append_lines(const struct json_value *directory, size_t level, struct buf *text);

/* Like the text of get_file_tree. */
static int append_line(const struct json_value *node, struct str name, size_t level,
                       struct buf *text)
{
    struct str why;
    int r = buf_printf(text, "%*s", (int)(level * INDENT), "");

    if (r == 0 && (name.ptr[0] == ' ' || name.ptr[0] == '\\'))
        r = buf_append_char(text, '\\');
    if (r == 0)
        r = printable_replace(text, name, PRINTABLE_BLANKS, STR(UTF8_REPLACEMENT));
    if (r == 0 && is_directory(node))
        r = buf_append_char(text, '/');
    if (r == 0 && json_get_str(node, STR("notOpened"), &why)) {
        r = buf_append_str(text, STR(" (not opened: "));
        if (r == 0)
            r = printable_replace(text, why, PRINTABLE_BLANKS, STR(UTF8_REPLACEMENT));
        if (r == 0)
            r = buf_append_char(text, ')');
    }
    if (r == 0)
        r = buf_append_char(text, '\n');
    return r == 0 ? append_lines(node, level + 1, text) : r;
}

static int append_lines(const struct json_value *directory, size_t level, struct buf *text)
{
    const struct json_value *children = children_of(directory);
    struct str name;
    int r = 0;

    if (children == NULL || level > TREE_DEPTH)
        return 0;
    json_each_item (node, children)
        if (r == 0 && json_get_str(node, STR("name"), &name) && is_name(name))
            r = append_line(node, name, level, text);
    return r;
}

static int append_text(const char *root_path, const struct json_value *root, struct buf *text)
{
    bool is_truncated = false;
    int r = buf_printf(text, "%s%s\n", root_path,
                       str_ends_with(str_from(root_path), STR("/")) ? "" : "/");

    if (r == 0)
        r = append_lines(root, 1, text);
    (void)json_get_bool(root, STR("truncated"), &is_truncated);
    return r == 0 && is_truncated ? buf_append_str(text, STR("(truncated)\n")) : r;
}

int tree_write(const char *root_path, struct str tree, struct json_writer *json)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);
    __attribute__((uninitialized)) struct path path;
    const struct json_value *root = NULL;
    int r = 0;

    if (tree.len > 0 && json_parse(&arena, tree, JSON_LIMITS_DEFAULT, &root, NULL) == 0)
        r = append_text(root_path, root, &text);
    if (r == ERR_NO_MEMORY)
        return r;
    json_begin_object(json);
    json_put_str_lossy(json, STR("rootPath"), str_from(root_path));
    json_key(json, STR("tree"));
    json_begin_array(json);
    path.len = 0;
    for (size_t level = 1; root != NULL && level <= TREE_DEPTH; level++)
        write_level(json, root, &path, level);
    json_end_array(json);
    json_put_str_lossy(json, STR("treeText"), buf_view(&text));
    json_end_object(json);
    return 0;
}
