/* SPDX-License-Identifier: Apache-2.0 */
#include "copies/record.h"

#include <limits.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "copies/apply_internal.h"
#include "test.h"

enum { TEXT_BYTES = 1 << 20 };

#define HEAD                                                                                       \
    "gatehouse-workspace 1\ncreated 5\ngit 1\nsensitive 0\noriginal /a%20b\nleft-out 2\n- .env\n"

static void a_record_comes_back_as_it_was(void **state)
{
    cleanup_record struct copies_record record = COPIES_RECORD_INIT;
    cleanup_record struct copies_record again = COPIES_RECORD_INIT;
    cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);
    const struct str odd = STR("new\nline \x1b[31m\xff%41/\xc3\xa4");
    const struct copies_entry *found;

    (void)state;
    record.original = STR("/srv/an n/%");
    record.created_ms = 1763366400000;
    record.has_git = true;
    assert_int_equal(copies_record_leave_out(&record, STR(".env")), 0);
    assert_int_equal(
        copies_record_add(&record, &(struct copies_entry){.name = odd,
                                                          .type = AUTHORITY_FILE,
                                                          .original = {true, 1, UINT64_MAX, 3},
                                                          .copy = {true, 4, 5, 6}}),
        0);
    assert_int_equal(copies_record_add(&record, &(struct copies_entry){.name = STR("a"),
                                                                       .type = AUTHORITY_DIRECTORY,
                                                                       .copy = {true, 0, 0, 9}}),
                     0);
    copies_record_sort(&record);
    assert_int_equal(copies_record_write(&record, &text), 0);
    assert_int_equal(copies_record_parse(buf_view(&text), &again), 0);
    assert_true(str_eq(again.original, record.original));
    assert_true(again.has_git && !again.has_sensitive);
    assert_int_equal(again.left_out_count, 1);
    assert_true(str_eq_c(again.left_out[0], ".env"));
    assert_int_equal(again.count, 2);
    found = copies_record_find(&again, odd);
    assert_non_null(found);
    assert_true(found->original.changed_ns == UINT64_MAX && found->copy.inode == 6);
    assert_false(copies_record_find(&again, STR("a"))->original.is_there);
    assert_null(copies_record_find(&again, STR("b")));
}

static void a_record_of_snapshots_has_no_entries(void **state)
{
    cleanup_record struct copies_record record = COPIES_RECORD_INIT;
    cleanup_record struct copies_record again = COPIES_RECORD_INIT;
    cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);

    (void)state;
    record.original = STR("/a");
    record.has_base = true;
    assert_int_equal(copies_record_write(&record, &text), 0);
    assert_true(str_ends_with(buf_view(&text), STR("left-out 0\nbase\n")));
    assert_int_equal(copies_record_parse(buf_view(&text), &again), 0);
    assert_true(again.has_base);
    assert_int_equal(again.count, 0);
}

static void a_damaged_record_is_refused(void **state)
{
    static const char *const damaged[] = {
        "",
        "gatehouse-workspace 2\n",
        HEAD,
        HEAD "end 1\n",
        HEAD "end 0",
        HEAD "end 0\nmore",
        HEAD "base",
        HEAD "base\nend 0\n",
        HEAD "f 1 2 3 4 1 2 3 4 a\nbase\n",
        HEAD "f 1 2 3 4 1 2 3 4 b\nf 1 2 3 4 1 2 3 4 a\nend 2\n",
        HEAD "f 1 2 3 4 1 2 3 4 a\nf 1 2 3 4 1 2 3 4 a\nend 2\n",
        HEAD "f 2 2 3 4 1 2 3 4 a\nend 1\n",
        HEAD "f 1 99999999999999999999 3 4 1 2 3 4 a\nend 1\n",
        HEAD "f 1 2 3 4 1 2 3 4 \nend 1\n",
        HEAD "f 1 2 3 4 1 2 3 4 a%0\nend 1\n",
        HEAD "f 1 2 3 4 1 2 3 4 a%00\nend 1\n",
        HEAD "x 1 2 3 4 1 2 3 4 a\nend 1\n",
        "gatehouse-workspace 1\ncreated 5\ngit 1\nsensitive 0\noriginal a\nleft-out 0\nend 0\n",
        ("gatehouse-workspace 1\ncreated 5\ngit 1\nsensitive 0\noriginal /a\nleft-out 0\n- b\nend "
         "0\n"),
    };

    (void)state;
    for (size_t i = 0; i < array_size(damaged); i++) {
        cleanup_record struct copies_record record = COPIES_RECORD_INIT;

        if (copies_record_parse(str_from(damaged[i]), &record) != ERR_STATE_INVALID)
            fail_msg("accepted: %s", damaged[i]);
        assert_int_equal(record.count, 0);
    }
}

static void the_head_of_a_record_is_enough_for_a_list(void **state)
{
    cleanup_record struct copies_record record = COPIES_RECORD_INIT;

    (void)state;
    assert_int_equal(copies_record_parse_head(STR(HEAD "f 1 2 3 4 1 2 cut off here"), &record), 0);
    assert_true(str_eq_c(record.original, "/a b"));
    assert_int_equal(record.created_ms, 5);
    assert_int_equal(record.left_out_count, 2);
}

static void prints_tell_changes_apart(void **state)
{
    const struct copies_print file = {true, 1, 2, 3};
    const struct copies_print none = {.is_there = false};
    const struct copies_print others[] = {{true, 9, 2, 3}, {true, 1, 9, 3}, {true, 1, 2, 9}};

    (void)state;
    assert_true(copies_is_same(&file, &file));
    assert_true(copies_is_same(&none, &none));
    assert_false(copies_is_same(&file, &none));
    for (size_t i = 0; i < array_size(others); i++)
        assert_false(copies_is_same(&file, &others[i]));
}

static void a_plan_comes_back_as_it_was(void **state)
{
    cleanup_plan struct apply_plan plan = APPLY_PLAN_INIT;
    cleanup_plan struct apply_plan again = APPLY_PLAN_INIT;
    cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);

    (void)state;
    for (enum apply_kind kind = APPLY_DELETE; kind < APPLY_KINDS; kind++)
        assert_int_equal(
            apply_plan_add(&plan, &(struct apply_step){.kind = kind,
                                                       .name = STR("a b"),
                                                       .digest = {(unsigned char)kind, 7}}),
            0);
    assert_int_equal(apply_plan_write(&plan, &text), 0);
    assert_int_equal(apply_plan_parse(buf_view(&text), &again), 0);
    assert_int_equal(again.count, APPLY_KINDS);
    for (size_t i = 0; i < again.count; i++) {
        assert_int_equal(again.steps[i].kind, i);
        assert_true(str_eq_c(again.steps[i].name, "a b"));
        assert_memory_equal(again.steps[i].digest, plan.steps[i].digest, SHA256_BYTES);
    }
}

static void a_damaged_plan_is_refused(void **state)
{
    cleanup_plan struct apply_plan plan = APPLY_PLAN_INIT;

    (void)state;
    assert_int_equal(apply_plan_parse(STR(""), &plan), ERR_STATE_INVALID);
    assert_int_equal(apply_plan_parse(STR("gatehouse-undo 1\n"), &plan), ERR_STATE_INVALID);
    assert_int_equal(apply_plan_parse(STR("gatehouse-undo 1\nend"), &plan), ERR_STATE_INVALID);
    assert_int_equal(apply_plan_parse(STR("gatehouse-undo 1\nm 00 a\nend\n"), &plan),
                     ERR_STATE_INVALID);
    assert_int_equal(apply_plan_parse(STR("gatehouse-undo 1\nend\n"), &plan), 0);
    assert_int_equal(plan.count, 0);
}

TEST_MAIN(cmocka_unit_test(a_record_comes_back_as_it_was),
          cmocka_unit_test(a_record_of_snapshots_has_no_entries),
          cmocka_unit_test(a_damaged_record_is_refused),
          cmocka_unit_test(the_head_of_a_record_is_enough_for_a_list),
          cmocka_unit_test(prints_tell_changes_apart),
          cmocka_unit_test(a_plan_comes_back_as_it_was),
          cmocka_unit_test(a_damaged_plan_is_refused))
