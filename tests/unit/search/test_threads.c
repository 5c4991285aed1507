/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <pthread.h>
#include <stdio.h>

#include "base/buf.h"
#include "search/matcher.h"

enum { THREADS = 4, LINES = 2000, TEXT_MAX_BYTES = 1 << 18, SEARCHES = 20 };

struct job {
    const struct pattern *pattern;
    struct str text;
    size_t lines;
    int result;
};

static void *search(void *context)
{
    struct job *job = context;
    cleanup_matcher struct matcher *matcher = NULL;

    job->result = matcher_new(job->pattern, NULL, &matcher);
    for (int i = 0; i < SEARCHES && job->result == 0; i++)
        job->result = matcher_count(matcher, job->text, &job->lines);
    return NULL;
}

static void one_pattern_serves_several_threads(void **state)
{
    static const char *const texts[] = {"line 1", "\\w+ (1|2)\\d*$", "(?i)\xc3\x96l [0-9]+",
                                        "\\w{4,}"};
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX_BYTES);

    (void)state;
    for (int i = 0; i < LINES; i++)
        assert_int_equal(buf_printf(&text, "line %d\n\xc3\xb6l %d\n", i, i), 0);
    for (size_t i = 0; i < array_size(texts); i++) {
        struct pattern_options options = {.is_regex = true};
        cleanup_pattern struct pattern *pattern = NULL;
        struct job jobs[THREADS];
        pthread_t threads[THREADS];

        assert_int_equal(pattern_compile(str_from(texts[i]), &options, &pattern, NULL), 0);
        for (size_t t = 0; t < THREADS; t++) {
            jobs[t] = (struct job){pattern, buf_view(&text), 0, 0};
            assert_int_equal(pthread_create(&threads[t], NULL, search, &jobs[t]), 0);
        }
        for (size_t t = 0; t < THREADS; t++) {
            assert_int_equal(pthread_join(threads[t], NULL), 0);
            assert_int_equal(jobs[t].result, 0);
            assert_int_equal(jobs[t].lines, jobs[0].lines);
        }
        assert_true(jobs[0].lines > 0);
    }
}

TEST_MAIN(cmocka_unit_test(one_pattern_serves_several_threads))
