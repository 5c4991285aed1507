/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every cmocka program needs: the headers required before cmocka's own, and a main() that
 * names the group after the program, or by GATEHOUSE_TEST_NAME if one program runs under several
 * conditions: scripts/run-tests looks for the report under that name, and counts the cases in it.
 *
 * A case that hangs is named and ends the program, long before meson would.
 */
#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "patience.h"

/*
 * Time limit of one case: longer than it waits for anything, even if a sanitizer makes a slow
 * machine slower; and less than meson's limit for the program.
 */
enum { TEST_CASE_S = 240 };

/* GATEHOUSE_TEST_SLOWNESS: factor for limits of time, for programs under an emulator. */
static inline unsigned test_slowness(void)
{
    const char *slowness = getenv("GATEHOUSE_TEST_SLOWNESS");
    long times = slowness != NULL ? strtol(slowness, NULL, 10) : 1;

    return times >= 1 && times <= 100 ? (unsigned)times : 1;
}

/* For what syncs often: a disk would take most of the time. */
static inline const char *test_quick_directory(void)
{
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

static const char *volatile test_case_name = "";

static inline void test_say_hung(int number)
{
    const char *name = test_case_name;

    (void)number;
    (void)!write(STDERR_FILENO, "hangs: ", 7);
    (void)!write(STDERR_FILENO, name, strlen(name));
    (void)!write(STDERR_FILENO, "\n", 1);
    _exit(1);
}

/* Runs before the case's own set-up, whose row is the initial state. */
static inline int test_watch(void **state)
{
    const struct CMUnitTest *row = *state;

    test_case_name = row->name;
    *state = row->initial_state;
    alarm(TEST_CASE_S * test_slowness());
    return row->setup_func != NULL ? row->setup_func(state) : 0;
}

static inline void test_watch_all(const struct CMUnitTest *rows, struct CMUnitTest *out_watched,
                                  size_t count)
{
    const struct sigaction on_alarm = {.sa_handler = test_say_hung};

    (void)sigaction(SIGALRM, &on_alarm, NULL);
    for (size_t i = 0; i < count; i++) {
        out_watched[i] = rows[i];
        out_watched[i].setup_func = test_watch;
        /* SAFETY: it is passed back to us only, and we do not write to it. */
        out_watched[i].initial_state = (void *)(uintptr_t)&rows[i];
    }
}

/* TEST_MAIN(cmocka_unit_test(first), cmocka_unit_test(second)) */
#define TEST_MAIN(...)                                                                             \
    int main(void)                                                                                 \
    {                                                                                              \
        const struct CMUnitTest rows[] = {__VA_ARGS__};                                            \
        struct CMUnitTest tests[array_size(rows)];                                                 \
        const char *group_ = getenv("GATEHOUSE_TEST_NAME");                                        \
                                                                                                   \
        test_watch_all(rows, tests, array_size(rows));                                             \
        return cmocka_run_group_tests_name(                                                        \
            group_ != NULL ? group_ : program_invocation_short_name, tests, NULL, NULL);           \
    }

/* A case that cannot run here says why, like printf, and is counted as skipped. */
#define skip_because(...)                                                                          \
    do {                                                                                           \
        print_message("skipped: ");                                                                \
        print_message(__VA_ARGS__);                                                                \
        print_message("\n");                                                                       \
        skip();                                                                                    \
    } while (0)

#define assert_str(view, literal)                                                                  \
    do {                                                                                           \
        struct str assert_view_ = (view);                                                          \
                                                                                                   \
        assert_int_equal(assert_view_.len, sizeof(literal) - 1);                                   \
        assert_memory_equal(assert_view_.ptr, literal, sizeof(literal) - 1);                       \
    } while (0)

#endif
