/* SPDX-License-Identifier: Apache-2.0 */
#include "net/deadlines.h"

#include <assert.h>

#include "base/checked.h"

static struct deadline *first_of(const struct deadline_ring *ring)
{
    return list_entry(ring->waiting.next, struct deadline, node);
}

static void fire(void *data)
{
    struct deadlines *set = data;
    int64_t now_ms = loop_now_ms(set->loop);
    int64_t next_ms = INT64_MAX;
    unsigned expired = 0;

    for (size_t i = 0; i < set->ring_count; i++) {
        struct deadline_ring *ring = &set->rings[i];

        while (!list_is_empty(&ring->waiting) && first_of(ring)->due_ms <= now_ms &&
               expired++ < DEADLINES_A_TURN) {
            struct deadline *deadline = first_of(ring);

            list_remove(&deadline->node);
            ring->expire(deadline);
        }
    }
    for (size_t i = 0; i < set->ring_count; i++) {
        const struct deadline_ring *ring = &set->rings[i];

        if (!list_is_empty(&ring->waiting) && first_of(ring)->due_ms < next_ms)
            next_ms = first_of(ring)->due_ms;
    }
    if (next_ms != INT64_MAX)
        timer_start(&set->timer, next_ms - now_ms);
}

void deadlines_init(struct deadlines *set, struct loop *loop)
{
    set->loop = loop;
    set->ring_count = 0;
    timer_init(&set->timer, loop, fire, set);
}

void deadlines_done(struct deadlines *set)
{
    for (size_t i = 0; i < set->ring_count; i++)
        assert(list_is_empty(&set->rings[i].waiting) && "a deadline was left waiting");
    timer_stop(&set->timer);
}

struct deadline_ring *deadlines_add_ring(struct deadlines *set, int64_t after_ms,
                                         void (*expire)(struct deadline *deadline))
{
    struct deadline_ring *ring = &set->rings[set->ring_count];

    assert(set->ring_count < DEADLINES_MAX_RINGS && after_ms >= 1);
    set->ring_count++;
    ring->set = set;
    ring->after_ms = after_ms;
    ring->expire = expire;
    list_init(&ring->waiting);
    return ring;
}

void deadline_init(struct deadline *deadline)
{
    list_init(&deadline->node);
}

void deadline_start(struct deadline_ring *ring, struct deadline *deadline)
{
    struct deadlines *set = ring->set;

    list_remove(&deadline->node);
    deadline->due_ms = checked_add_ms(loop_now_ms(set->loop), ring->after_ms);
    list_append(&ring->waiting, &deadline->node);
    /* A timer that is early costs one look; it is not moved back when deadlines are stopped. */
    if (!set->timer.is_started || set->timer.due_ms > deadline->due_ms)
        timer_start(&set->timer, ring->after_ms);
}

void deadline_ring_hasten(struct deadline_ring *ring, int64_t waited_ms)
{
    int64_t until_ms = loop_now_ms(ring->set->loop) + ring->after_ms - waited_ms;

    assert(waited_ms >= 1);
    while (!list_is_empty(&ring->waiting) && first_of(ring)->due_ms <= until_ms) {
        struct deadline *deadline = first_of(ring);

        list_remove(&deadline->node);
        ring->expire(deadline);
    }
}

void deadline_stop(struct deadline *deadline)
{
    list_remove(&deadline->node);
}
