/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the tree of a toolhost: servers get valid JSON with paths below the root. */
#include <assert.h>
#include <stdint.h>

#include "base/json.h"
#include "programs/connect/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROOM = 64 << 20 };

static void check_path(struct str path)
{
    assert(path.len > 0);
    while (path.ptr != NULL) {
        struct str name = STR_EMPTY;

        str_cut(&path, '/', &name);
        assert(name.len > 0 && !str_eq_c(name, ".") && !str_eq_c(name, ".."));
    }
}

static void check(struct str text)
{
    cleanup_arena struct arena arena = ARENA_INIT(ROOM);
    cleanup_buf struct buf written = BUF_INIT(ROOM);
    const struct json_limits limits = {ROOM, JSON_DEFAULT_MAX_DEPTH};
    const struct json_value *document;
    struct json_writer json;
    int r;

    json_writer_init(&json, &written);
    r = tree_write("/root", text, &json);
    assert(r == 0);
    r = json_writer_finish(&json);
    if (r == ERR_TOO_LARGE)
        return; /* a short line has the names of all that are above it */
    assert(r == 0);
    r = json_parse(&arena, buf_view(&written), limits, &document, NULL);
    if (r == ERR_TOO_LARGE)
        return;
    assert(r == 0);
    json_each_item (entry, json_get(document, STR("tree"))) {
        struct str path;
        struct str type;
        bool is_whole =
            json_get_str(entry, STR("path"), &path) && json_get_str(entry, STR("type"), &type);

        assert(is_whole && (str_eq_c(type, "file") || str_eq_c(type, "directory")));
        check_path(path);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_buf struct buf text = BUF_INIT(TREE_MAX_BYTES);
    struct str input = {(const char *)data, size};

    if (size == 0)
        return 0;
    check(input);
    if (tree_take(input, &text) == 0)
        check(buf_view(&text));
    return 0;
}
