/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>
#include <time.h>

#include "loop/loop.h"
#include "loop/timer.h"

enum { LOG_MAX = 64 };

/* A loop whose time stands still, and what fired on it. */
struct fixture {
    struct clock clock;
    struct loop *loop;
    int fired[LOG_MAX];
    size_t fired_count;
};

struct numbered {
    struct timer timer;
    struct fixture *fixture;
    int number;
    struct numbered *victim;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    if (fixture == NULL)
        return -1;
    clock_fake_init(&fixture->clock, 0);
    if (loop_new(&fixture->clock, &fixture->loop) < 0)
        return -1;
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    loop_free(fixture->loop);
    free(fixture);
    return 0;
}

static void note(void *data)
{
    struct numbered *numbered = data;
    struct fixture *fixture = numbered->fixture;

    assert_true(fixture->fired_count < LOG_MAX);
    fixture->fired[fixture->fired_count++] = numbered->number;
}

static void init_numbered(struct numbered *numbered, struct fixture *fixture, int number,
                          void (*fire)(void *data))
{
    *numbered = (struct numbered){.fixture = fixture, .number = number};
    timer_init(&numbered->timer, fixture->loop, fire, numbered);
}

static void advance(struct fixture *fixture, int64_t by_ms)
{
    clock_fake_advance(&fixture->clock, by_ms);
    loop_run_due_timers(fixture->loop);
}

static void assert_fired(const struct fixture *fixture, size_t count, const int *numbers)
{
    assert_int_equal(fixture->fired_count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(fixture->fired[i], numbers[i]);
}

static void timer_fires_once_at_its_time_and_not_before(void **state)
{
    struct fixture *fixture = *state;
    struct numbered one;

    init_numbered(&one, fixture, 1, note);
    timer_start(&one.timer, 10);
    advance(fixture, 9);
    assert_int_equal(fixture->fired_count, 0);
    assert_true(one.timer.is_started);
    advance(fixture, 1);
    assert_int_equal(fixture->fired_count, 1);
    assert_false(one.timer.is_started);
    advance(fixture, 1000);
    assert_int_equal(fixture->fired_count, 1);
}

static void timers_fire_by_time_and_then_by_start(void **state)
{
    struct fixture *fixture = *state;
    static const int64_t after_ms[] = {30, 10, 20, 10, 30, 10};
    struct numbered timers[array_size(after_ms)];

    for (size_t i = 0; i < array_size(after_ms); i++) {
        init_numbered(&timers[i], fixture, (int)i, note);
        timer_start(&timers[i].timer, after_ms[i]);
    }
    advance(fixture, 100);
    assert_fired(fixture, 6, (int[]){1, 3, 5, 2, 0, 4});
}

static void starting_again_moves_the_timer(void **state)
{
    struct fixture *fixture = *state;
    struct numbered one, two;

    init_numbered(&one, fixture, 1, note);
    init_numbered(&two, fixture, 2, note);
    timer_start(&one.timer, 10);
    timer_start(&two.timer, 10);
    timer_start(&one.timer, 10);
    advance(fixture, 10);
    assert_fired(fixture, 2, (int[]){2, 1});
}

static void stopped_timer_does_not_fire(void **state)
{
    struct fixture *fixture = *state;
    struct numbered one;

    init_numbered(&one, fixture, 1, note);
    timer_stop(&one.timer);
    timer_start(&one.timer, 10);
    timer_stop(&one.timer);
    timer_stop(&one.timer);
    advance(fixture, 20);
    assert_int_equal(fixture->fired_count, 0);
}

static void time_in_the_past_means_at_once_and_far_time_means_never(void **state)
{
    struct fixture *fixture = *state;
    struct numbered past, far;

    init_numbered(&past, fixture, 1, note);
    init_numbered(&far, fixture, 2, note);
    clock_fake_advance(&fixture->clock, 5);
    timer_start(&past.timer, -100);
    timer_start(&far.timer, INT64_MAX);
    loop_run_due_timers(fixture->loop);
    assert_fired(fixture, 1, (int[]){1});
    timer_stop(&far.timer);
}

static void repeating_timer_fires_every_period(void **state)
{
    struct fixture *fixture = *state;
    struct numbered one;

    init_numbered(&one, fixture, 1, note);
    timer_start_repeating(&one.timer, 10);
    for (int i = 0; i < 50; i++)
        advance(fixture, 1);
    assert_int_equal(fixture->fired_count, 5);
    timer_stop(&one.timer);
}

static void late_repeating_timer_fires_once_and_keeps_its_rhythm(void **state)
{
    struct fixture *fixture = *state;
    struct numbered one;

    init_numbered(&one, fixture, 1, note);
    timer_start_repeating(&one.timer, 10);
    advance(fixture, 35);
    assert_int_equal(fixture->fired_count, 1);
    advance(fixture, 4);
    assert_int_equal(fixture->fired_count, 1);
    advance(fixture, 1);
    assert_int_equal(fixture->fired_count, 2);
    timer_stop(&one.timer);
}

static void stop_itself(void *data)
{
    struct numbered *numbered = data;

    note(numbered);
    timer_stop(&numbered->timer);
}

static void repeating_timer_may_stop_itself(void **state)
{
    struct fixture *fixture = *state;
    struct numbered one;

    init_numbered(&one, fixture, 1, stop_itself);
    timer_start_repeating(&one.timer, 10);
    advance(fixture, 10);
    advance(fixture, 100);
    assert_int_equal(fixture->fired_count, 1);
}

static void free_itself(void *data)
{
    struct numbered *numbered = data;

    note(numbered);
    timer_stop(&numbered->timer);
    free(numbered);
}

static void owner_may_be_freed_inside_its_own_callback(void **state)
{
    struct fixture *fixture = *state;
    struct numbered *once = malloc(sizeof(*once));
    struct numbered *repeating = malloc(sizeof(*repeating));

    assert_non_null(once);
    assert_non_null(repeating);
    init_numbered(once, fixture, 1, free_itself);
    init_numbered(repeating, fixture, 2, free_itself);
    timer_start(&once->timer, 10);
    timer_start_repeating(&repeating->timer, 10);
    advance(fixture, 10);
    advance(fixture, 100);
    assert_fired(fixture, 2, (int[]){1, 2});
}

static void free_the_victim(void *data)
{
    struct numbered *numbered = data;

    note(numbered);
    timer_stop(&numbered->victim->timer);
    free(numbered->victim);
}

static void owner_may_be_freed_inside_the_callback_of_another(void **state)
{
    struct fixture *fixture = *state;
    struct numbered killer;
    struct numbered last;

    init_numbered(&killer, fixture, 1, free_the_victim);
    init_numbered(&last, fixture, 3, note);
    killer.victim = malloc(sizeof(*killer.victim));
    assert_non_null(killer.victim);
    init_numbered(killer.victim, fixture, 2, note);
    timer_start(&killer.timer, 10);
    timer_start(&killer.victim->timer, 10);
    timer_start(&last.timer, 10);
    advance(fixture, 10);
    assert_fired(fixture, 2, (int[]){1, 3});
}

static void start_itself_at_once(void *data)
{
    struct numbered *numbered = data;

    note(numbered);
    timer_start(&numbered->timer, 0);
}

static void timer_that_starts_itself_at_once_waits_for_the_next_run(void **state)
{
    struct fixture *fixture = *state;
    struct numbered one, two;

    init_numbered(&one, fixture, 1, start_itself_at_once);
    init_numbered(&two, fixture, 2, note);
    timer_start(&one.timer, 10);
    timer_start(&two.timer, 10);
    advance(fixture, 10);
    assert_fired(fixture, 2, (int[]){1, 2});
    advance(fixture, 0);
    assert_fired(fixture, 3, (int[]){1, 2, 1});
    timer_stop(&one.timer);
}

/* On the machine's clock: libuv must be told, and told again, when to wake. */
static void real_loop_fires_all_and_ends_with_the_last(void **state)
{
    struct fixture fixture = {.fired_count = 0};
    struct numbered late, early, stopped;
    int64_t began_ms;

    (void)state;
    assert_int_equal(loop_new(&clock_system, &fixture.loop), 0);
    init_numbered(&late, &fixture, 1, note);
    init_numbered(&early, &fixture, 2, note);
    init_numbered(&stopped, &fixture, 3, note);
    began_ms = loop_now_ms(fixture.loop);
    timer_start(&late.timer, 8);
    timer_start(&early.timer, 3);
    timer_start(&stopped.timer, 1);
    timer_stop(&stopped.timer);
    loop_run(fixture.loop);
    assert_fired(&fixture, 2, (int[]){2, 1});
    assert_true(loop_now_ms(fixture.loop) - began_ms >= 8);
    loop_free(fixture.loop);
}

static void stopped_timer_does_not_keep_a_real_loop_running(void **state)
{
    struct fixture fixture = {.fired_count = 0};
    struct numbered hour;

    (void)state;
    assert_int_equal(loop_new(&clock_system, &fixture.loop), 0);
    init_numbered(&hour, &fixture, 1, note);
    timer_start(&hour.timer, 3600 * 1000);
    timer_stop(&hour.timer);
    loop_run(fixture.loop);
    assert_int_equal(fixture.fired_count, 0);
    loop_free(fixture.loop);
}

/*
 * The heap against a model that is too simple to be wrong: a table in which the
 * next one to fire is found by looking at all of them.
 */
enum { MODEL_TIMERS = 150, MODEL_STEPS = 20000 };

struct model_timer {
    struct timer timer;
    struct model *model;
    bool is_started;
    int64_t due_ms;
    int64_t every_ms;
    uint64_t order;
};

struct model {
    struct clock clock;
    struct loop *loop;
    struct model_timer timers[MODEL_TIMERS];
    uint64_t order;
    uint64_t random;
    uint64_t fired;
};

/* xorshift64: any seed but zero. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static struct model_timer *model_first(struct model *model)
{
    struct model_timer *first = NULL;

    for (size_t i = 0; i < MODEL_TIMERS; i++) {
        struct model_timer *timer = &model->timers[i];

        if (timer->is_started && (first == NULL || timer->due_ms < first->due_ms ||
                                  (timer->due_ms == first->due_ms && timer->order < first->order)))
            first = timer;
    }
    return first;
}

static void model_start_or_stop_one(struct model *model)
{
    struct model_timer *timer = &model->timers[next_random(&model->random) % MODEL_TIMERS];
    int64_t ms = (int64_t)(next_random(&model->random) % 40);

    switch (next_random(&model->random) % 4) {
    case 0:
        timer_stop(&timer->timer);
        timer->is_started = false;
        return;
    case 1:
        timer->every_ms = ms + 1;
        timer->due_ms = model->clock.fake_monotonic_ms + ms + 1;
        timer_start_repeating(&timer->timer, ms + 1);
        break;
    default:
        timer->every_ms = 0;
        timer->due_ms = model->clock.fake_monotonic_ms + ms;
        timer_start(&timer->timer, ms);
    }
    timer->is_started = true;
    timer->order = model->order++;
}

static void model_fire(void *data)
{
    struct model_timer *timer = data;
    struct model *model = timer->model;
    int64_t now_ms = model->clock.fake_monotonic_ms;

    model->fired++;
    assert_ptr_equal(timer, model_first(model));
    assert_true(timer->due_ms <= now_ms);
    timer->is_started = timer->every_ms > 0;
    if (timer->is_started) {
        while (timer->due_ms <= now_ms)
            timer->due_ms += timer->every_ms;
        timer->order = model->order++;
    }
    if (next_random(&model->random) % 3 == 0)
        model_start_or_stop_one(model);
}

static void random_starts_and_stops_fire_as_the_model_says(void **state)
{
    struct model *model = calloc(1, sizeof(*model));
    const char *given = getenv("GATEHOUSE_TEST_SEED");
    struct timespec now;

    (void)state;
    assert_non_null(model);
    clock_gettime(CLOCK_MONOTONIC, &now);
    model->random = given != NULL ? strtoull(given, NULL, 10)
                                  : (uint64_t)now.tv_sec * 1000000007U + (uint64_t)now.tv_nsec;
    model->random |= 1;
    print_message("GATEHOUSE_TEST_SEED=%llu\n", (unsigned long long)model->random);

    clock_fake_init(&model->clock, 0);
    assert_int_equal(loop_new(&model->clock, &model->loop), 0);
    for (size_t i = 0; i < MODEL_TIMERS; i++) {
        model->timers[i].model = model;
        timer_init(&model->timers[i].timer, model->loop, model_fire, &model->timers[i]);
    }
    for (int step = 0; step < MODEL_STEPS; step++) {
        uint64_t first_new;
        const struct model_timer *first;

        model_start_or_stop_one(model);
        if (next_random(&model->random) % 4 != 0)
            continue;
        clock_fake_advance(&model->clock, (int64_t)(next_random(&model->random) % 15));
        first_new = model->order;
        loop_run_due_timers(model->loop);
        first = model_first(model);
        assert_true(first == NULL || first->due_ms > model->clock.fake_monotonic_ms ||
                    first->order >= first_new);
    }
    assert_true(model->fired > MODEL_STEPS / 10);
    for (size_t i = 0; i < MODEL_TIMERS; i++) {
        assert_int_equal(model->timers[i].timer.is_started, model->timers[i].is_started);
        timer_stop(&model->timers[i].timer);
    }
    loop_free(model->loop);
    free(model);
}

static void count_up(void *data)
{
    size_t *count = data;

    (*count)++;
}

static double cpu_ms(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e3 + (double)used.tv_nsec / 1e6;
}

/* One timer a connection at the far end of what a server holds; a quadratic heap takes minutes. */
static void hundred_thousand_timers_are_cheap(void **state)
{
    enum { COUNT = 100000 };
    const double count = COUNT;
    const double cpu_ms_max = 10000;
    struct fixture *fixture = *state;
    struct timer *timers = calloc(COUNT, sizeof(*timers));
    size_t fired = 0;
    uint64_t random = 88172645463325252U;
    double began = cpu_ms();
    double started;
    double stopped;
    double ended;

    assert_non_null(timers);
    for (size_t i = 0; i < COUNT; i++) {
        timer_init(&timers[i], fixture->loop, count_up, &fired);
        timer_start(&timers[i], (int64_t)(next_random(&random) % 60000));
    }
    started = cpu_ms();
    for (size_t i = 0; i < COUNT; i += 2)
        timer_stop(&timers[i]);
    stopped = cpu_ms();
    advance(fixture, 60000);
    ended = cpu_ms();
    assert_int_equal(fired, COUNT / 2);
    print_message("%d timers: start %.0f ns, stop %.0f ns, fire %.0f ns each\n", COUNT,
                  (started - began) * 1e6 / count, (stopped - started) * 2e6 / count,
                  (ended - stopped) * 2e6 / count);
    assert_true(ended - began < cpu_ms_max);
    free(timers);
}

#define ON_FAKE_CLOCK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

TEST_MAIN(ON_FAKE_CLOCK(timer_fires_once_at_its_time_and_not_before),
          ON_FAKE_CLOCK(timers_fire_by_time_and_then_by_start),
          ON_FAKE_CLOCK(starting_again_moves_the_timer), ON_FAKE_CLOCK(stopped_timer_does_not_fire),
          ON_FAKE_CLOCK(time_in_the_past_means_at_once_and_far_time_means_never),
          ON_FAKE_CLOCK(repeating_timer_fires_every_period),
          ON_FAKE_CLOCK(late_repeating_timer_fires_once_and_keeps_its_rhythm),
          ON_FAKE_CLOCK(repeating_timer_may_stop_itself),
          ON_FAKE_CLOCK(owner_may_be_freed_inside_its_own_callback),
          ON_FAKE_CLOCK(owner_may_be_freed_inside_the_callback_of_another),
          ON_FAKE_CLOCK(timer_that_starts_itself_at_once_waits_for_the_next_run),
          cmocka_unit_test(real_loop_fires_all_and_ends_with_the_last),
          cmocka_unit_test(stopped_timer_does_not_keep_a_real_loop_running),
          cmocka_unit_test(random_starts_and_stops_fire_as_the_model_says),
          ON_FAKE_CLOCK(hundred_thousand_timers_are_cheap))
