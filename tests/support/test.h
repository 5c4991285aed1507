/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every cmocka program needs: the headers that cmocka wants before its
 * own, and a main() that names the group after the program, or as GATEHOUSE_TEST_NAME
 * says where one program runs under several conditions: scripts/run-tests looks
 * for the report under that name, and counts the cases in it.
 */
#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "patience.h"

/* TEST_MAIN(cmocka_unit_test(first), cmocka_unit_test(second)) */
#define TEST_MAIN(...)                                                                             \
    int main(void)                                                                                 \
    {                                                                                              \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                           \
        const char *group_ = getenv("GATEHOUSE_TEST_NAME");                                        \
                                                                                                   \
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
