/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <unistd.h>

#include "programs/search/progress.h"

struct bench {
    int out;
    struct clock clock;
    struct progress progress;
    char text[4096];
};

static int set_up(void **state)
{
    static struct bench bench;
    int fds[2];

    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    bench.out = fds[0];
    clock_fake_init(&bench.clock, 0);
    progress_init(&bench.progress, fds[1], &bench.clock);
    *state = &bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;

    close(bench->out);
    close(bench->progress.fd);
    return 0;
}

/* What has been written since the last time. */
static const char *written(struct bench *bench)
{
    ssize_t len = read(bench->out, bench->text, sizeof(bench->text) - 1);

    bench->text[len > 0 ? len : 0] = '\0';
    return bench->text;
}

static void a_short_search_says_nothing(void **state)
{
    struct bench *bench = *state;

    progress_tell(&bench->progress, 64);
    clock_fake_advance(&bench->clock, PROGRESS_AFTER_MS - 1);
    progress_tell(&bench->progress, 128);
    progress_end(&bench->progress);
    assert_string_equal(written(bench), "");
}

static void a_long_one_writes_over_its_line_and_erases_it(void **state)
{
    struct bench *bench = *state;

    clock_fake_advance(&bench->clock, PROGRESS_AFTER_MS);
    progress_tell(&bench->progress, 64);
    assert_string_equal(written(bench), "\r\033[K64 files searched");
    clock_fake_advance(&bench->clock, PROGRESS_EVERY_MS - 1);
    progress_tell(&bench->progress, 128);
    assert_string_equal(written(bench), "");
    clock_fake_advance(&bench->clock, 1);
    progress_tell(&bench->progress, UINT64_MAX);
    assert_string_equal(written(bench), "\r\033[K18446744073709551615 files searched");
    progress_end(&bench->progress);
    assert_string_equal(written(bench), "\r\033[K");
    progress_end(&bench->progress);
    assert_string_equal(written(bench), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_short_search_says_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_long_one_writes_over_its_line_and_erases_it, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
