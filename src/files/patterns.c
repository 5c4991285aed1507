/* SPDX-License-Identifier: Apache-2.0 */
#include "files/patterns.h"

#include <string.h>

#include "authority/names/glob.h"
#include "authority/names/path.h"
#include "base/printable.h"

enum { SHOWN_BYTES = 128 };

/* Of a pattern, in a message. */
static void show(struct str pattern, char out_text[SHOWN_BYTES + PRINTABLE_CUT_BYTES])
{
    printable_cut(pattern, PRINTABLE_LINE, out_text, SHOWN_BYTES);
}

/* The first component of an absolute path; empty for "/". */
static struct str first_of(struct str path)
{
    while (path.len > 0 && path.ptr[0] == '/')
        path = str_slice(path, 1, path.len);
    return path.len > 0 ? path_take(&path) : path;
}

static bool is_home(struct str pattern)
{
    return str_starts_with(pattern, STR("~")) &&
           (pattern.len == 1 || memchr(pattern.ptr, '/', pattern.len) != NULL);
}

static bool has_dots(struct str pattern)
{
    struct str part;

    while (str_cut(&pattern, '/', &part))
        if (str_eq(part, STR(".")) || str_eq(part, STR("..")))
            return true;
    return false;
}

static int check(const char *option, struct str pattern, struct err *err)
{
    char shown[SHOWN_BYTES + PRINTABLE_CUT_BYTES];

    show(pattern, shown);
    if (is_home(pattern))
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "%s '%s': '~' does not mean the home directory; write a path relative to "
                       "the folder, or '\\~' for the character",
                       option, shown);
    if (str_starts_with(pattern, STR("!")))
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "%s '%s': '!' does not negate a pattern; leave it out, or write '\\!' for "
                       "the character",
                       option, shown);
    if (has_dots(pattern))
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "%s '%s': '.' and '..' match nothing; write '/NAME' for the top of the "
                       "folder, 'NAME' for anywhere",
                       option, shown);
    return 0;
}

/*
 * Globs with a leading slash begin at the folder, so an absolute path is recognised by its
 * beginning.
 */
static int take_absolute(struct arena *arena, const char *option, struct str pattern,
                         const char *const *roots, const char *const *others,
                         const char **out_pattern, struct err *err)
{
    char shown[SHOWN_BYTES + PRINTABLE_CUT_BYTES];
    bool is_elsewhere = false;

    for (; *roots != NULL; roots++) {
        struct str top = first_of(str_from(*roots));
        struct str below = pattern;

        if (top.len == 0 || !str_eq(first_of(pattern), top))
            continue;
        is_elsewhere = true;
        if (path_strip_root(&below, *roots) && below.len > 0) {
            /* With its slash, which keeps it at the top. */
            char *copy = arena_alloc(arena, below.len + 2);

            if (copy == NULL)
                return err_set_plain(err, arena->error);
            copy[0] = '/';
            memcpy(copy + 1, below.ptr, below.len);
            copy[below.len + 1] = '\0';
            *out_pattern = copy;
            return 0;
        }
    }
    for (; others != NULL && *others != NULL; others++) {
        struct str below = pattern;

        if (path_strip_root(&below, *others) && below.len > 0) {
            *out_pattern = "/.gatehouse-"; /* a name that nobody sees or uses */
            return 0;
        }
    }
    if (!is_elsewhere)
        return 0;
    show(pattern, shown);
    return err_set(err, ERR_INVALID_ARGUMENT,
                   "%s '%s' is outside the folder and would match nothing; write a path relative "
                   "to the folder",
                   option, shown);
}

static int check_syntax(const char *option, const char *pattern, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(PATTERNS_MAX_BYTES);
    const struct glob *glob;
    struct err why = ERR_INIT;
    int r = glob_compile(&arena, str_from(pattern), &glob, &why);

    return r < 0 ? err_set(err, r, "%s: %s", option, why.message) : 0;
}

int patterns_check(const char *option, const char *const *given, struct err *err)
{
    int r = 0;

    for (; given != NULL && *given != NULL && r == 0; given++) {
        r = check(option, str_from(*given), err);
        if (r == 0)
            r = check_syntax(option, *given, err);
    }
    return r;
}

int patterns_take(struct arena *arena, const char *option, const char *const *given,
                  const char *const *roots, const char *const *others,
                  const char *const **out_patterns, struct err *err)
{
    const char **patterns;
    size_t count = 0;

    while (given != NULL && given[count] != NULL)
        count++;
    patterns = arena_alloc_array(arena, count + 1, sizeof(*patterns));
    if (patterns == NULL)
        return err_set_plain(err, arena->error);
    for (size_t i = 0; i < count; i++) {
        struct str pattern = str_from(given[i]);
        int r = check(option, pattern, err);

        patterns[i] = given[i];
        if (r == 0 && str_starts_with(pattern, STR("/")))
            r = take_absolute(arena, option, pattern, roots, others, &patterns[i], err);
        if (r == 0)
            r = check_syntax(option, patterns[i], err);
        if (r < 0)
            return r;
    }
    patterns[count] = NULL;
    *out_patterns = patterns;
    return 0;
}

const char *patterns_verdict(const struct glob_set *denied, const struct glob_set *allowed,
                             struct str name)
{
    if (glob_set_matches(denied, name))
        return "is denied by --deny";
    if (!glob_set_is_empty(allowed) && !glob_set_matches(allowed, name))
        return "is not allowed by --allow";
    return NULL;
}
