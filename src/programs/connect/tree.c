/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/tree.h"

#include <limits.h>
#include <string.h>

#include "base/err.h"

enum { ARENA_BYTES = 64 << 20, INDENT = 2 };

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

/* Builds the path of an entry. */
struct path {
    char bytes[PATH_MAX];
    size_t ends[TREE_DEPTH + 1]; /* of the directory at each level, with its slash */
    size_t level;                /* of the last directory, below which an entry may stand */
};

/*
 * Entries are indented by their level; the first line and the note at the end are not. No name
 * begins with a blank: see name_in().
 */
static size_t level_of(struct str line)
{
    size_t blanks = 0;

    while (blanks < line.len && line.ptr[blanks] == ' ')
        blanks++;
    return blanks % INDENT == 0 ? blanks / INDENT : 0;
}

/*
 * A backslash is put before a name that begins with a blank or a backslash. What follows the slash
 * of a directory says why it was not opened.
 */
static struct str name_in(struct str line, size_t level)
{
    struct str name = str_slice(line, level * INDENT, line.len);
    const char *slash = name.len > 0 ? memchr(name.ptr, '/', name.len) : NULL;

    if (slash != NULL &&
        str_starts_with(str_slice(name, (size_t)(slash - name.ptr) + 1, name.len), STR(" (")))
        name.len = (size_t)(slash - name.ptr) + 1;
    return str_starts_with(name, STR("\\")) ? str_slice(name, 1, name.len) : name;
}

/* One name, with a slash if it is a directory. The text comes from a toolhost and may be wrong. */
static bool is_name(struct str name)
{
    if (str_ends_with(name, STR("/")))
        name.len--;
    return name.len > 0 && !str_eq_c(name, ".") && !str_eq_c(name, "..") &&
           memchr(name.ptr, '/', name.len) == NULL;
}

/* The entry's path, or empty if it is invalid. */
static struct str put(struct path *path, size_t level, struct str name)
{
    size_t begin;

    if (level > path->level + 1)
        return STR_EMPTY; /* below what is no directory here */
    path->level = level - 1;
    begin = path->ends[level - 1];
    if (!is_name(name) || name.len > sizeof(path->bytes) - begin)
        return STR_EMPTY;
    memcpy(path->bytes + begin, name.ptr, name.len);
    if (str_ends_with(name, STR("/"))) {
        path->ends[level] = begin + name.len;
        path->level = level;
    }
    return (struct str){path->bytes, begin + name.len};
}

static void write_entry(struct json_writer *json, struct str path)
{
    bool is_directory = str_ends_with(path, STR("/"));

    json_begin_object(json);
    json_put_str_lossy(json, STR("path"), str_slice(path, 0, path.len - (is_directory ? 1 : 0)));
    json_put_str(json, STR("type"), is_directory ? STR("directory") : STR("file"));
    json_end_object(json);
}

static void write_level(struct json_writer *json, struct str text, size_t wanted)
{
    struct path path = {.ends = {0}};
    struct str line;

    while (str_cut(&text, '\n', &line)) {
        size_t level = level_of(line);
        struct str whole;

        if (level == 0 || level > TREE_DEPTH)
            continue;
        whole = put(&path, level, name_in(line, level));
        /* The servers of the older dialect do not get directories that are left out. */
        if (level == wanted && whole.len > 0 &&
            !str_ends_with(line, STR("/ (not opened: excluded)")))
            write_entry(json, whole);
    }
}

int tree_write(const char *root_path, struct str text, struct json_writer *json)
{
    json_begin_object(json);
    json_put_str_lossy(json, STR("rootPath"), str_from(root_path));
    json_key(json, STR("tree"));
    json_begin_array(json);
    for (size_t level = 1; level <= TREE_DEPTH; level++)
        write_level(json, text, level);
    json_end_array(json);
    json_put_str_lossy(json, STR("treeText"), text);
    json_end_object(json);
    return 0;
}
