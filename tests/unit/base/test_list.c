/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/list.h"

struct item {
    int number;
    struct list link;
};

static void items_come_in_order_and_may_leave_during_the_walk(void **state)
{
    struct list list;
    struct item items[5];
    int sum = 0;
    int order = 0;

    (void)state;
    list_init(&list);
    assert_true(list_is_empty(&list));
    for (int i = 0; i < 5; i++) {
        items[i].number = i;
        list_append(&list, &items[i].link);
    }
    list_each (node, &list)
        assert_int_equal(list_entry(node, struct item, link)->number, order++);
    list_each_safe (node, &list) {
        if (list_entry(node, struct item, link)->number % 2 == 0)
            list_remove(node);
    }
    list_each (node, &list)
        sum += list_entry(node, struct item, link)->number;
    assert_int_equal(sum, 1 + 3);
    list_remove(&items[0].link);
    list_remove(&items[1].link);
    list_remove(&items[3].link);
    assert_true(list_is_empty(&list));
}

TEST_MAIN(cmocka_unit_test(items_come_in_order_and_may_leave_during_the_walk))
