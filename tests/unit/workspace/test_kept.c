/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning and the end of a stream. */
#include "base/cleanup.h"
#include "test.h"
#include "workspace/kept.h"

enum { HALF = 4 };

static struct kept_stream kept;

static int set_up(void **state)
{
    (void)state;
    kept_init(&kept, HALF);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kept_done(&kept);
    return 0;
}

static void check(const char *shown)
{
    cleanup_buf struct buf out = BUF_INIT(1 << 10);

    assert_int_equal(kept_show(&kept, &out), 0);
    assert_true(str_eq_c(buf_view(&out), shown));
}

static void what_fits_is_whole(void **state)
{
    (void)state;
    check("");
    kept_add(&kept, STR("abcdef"));
    check("abcdef");
    kept_add(&kept, STR("gh"));
    check("abcdefgh");
    check("abcdefgh");
}

static void the_middle_is_left_out_and_counted(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++)
        kept_add(&kept, STR("0123456789"));
    check("0123\n[92 bytes left out]\n6789");
    kept_add(&kept, STR("x"));
    check("0123\n[93 bytes left out]\n789x");
    assert_int_equal(kept.total, 101);
}

static void it_can_begin_again(void **state)
{
    (void)state;
    kept_add(&kept, STR("0123456789"));
    kept_clear(&kept);
    check("");
    kept_add(&kept, STR("a"));
    check("a");
}

TEST_MAIN(cmocka_unit_test_setup_teardown(what_fits_is_whole, set_up, tear_down),
          cmocka_unit_test_setup_teardown(the_middle_is_left_out_and_counted, set_up, tear_down),
          cmocka_unit_test_setup_teardown(it_can_begin_again, set_up, tear_down))
