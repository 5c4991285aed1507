/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every cmocka program needs: the headers that cmocka wants before its
 * own, and a main() that names the group after the program, because
 * scripts/run-tests looks for the report under that name.
 */
#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"

/* TEST_MAIN(cmocka_unit_test(first), cmocka_unit_test(second)) */
#define TEST_MAIN(...)                                                                             \
    int main(void)                                                                                 \
    {                                                                                              \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                           \
                                                                                                   \
        return cmocka_run_group_tests_name(program_invocation_short_name, tests, NULL, NULL);      \
    }

#define assert_str(view, literal)                                                                  \
    do {                                                                                           \
        struct str assert_view_ = (view);                                                          \
                                                                                                   \
        assert_int_equal(assert_view_.len, sizeof(literal) - 1);                                   \
        assert_memory_equal(assert_view_.ptr, literal, sizeof(literal) - 1);                       \
    } while (0)

#endif
