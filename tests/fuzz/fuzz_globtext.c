/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A glob as an agent writes it, a NUL, and a name: the glob is refused with a message or compiles,
 * always to the same; a name without anything to match is matched by itself, and what matches lies
 * below directories that may hold a match.
 */
#include <assert.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "authority/names/path.h"
#include "base/utf8.h"
#include "files/globtext.h"
#include "files/nameglob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 16 << 20, GLOB_BYTES = 64 << 10 };

static void check_rewriting(struct str text)
{
    cleanup_buf struct buf once = BUF_INIT(GLOB_BYTES);
    cleanup_buf struct buf twice = BUF_INIT(GLOB_BYTES);
    struct err err = ERR_INIT;
    int r = globtext_rewrite(text, &once, &err);

    assert(globtext_rewrite(text, &twice, NULL) == r);
    if (r < 0)
        assert(r != ERR_INVALID_ARGUMENT ||
               (err.message[0] != '\0' && utf8_is_valid(str_from(err.message))));
    else
        assert(str_eq(buf_view(&once), buf_view(&twice)));
}

/* Every directory above a match may hold one. */
static void check_above(const struct nameglob *glob, struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] == '/')
            assert(nameglob_may_match_below(glob, str_slice(name, 0, i)));
}

static bool is_name(struct str text)
{
    struct path_name name;

    return path_normalise(text, NULL, false, &name) == 0 && name.len > 0 &&
           str_eq(path_view(&name), text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const char *nul = memchr(data, '\0', size);
    struct str text = {(const char *)data, nul != NULL ? (size_t)(nul - (const char *)data) : size};
    struct str name = str_slice((struct str){(const char *)data, size}, text.len + 1, size);
    struct nameglob glob;

    check_rewriting(text);
    for (int ignores_case = 0; ignores_case < 2; ignores_case++) {
        if (nameglob_compile(&arena, text, ignores_case != 0, &glob, NULL) < 0)
            continue;
        if (is_name(text) && globtext_is_literal(text))
            assert(nameglob_matches(&glob, text));
        if (is_name(name) && nameglob_matches(&glob, name))
            check_above(&glob, name);
    }
    return 0;
}
