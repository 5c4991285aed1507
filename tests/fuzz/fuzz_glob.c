/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pattern, a NUL, a name: compiling and matching end, and for short ones the result is that of
 * the reference. glob_may_match_below() never skips a directory with a match.
 */
#include <assert.h>
#include <stdint.h>

#include "../support/glob_reference.h"
#include "authority/names/glob.h"
#include "authority/names/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    ARENA_BYTES = 4 << 20,
    /* The reference takes exponential time. */
    LONGEST_COMPARED = 24,
    MOST_STARS_COMPARED = 5,
};

static bool is_comparable(struct str pattern, struct str name)
{
    size_t stars = 0;

    for (size_t i = 0; i < pattern.len; i++)
        stars += pattern.ptr[i] == '*';
    return pattern.len <= LONGEST_COMPARED && name.len <= LONGEST_COMPARED &&
           stars <= MOST_STARS_COMPARED;
}

static void check_directories(const struct glob *glob, struct str name)
{
    bool is_match = glob_matches(glob, name);
    struct str directory = name;

    while (directory.len > 0) {
        struct str last;

        path_split(directory, &directory, &last);
        if (is_match)
            assert(glob_may_match_below(glob, directory));
        if (glob_matches(glob, directory))
            assert(is_match && glob_may_match_below(glob, directory));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const char *nul = memchr(data, '\0', size);
    struct str pattern = {(const char *)data, size};
    struct str given = STR_EMPTY;
    const struct glob *glob = NULL;
    struct err err = ERR_INIT;
    struct path_name name;
    int r;

    if (nul != NULL) {
        pattern.len = (size_t)(nul - pattern.ptr);
        given = (struct str){nul + 1, size - pattern.len - 1};
    }
    r = glob_compile(&arena, pattern, &glob, &err);
    if (r < 0) {
        assert(r == ERR_INVALID_ARGUMENT && err.message[0] != '\0' && glob == NULL);
        return 0;
    }
    if (path_normalise(given, "/", false, &name) < 0)
        return 0;
    check_directories(glob, path_view(&name));
    if (is_comparable(pattern, path_view(&name)))
        assert(glob_matches(glob, path_view(&name)) ==
               glob_reference_matches(pattern, path_view(&name)));
    return 0;
}
