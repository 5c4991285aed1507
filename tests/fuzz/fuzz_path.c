/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A byte of options, then a name: an accepted name is in normal form, normalises to itself, and is
 * inside the root.
 */
#include <assert.h>
#include <stdint.h>

#include "authority/names/path.h"
#include "base/cleanup.h"
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const roots[] = {NULL, "/", "/r", "/r/", "//r/./s//", "r", "", "/a/../b"};

static void check_form(struct str name, bool keep_dotdot)
{
    size_t depth = 0;
    struct str part;

    if (name.len == 0)
        return;
    while (str_cut(&name, '/', &part)) {
        assert(part.len > 0 && part.len <= NAME_MAX);
        assert(!str_eq_c(part, "."));
        if (str_eq_c(part, "..")) {
            assert(keep_dotdot && depth > 0);
            depth--;
        } else {
            depth++;
        }
    }
}

static void check_parts(struct str name)
{
    struct str parent, last;

    path_split(name, &parent, &last);
    assert(path_is_within(name, parent) && path_is_within(name, name));
    assert(memchr(last.ptr, '/', last.len) == NULL);
    assert(parent.len + last.len + (parent.len > 0) == name.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct path_name name = {.len = SIZE_MAX};
    struct path_name again, later;
    const char *root;
    struct str given;
    bool keep_dotdot;
    int r;

    if (size == 0)
        return 0;
    keep_dotdot = data[0] & 1;
    root = roots[(data[0] >> 1) % array_size(roots)];
    given = (struct str){(const char *)data + 1, size - 1};

    r = path_normalise(given, root, keep_dotdot, &name);
    if (r < 0) {
        assert(r == ERR_INVALID_PATH || r == ERR_PATH_OUTSIDE_ROOT);
        assert(name.len == SIZE_MAX);
        return 0;
    }
    assert(name.len <= given.len && name.len < PATH_MAX && name.text[name.len] == '\0');
    assert(memchr(name.text, '\0', name.len) == NULL);
    check_form(path_view(&name), keep_dotdot);
    check_parts(path_view(&name));

    r = path_normalise(path_view(&name), NULL, keep_dotdot, &again);
    assert(r == 0 && str_eq(path_view(&name), path_view(&again)));

    /* Kept or resolved at once, ".." comes to the same. */
    r = path_normalise(given, root, false, &again);
    assert(r == 0);
    r = path_normalise(path_view(&name), NULL, false, &later);
    assert(r == 0 && str_eq(path_view(&later), path_view(&again)));
    return 0;
}
