/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/library.h"

static size_t (*length)(const char *text);
static int (*missing)(void);

static void a_library_with_all_functions_is_found(void **state)
{
    static const struct library_function functions[] = {{"strlen", &length}};

    (void)state;
    assert_true(library_find(dlopen("libc.so.6", RTLD_NOW | RTLD_LOCAL), functions, 1));
    assert_int_equal(length("four"), 4);
}

static void one_without_a_function_or_none_at_all_is_not(void **state)
{
    static const struct library_function functions[] = {{"strlen", &length},
                                                        {"gatehouse_has_no_such_one", &missing}};

    (void)state;
    assert_false(library_find(dlopen("libc.so.6", RTLD_NOW | RTLD_LOCAL), functions, 2));
    assert_false(library_find(dlopen("libgatehouse-none.so.1", RTLD_NOW), functions, 1));
    assert_false(library_find(NULL, functions, 0));
}

TEST_MAIN(cmocka_unit_test(a_library_with_all_functions_is_found),
          cmocka_unit_test(one_without_a_function_or_none_at_all_is_not))
