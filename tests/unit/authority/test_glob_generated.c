/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>

#include "authority/names/glob.h"
#include "authority/names/path.h"
#include "draw.h"
#include "glob_reference.h"

enum { ARENA_BYTES = 8 << 20 };

static struct arena arena = ARENA_INIT(ARENA_BYTES);

static int reset(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static const char *const pattern_pieces[] = {
    "a",       "a",        "b",
    "b",       "*",        "*",
    "?",       "/",        "/",
    "**",      "/**/",     "{",
    ",",       "}",        "[",
    "]",       "!",        "-",
    "[ab]",    "[!a]",     "{a,b}",
    "{a,b,c}", "{a,/b}",   "\\*",
    "\\",      "\xc3\xa9", "\xc3",
    "\xa9",    "c",        ".",
    "{*,b/}",  "**/",      "[a-b\xc3\xa9]",
    "{,a}",    "/b",       "^",
};
static const char *const name_pieces[] = {
    "a", "a", "b", "b", "/", "/", "c", "\xc3\xa9", "\xc3", "\xa9", "*", ".", "-",
};

static const char *const directory_pieces[] = {"a/", "b/", "ab/", "c/"};

/* False if the pattern does not compile. */
static bool draw_glob(char *text, struct str *out_pattern, const struct glob **out_glob)
{
    struct str pattern = draw_text(text, 7, pattern_pieces, array_size(pattern_pieces));

    arena_reset(&arena);
    if (glob_compile(&arena, pattern, out_glob, NULL) < 0)
        return false;
    *out_pattern = pattern;
    return true;
}

static bool draw_name(struct path_name *out_name)
{
    char text[32];

    return path_normalise(draw_text(text, 8, name_pieces, array_size(name_pieces)), "/", false,
                          out_name) == 0;
}

static void generated_patterns_match_as_the_reference_says(void **state)
{
    size_t matches = 0;
    size_t compared = 0;

    (void)state;
    draw_seed = 88172645463325252U;
    while (compared < 200000) {
        char text[64];
        struct str pattern;
        const struct glob *glob;

        if (!draw_glob(text, &pattern, &glob))
            continue;
        for (size_t i = 0; i < 20; i++) {
            struct path_name name;
            bool is_match;

            if (!draw_name(&name))
                continue;
            is_match = glob_matches(glob, path_view(&name));
            if (is_match != glob_reference_matches(pattern, path_view(&name)))
                fail_msg("\"%.*s\" and \"%s\"", STR_ARG(pattern), name.text);
            matches += is_match;
            compared++;
        }
    }
    assert_in_range(matches, compared / 20, compared / 2);
}

/* All names up to three components below the directory, of what the patterns are made of. */
static bool is_match_below(const struct glob *glob, struct str directory)
{
    static const char *const parts[] = {"a", "b", "ab", "c", "\xc3\xa9", "*", "ba", "aa"};
    enum { PARTS = array_size(parts) };
    char text[64];

    for (size_t i = 0; i < PARTS * (PARTS + 1) * (PARTS + 1); i++) {
        size_t second = i / PARTS % (PARTS + 1);
        size_t third = i / PARTS / (PARTS + 1);
        int len = snprintf(text, sizeof(text), "%.*s%s%s%s%s%s%s", STR_ARG(directory),
                           directory.len > 0 ? "/" : "", parts[i % PARTS], second > 0 ? "/" : "",
                           second > 0 ? parts[second - 1] : "", second > 0 && third > 0 ? "/" : "",
                           second > 0 && third > 0 ? parts[third - 1] : "");

        if (glob_matches(glob, (struct str){text, (size_t)len}))
            return true;
    }
    return false;
}

static void nothing_that_matches_is_passed_by(void **state)
{
    size_t passed = 0;
    size_t compared = 0;

    (void)state;
    draw_seed = 362436069362436069U;
    while (compared < 5000) {
        char text[64], name[16];
        struct str pattern, directory;
        const struct glob *glob;

        if (!draw_glob(text, &pattern, &glob))
            continue;
        directory = draw_text(name, 4, directory_pieces, array_size(directory_pieces));
        directory.len--; /* the slash */
        compared++;
        if (glob_may_match_below(glob, directory))
            continue;
        passed++;
        if (is_match_below(glob, directory))
            fail_msg("\"%.*s\" below \"%.*s\"", STR_ARG(pattern), STR_ARG(directory));
    }
    assert_true(passed > compared / 5);
}

static bool fits_part(enum glob_part part, struct str text, struct str name)
{
    while (name.len > 0) {
        struct str component = path_take(&name);

        if (part == GLOB_PART_IS ? str_eq(component, text) : str_ends_with(component, text))
            return true;
    }
    return part == GLOB_PART_ANY;
}

/* The name lies below what is written out, and has all parts below that. */
static bool fits_shape(const struct glob_shape *shape, struct str name, size_t *telling)
{
    for (size_t i = 0; i < shape->fixed_count; i++)
        if (name.len == 0 || !str_eq(path_take(&name), glob_shape_fixed(shape, i)))
            return false;
    for (size_t i = 0; i < shape->part_count; i++) {
        struct str text;
        enum glob_part part = glob_shape_part(shape, i, &text);

        if (!fits_part(part, text, name))
            return false;
        *telling += part != GLOB_PART_ANY;
    }
    return true;
}

struct shapes {
    struct str name;
    size_t telling; /* parts that are not just anything */
};

static int visit_shape(void *data, const struct glob_shape *shape)
{
    struct shapes *shapes = data;

    return fits_shape(shape, shapes->name, &shapes->telling);
}

static void what_matches_fits_a_shape(void **state)
{
    struct shapes shapes = {.telling = 0};
    size_t matches = 0;

    (void)state;
    draw_seed = 123456789123456789U;
    while (matches < 20000) {
        char text[64];
        struct str pattern;
        const struct glob *glob;
        struct path_name name;

        if (!draw_glob(text, &pattern, &glob) || !draw_name(&name) ||
            !glob_matches(glob, path_view(&name)))
            continue;
        matches++;
        shapes.name = path_view(&name);
        if (glob_each_shape(glob, visit_shape, &shapes) == 0)
            fail_msg("\"%.*s\" and \"%s\"", STR_ARG(pattern), name.text);
    }
    assert_true(shapes.telling > matches / 10);
}

TEST_MAIN(cmocka_unit_test_teardown(generated_patterns_match_as_the_reference_says, reset),
          cmocka_unit_test_teardown(nothing_that_matches_is_passed_by, reset),
          cmocka_unit_test_teardown(what_matches_fits_a_shape, reset))
