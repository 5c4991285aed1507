/* SPDX-License-Identifier: Apache-2.0 */
#include "files/nameglob.h"

#include <limits.h>
#include <string.h>

#include "authority/names/glob.h"
#include "base/buf.h"
#include "files/globtext.h"
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

static int refuse_length(struct err *err)
{
    return err_set(err, ERR_INVALID_ARGUMENT, "a glob must have 1 to %zu bytes",
                   GLOB_PATTERN_MAX_BYTES - sizeof(END_MARK));
}

int nameglob_compile(struct arena *arena, struct str text, bool ignores_case,
                     struct nameglob *out_glob, struct err *err)
{
    __attribute__((uninitialized)) struct spelling spelling;
    cleanup_buf struct buf rewritten = BUF_INIT(GLOB_PATTERN_MAX_BYTES - sizeof(END_MARK));
    struct nameglob made = {.ignores_case = ignores_case};
    int r;

    if (text.len == 0 || text.len > rewritten.max)
        return refuse_length(err);
    r = globtext_rewrite(text, &rewritten, err);
    if (r == ERR_TOO_LARGE)
        return refuse_length(err);
    if (r < 0)
        return r == ERR_NO_MEMORY ? err_set_plain(err, r) : r;
    text = buf_view(&rewritten);
    made.has_slash = memchr(text.ptr, '/', text.len) != NULL;
    /* First without the mark, so that an error shows what was written. */
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

/* ---- what it names ---- */

struct visit {
    int (*visit)(void *data, struct str directory);
    void *data;
};

static int visit_directory(void *data, const struct glob_shape *shape)
{
    const struct visit *visit = data;
    struct buf name = BUF_INIT(GLOB_PATTERN_MAX_BYTES);
    /* If nothing but the mark is left, the last one is the file. */
    size_t count = shape->fixed_count - (shape->fixed_count > 0 && shape->part_count == 1);
    int r = 0;

    for (size_t i = 0; r == 0 && i < count; i++) {
        if (i > 0)
            r = buf_append_char(&name, '/');
        if (r == 0)
            r = buf_append_str(&name, glob_shape_fixed(shape, i));
    }
    if (r == 0)
        r = visit->visit(visit->data, buf_view(&name));
    buf_done(&name);
    return r;
}

int nameglob_each_directory(const struct nameglob *glob,
                            int (*visit)(void *data, struct str directory), void *data)
{
    struct visit visiting = {visit, data};

    return glob->has_slash ? glob_each_shape(glob->glob, visit_directory, &visiting)
                           : visit(data, STR_EMPTY);
}

static int find_component(void *data, const struct glob_shape *shape)
{
    const struct str *wanted = data;
    struct str text;

    for (size_t i = 0; i < shape->fixed_count; i++)
        if (str_eq(glob_shape_fixed(shape, i), *wanted))
            return 1;
    for (size_t i = 0; i < shape->part_count; i++)
        if (glob_shape_part(shape, i, &text) == GLOB_PART_IS && str_eq(text, *wanted))
            return 1;
    return 0;
}

bool nameglob_names(const struct nameglob *glob, struct str component)
{
    return glob->has_slash && glob_each_shape(glob->glob, find_component, &component) == 1;
}
