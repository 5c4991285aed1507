/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/clock.h"
#include "net/deadlines.h"

enum { MANY = 1000 };

struct thing {
    struct deadline deadline;
    unsigned expired;
    struct deadline_ring *again;
};

static struct clock fake;
static struct loop *loop;
static struct deadlines set;
static struct deadline_ring *quick;
static struct deadline_ring *slow;
static unsigned order;

static void expire(struct deadline *deadline)
{
    struct thing *thing = list_entry(deadline, struct thing, deadline);

    thing->expired = ++order;
    if (thing->again != NULL)
        deadline_start(thing->again, deadline);
}

static int begin(void **state)
{
    (void)state;
    order = 0;
    clock_fake_init(&fake, 0);
    assert_int_equal(loop_new(&fake, &loop), 0);
    deadlines_init(&set, loop);
    quick = deadlines_add_ring(&set, 10, expire);
    slow = deadlines_add_ring(&set, 100, expire);
    return 0;
}

static int end(void **state)
{
    (void)state;
    deadlines_done(&set);
    loop_free(loop);
    return 0;
}

static void pass(int64_t ms)
{
    clock_fake_advance(&fake, ms);
    loop_run_due_timers(loop);
}

static void each_ring_has_its_time(void **state)
{
    struct thing a = {0};
    struct thing b = {0};

    (void)state;
    deadline_init(&a.deadline);
    deadline_init(&b.deadline);
    deadline_start(slow, &a.deadline);
    pass(5);
    deadline_start(quick, &b.deadline);
    pass(9);
    assert_int_equal(b.expired, 0);
    pass(1);
    assert_int_equal(b.expired, 1);
    pass(84);
    assert_int_equal(a.expired, 0);
    pass(1);
    assert_int_equal(a.expired, 2);
}

static void starting_again_begins_anew_and_stopping_ends_it(void **state)
{
    struct thing a = {0};
    struct thing b = {0};

    (void)state;
    deadline_init(&a.deadline);
    deadline_init(&b.deadline);
    deadline_start(quick, &a.deadline);
    deadline_start(quick, &b.deadline);
    pass(9);
    deadline_start(quick, &a.deadline);
    deadline_stop(&b.deadline);
    deadline_stop(&b.deadline);
    pass(9);
    assert_int_equal(a.expired, 0);
    pass(1);
    assert_int_equal(a.expired, 1);
    assert_int_equal(b.expired, 0);
}

static void one_may_start_again_while_it_expires(void **state)
{
    struct thing a = {.again = slow};

    (void)state;
    deadline_init(&a.deadline);
    deadline_start(quick, &a.deadline);
    pass(10);
    assert_int_equal(a.expired, 1);
    pass(99);
    assert_int_equal(a.expired, 1);
    pass(1);
    assert_int_equal(a.expired, 2);
    deadline_stop(&a.deadline);
}

static void very_many_at_once_leave_the_loop_time_for_others(void **state)
{
    static struct thing things[MANY];
    unsigned runs = 0;

    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        things[i] = (struct thing){0};
        deadline_init(&things[i].deadline);
        deadline_start(quick, &things[i].deadline);
    }
    pass(10);
    assert_int_equal(order, DEADLINES_A_TURN);
    while (order < MANY && ++runs < MANY)
        pass(1);
    assert_int_equal(runs, MANY / DEADLINES_A_TURN);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(things[i].expired, i + 1);
}

TEST_MAIN(cmocka_unit_test_setup_teardown(each_ring_has_its_time, begin, end),
          cmocka_unit_test_setup_teardown(starting_again_begins_anew_and_stopping_ends_it, begin,
                                          end),
          cmocka_unit_test_setup_teardown(one_may_start_again_while_it_expires, begin, end),
          cmocka_unit_test_setup_teardown(very_many_at_once_leave_the_loop_time_for_others, begin,
                                          end))
