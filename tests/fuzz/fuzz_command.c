/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of a command: an as-is name is the command itself; any other is the end of the command,
 * apart from blanks. The name of a name is the same, a wrapper before it changes nothing, and an
 * assignment to PATH is never left out.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "permission/commandline/commandline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 4 << 20 };

static const char *const path_dirs[] = {"/usr/bin", "/bin", NULL};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* Compared from the end, blanks passed over. */
static bool is_end_of(struct str end, struct str whole)
{
    while (end.len > 0) {
        char last = end.ptr[end.len - 1];

        if (is_blank(last)) {
            end.len--;
        } else {
            while (whole.len > 0 && is_blank(whole.ptr[whole.len - 1]))
                whole.len--;
            if (whole.len == 0 || whole.ptr[--whole.len] != last)
                return false;
            end.len--;
        }
    }
    return true;
}

static struct str name_behind(struct arena *arena, struct str before, struct str command,
                              bool *out_is_as_is)
{
    cleanup_buf struct buf whole = BUF_INIT(COMMAND_MAX_BYTES + 64);
    struct str name;
    int r;

    assert(buf_append_str(&whole, before) == 0 && buf_append_str(&whole, command) == 0);
    r = command_normalise(arena, buf_view(&whole), path_dirs, false, &name, out_is_as_is);
    if (r == 0)
        return name;
    assert(r == ERR_TOO_LARGE && whole.len >= COMMAND_MAX_BYTES);
    *out_is_as_is = before.len == 0 || before.ptr[0] == 'P';
    return command;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct str command = {size > 0 ? (const char *)data : "", size};
    struct str name;
    struct str again;
    bool is_as_is;
    bool is_still;
    int r = command_normalise(&arena, command, path_dirs, false, &name, &is_as_is);

    if (r < 0) {
        assert(r == ERR_TOO_LARGE && size >= COMMAND_MAX_BYTES);
        return 0;
    }
    again = name_behind(&arena, STR_EMPTY, name, &is_still);
    assert(str_eq(again, name) && is_still == is_as_is);
    assert(name.len <= command.len && is_end_of(name, command));
    if (is_as_is) {
        assert(is_end_of(command, name) && str_find(command, name) != SIZE_MAX);
        return 0;
    }
    again = name_behind(&arena, STR("sudo -nu me nice -n 5 "), name, &is_still);
    assert(str_eq(again, name) && !is_still);
    (void)name_behind(&arena, STR("PATH=/tmp "), command, &is_still);
    assert(is_still);
    return 0;
}
