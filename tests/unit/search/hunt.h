/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A search of a world's tree, and what it found as text that a test can compare:
 *
 *     d/file:12[4-7]: a line that matched
 *     d/file-13: a line behind it
 *
 * with the lines around a match before and behind it, and without numbers where
 * there is no pattern. It sees to it that the numbers of the result agree.
 */
#ifndef TESTS_UNIT_SEARCH_HUNT_H
#define TESTS_UNIT_SEARCH_HUNT_H

#include "../authority/world.h"

#include "search/search.h"
#include "search/seeker.h"

struct hunt {
    struct world *world;
    struct pattern *pattern;
    struct search_request request;
    struct search_result result;
    struct buf shown;
};

/* Of a regex, or NULL for names; tests change what they are about. */
static inline void hunt_init(struct hunt *hunt, struct world *world, const char *regex)
{
    const struct pattern_options options = {.is_regex = true};

    *hunt = (struct hunt){.world = world};
    buf_init(&hunt->shown, WORLD_BUF_BYTES);
    if (regex != NULL)
        assert_int_equal(pattern_compile(str_from(regex), &options, &hunt->pattern, &world->err),
                         0);
    hunt->request = (struct search_request){
        .directory = STR_EMPTY,
        .pattern = hunt->pattern,
        .threads = 2,
        .max_results = SEARCH_MAX_RESULTS,
    };
}

static inline void hunt_done(struct hunt *hunt)
{
    search_result_done(&hunt->result);
    pattern_free(hunt->pattern);
    buf_done(&hunt->shown);
}
#define cleanup_hunt cleanup_with(hunt_done)

static inline void hunt_show_lines(struct hunt *hunt, struct str name, const struct str *lines,
                                   size_t count, uint64_t number)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(buf_printf(&hunt->shown, "%.*s-%ju: %.*s\n", STR_ARG(name),
                                    (uintmax_t)number + i, STR_ARG(lines[i])),
                         0);
}

static inline void hunt_show(struct hunt *hunt)
{
    const struct search_result *result = &hunt->result;
    size_t kept = 0;

    buf_clear(&hunt->shown);
    for (size_t i = 0; i < result->file_count; i++) {
        const struct search_file *file = result->files[i];

        kept += hunt->pattern != NULL ? file->match_count : 1;
        if (hunt->pattern == NULL)
            assert_int_equal(buf_printf(&hunt->shown, "%.*s\n", STR_ARG(file->name)), 0);
        for (size_t j = 0; j < file->match_count; j++) {
            const struct search_match *match = &file->matches[j];

            hunt_show_lines(hunt, file->name, match->before, match->before_count,
                            match->line_number - match->before_count);
            assert_int_equal(buf_printf(&hunt->shown, "%.*s:%ju[%zu-%zu]: %.*s\n",
                                        STR_ARG(file->name), (uintmax_t)match->line_number,
                                        match->match_start, match->match_end, STR_ARG(match->text)),
                             0);
            hunt_show_lines(hunt, file->name, match->after, match->after_count,
                            match->line_number + 1);
        }
    }
    assert_int_equal(result->kept, kept);
    assert_in_range(kept, 0, hunt->request.max_results);
    if (!result->is_total_a_minimum)
        assert_int_equal(result->is_truncated, result->total > kept);
}

/* Also again, with what was found before forgotten. */
static inline int hunt_run_in(struct hunt *hunt, struct authority_scope *scope)
{
    int r;

    search_result_done(&hunt->result);
    hunt->world->err = (struct err)ERR_INIT;
    r = search_run(scope, &hunt->request, &hunt->result, &hunt->world->err);
    if (r == 0)
        hunt_show(hunt);
    return r;
}

static inline int hunt_run(struct hunt *hunt)
{
    return hunt_run_in(hunt, hunt->world->scope);
}

static inline void hunt_expect_bytes(struct hunt *hunt, struct str expected, const char *file,
                                     int line)
{
    struct str shown = buf_view(&hunt->shown);
    size_t same = 0;

    if (str_eq(shown, expected))
        return;
    while (same < shown.len && same < expected.len && shown.ptr[same] == expected.ptr[same])
        same++;
    fail_msg(
        "%s:%d: of %zu bytes found and %zu expected the first %zu are the same, then\n"
        "%.*s\ninstead of\n%.*s",
        file, line, shown.len, expected.len, same,
        STR_ARG(str_slice(shown, same, same + 200 < shown.len ? same + 200 : shown.len)),
        STR_ARG(str_slice(expected, same, same + 200 < expected.len ? same + 200 : expected.len)));
}

/* It goes well, and finds this. */
#define assert_found(hunt, expected)                                                               \
    do {                                                                                           \
        assert_ok((hunt)->world, hunt_run(hunt));                                                  \
        hunt_expect_bytes(hunt, str_from(expected), __FILE__, __LINE__);                           \
    } while (0)

#endif
