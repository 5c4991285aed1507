/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A byte of options, a pattern, a NUL, a text: the matcher finds the lines and matches that PCRE2
 * finds alone.
 */
#include <assert.h>
#include <stdint.h>

#include "../support/search_reference.h"
#include "base/arena.h"
#include "search/excerpt.h"
#include "search/matcher.h"
#include "search/syntax.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    ARENA_BYTES = 4 << 20,
    /* On a line of that size the matcher has more steps than the reference. */
    TEXT_MAX_BYTES = 1000,
    PATTERN_MOST_BYTES = 200,
};

/* With any case, also where the pattern asks for one. */
static void parse(struct str pattern)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct syntax_tree tree;

    (void)!syntax_parse(&arena, pattern, true, &tree);
}

static void compare(struct matcher *matcher, struct search_reference *reference, struct str text)
{
    size_t from = 0, count = 0, counted;

    for (;;) {
        struct matcher_line wanted, found;
        struct excerpt excerpt;

        if (!search_reference_next(reference, text, from, &wanted))
            return;
        assert(matcher_next(matcher, text, from, &found) == 0);
        assert(found.is_found == wanted.is_found && found.start == wanted.start &&
               found.end == wanted.end && found.match_start == wanted.match_start &&
               found.match_end == wanted.match_end);
        if (!found.is_found)
            break;
        excerpt_make((struct str){text.ptr + found.start, found.end - found.start},
                     found.match_start - found.start, found.match_end - found.start, &excerpt);
        assert(excerpt.match_start <= excerpt.match_end && excerpt.match_end <= excerpt.len);
        count++;
        from = found.end + 1;
    }
    assert(matcher_count(matcher, text, &counted) == 0 && counted == count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_pattern struct pattern *pattern = NULL;
    cleanup_matcher struct matcher *matcher = NULL;
    struct pattern_options options = {0};
    struct search_reference reference;
    struct str pattern_text, text = STR_EMPTY;
    const char *nul;

    if (size == 0)
        return 0;
    options.is_regex = (data[0] & 1) != 0;
    options.ignores_case = (data[0] & 2) != 0;
    options.level = (enum scan_level)((data[0] >> 2) % SCAN_LEVELS);
    pattern_text = (struct str){(const char *)data + 1, size - 1};
    nul = memchr(pattern_text.ptr, '\0', pattern_text.len);
    if (nul != NULL) {
        text = (struct str){nul + 1, pattern_text.len - (size_t)(nul - pattern_text.ptr) - 1};
        pattern_text.len = (size_t)(nul - pattern_text.ptr);
    }
    if (text.len > TEXT_MAX_BYTES || pattern_text.len > PATTERN_MOST_BYTES)
        return 0;
    if (pattern_compile(pattern_text, &options, &pattern, NULL) < 0)
        return 0;
    parse(pattern_text);
    assert(matcher_new(pattern, NULL, &matcher) == 0);
    if (search_reference_init(&reference, pattern_text, options.is_regex, options.ignores_case,
                              true))
        compare(matcher, &reference, text);
    search_reference_done(&reference);
    return 0;
}
