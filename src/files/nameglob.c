/* SPDX-License-Identifier: Apache-2.0 */
#include "files/nameglob.h"

#include <limits.h>
#include <string.h>

#include "authority/names/glob.h"
#include "files/visible.h"

/*
 * The authority's globs also match everything below a match. With an extra component, which no file
 * has, at the end of both glob and name, they match the name only.
 */
#define END_MARK "/\x01\xFE\x01"

/* A text in the form for the globs. */
struct spelling {
    size_t len;
    char text[PATH_MAX + sizeof(END_MARK)];
};

static char fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static struct str spell(struct spelling *spelling, struct str text, bool ignores_case,
                        bool is_marked)
{
    struct str mark = is_marked ? STR(END_MARK) : STR_EMPTY;

    if (!ignores_case)
        memcpy(spelling->text, text.ptr, text.len);
    for (size_t i = 0; ignores_case && i < text.len; i++)
        spelling->text[i] = fold(text.ptr[i]);
    memcpy(spelling->text + text.len, mark.ptr, mark.len);
    spelling->len = text.len + mark.len;
    return (struct str){spelling->text, spelling->len};
}

int nameglob_compile(struct arena *arena, struct str text, bool ignores_case,
                     struct nameglob *out_glob, struct err *err)
{
    __attribute__((uninitialized)) struct spelling spelling;
    struct nameglob made = {.ignores_case = ignores_case};
    int r;

    if (text.len == 0 || text.len > GLOB_PATTERN_MAX_BYTES - sizeof(END_MARK))
        return err_set(err, ERR_INVALID_ARGUMENT, "a glob must have 1 to %zu bytes",
                       GLOB_PATTERN_MAX_BYTES - sizeof(END_MARK));
    made.has_slash = memchr(text.ptr, '/', text.len) != NULL;
    /* First the original, so that an error shows what was written. */
    r = glob_compile(arena, spell(&spelling, text, ignores_case, false), &made.glob, err);
    if (r == 0 && made.has_slash)
        r = glob_compile(arena, spell(&spelling, text, ignores_case, true), &made.glob, err);
    if (r == 0)
        *out_glob = made;
    return r;
}

bool nameglob_matches(const struct nameglob *glob, struct str name)
{
    __attribute__((uninitialized)) struct spelling spelling;

    if (!glob->has_slash)
        name = visible_last(name);
    if (glob->has_slash || glob->ignores_case)
        name = spell(&spelling, name, glob->ignores_case, glob->has_slash);
    return glob_matches(glob->glob, name);
}

bool nameglob_may_match_below(const struct nameglob *glob, struct str directory)
{
    __attribute__((uninitialized)) struct spelling spelling;

    if (glob->has_slash && glob->ignores_case)
        directory = spell(&spelling, directory, true, false);
    return !glob->has_slash || glob_may_match_below(glob->glob, directory);
}
