/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/timer.h"

#include <assert.h>

#include "base/checked.h"
#include "loop/internal.h"

static bool is_before(const struct timer *a, const struct timer *b)
{
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

/* Both are roots without siblings, or NULL; the later one becomes the other's first child. */
static struct timer *meld(struct timer *a, struct timer *b)
{
    struct timer *first;
    struct timer *last;

    if (a == NULL || b == NULL)
        return a != NULL ? a : b;
    first = is_before(a, b) ? a : b;
    last = first == a ? b : a;
    last->prev = first;
    last->next = first->child;
    if (last->next != NULL)
        last->next->prev = last;
    first->child = last;
    return first;
}

/*
 * Melds a row of siblings into one heap. Melding them in pairs first, and the pairs from the last
 * to the first, keeps a removal at O(log n) on average.
 */
static struct timer *meld_siblings(struct timer *row)
{
    struct timer *pairs = NULL;
    struct timer *root = NULL;

    while (row != NULL) {
        struct timer *a = row;
        struct timer *b = a->next;

        row = b != NULL ? b->next : NULL;
        a->next = a->prev = NULL;
        if (b != NULL)
            b->next = b->prev = NULL;
        a = meld(a, b);
        a->next = pairs;
        pairs = a;
    }
    while (pairs != NULL) {
        struct timer *pair = pairs;

        pairs = pair->next;
        pair->next = NULL;
        root = meld(root, pair);
    }
    return root;
}

static void heap_remove(struct loop *loop, struct timer *timer)
{
    struct timer *rest = meld_siblings(timer->child);

    if (timer == loop->timer_root) {
        loop->timer_root = rest;
    } else {
        if (timer->prev->child == timer)
            timer->prev->child = timer->next;
        else
            timer->prev->next = timer->next;
        if (timer->next != NULL)
            timer->next->prev = timer->prev;
        loop->timer_root = meld(loop->timer_root, rest);
    }
    timer->child = timer->next = timer->prev = NULL;
    timer->is_started = false;
}

static void heap_add(struct loop *loop, struct timer *timer, int64_t due_ms)
{
    timer->due_ms = due_ms;
    timer->order = loop->timer_order++;
    timer->is_started = true;
    loop->timer_root = meld(loop->timer_root, timer);
}

static void on_wakeup(uv_timer_t *wakeup)
{
    struct loop *loop = wakeup->data;

    loop->wakeup_due_ms = INT64_MAX;
    loop_run_due_timers(loop);
}

/*
 * Stopping a timer does not move the wake-up: one idle wake-up is cheaper than moving it at every
 * stop. Only the last timer must disarm it, or the loop would stay alive for it.
 */
static void arm(struct loop *loop)
{
    const struct timer *root = loop->timer_root;
    int64_t delay_ms;

    if (loop->is_firing || loop->clock->is_fake)
        return;
    if (root == NULL) {
        loop->wakeup_due_ms = INT64_MAX;
        uv_timer_stop(&loop->wakeup);
        return;
    }
    if (root->due_ms >= loop->wakeup_due_ms)
        return;
    loop->wakeup_due_ms = root->due_ms;
    delay_ms = root->due_ms - loop_now_ms(loop);
    /* libuv counts from the time it read at the start of the turn, which may be long ago. */
    uv_update_time(&loop->uv);
    uv_timer_start(&loop->wakeup, on_wakeup, delay_ms > 0 ? (uint64_t)delay_ms : 0, 0);
}

static void start(struct timer *timer, int64_t after_ms, int64_t every_ms)
{
    struct loop *loop = timer->loop;

    if (timer->is_started)
        heap_remove(loop, timer);
    timer->every_ms = every_ms;
    heap_add(loop, timer, checked_add_ms(loop_now_ms(loop), after_ms > 0 ? after_ms : 0));
    arm(loop);
}

void timer_init(struct timer *timer, struct loop *loop, void (*fire)(void *data), void *data)
{
    *timer = (struct timer){.loop = loop, .fire = fire, .data = data};
}

void timer_start(struct timer *timer, int64_t after_ms)
{
    start(timer, after_ms, 0);
}

void timer_start_repeating(struct timer *timer, int64_t every_ms)
{
    assert(every_ms >= 1);
    start(timer, every_ms, every_ms);
}

void timer_stop(struct timer *timer)
{
    if (!timer->is_started)
        return;
    heap_remove(timer->loop, timer);
    arm(timer->loop);
}

void loop_run_due_timers(struct loop *loop)
{
    int64_t now_ms = loop_now_ms(loop);
    /*
     * Timers started from here on wait for the next run, or one that restarts itself would never
     * end.
     */
    uint64_t first_new = loop->timer_order;

    assert(!loop->is_firing && "timers fired from inside a timer");
    loop->is_firing = true;
    for (;;) {
        struct timer *timer = loop->timer_root;
        int64_t due_ms;

        /* No new one comes before an old one that is due, so the first new one ends the run. */
        if (timer == NULL || timer->due_ms > now_ms || timer->order >= first_new)
            break;
        due_ms = timer->due_ms;
        heap_remove(loop, timer);
        if (timer->every_ms > 0) {
            int64_t late_ms = (now_ms - due_ms) % timer->every_ms;

            heap_add(loop, timer, checked_add_ms(now_ms, timer->every_ms - late_ms));
        }
        /* The callback may free the timer: it is not touched after this. */
        timer->fire(timer->data);
    }
    loop->is_firing = false;
    arm(loop);
}
