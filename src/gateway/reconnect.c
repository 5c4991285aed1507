/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/reconnect.h"

#include <stdbool.h>

/* 1, 2, 4, 8, 16, 30, 30 ... seconds */
static int64_t next_delay(struct reconnect *reconnect)
{
    int64_t delay = RECONNECT_FIRST_MS;

    for (unsigned i = 0; i < reconnect->failures && delay < RECONNECT_MAX_MS; i++)
        delay *= 2;
    if (delay >= RECONNECT_MAX_MS)
        return RECONNECT_MAX_MS;
    reconnect->failures++;
    return delay;
}

static enum reconnect_action go(struct reconnect *reconnect, enum reconnect_state state,
                                enum reconnect_action action)
{
    reconnect->state = state;
    return action;
}

static enum reconnect_action wait_in(struct reconnect *reconnect, enum reconnect_state state,
                                     int64_t *out_delay_ms)
{
    *out_delay_ms = next_delay(reconnect);
    return go(reconnect, state, RECONNECT_DO_WAIT);
}

/* What ends a paired session, in every state alike. */
static bool moves_all(struct reconnect *reconnect, enum reconnect_event event,
                      enum reconnect_action *out_action)
{
    if (reconnect->state == RECONNECT_OFF || reconnect->state == RECONNECT_PAIRING ||
        reconnect->state == RECONNECT_LEAVING)
        return false;
    if (event == RECONNECT_DISMISSED) {
        *out_action = go(reconnect, RECONNECT_OFF, RECONNECT_DO_END);
        return true;
    }
    if (event == RECONNECT_LEAVE) {
        *out_action = go(reconnect, RECONNECT_LEAVING, RECONNECT_DO_TELL);
        return true;
    }
    return false;
}

static enum reconnect_action start(struct reconnect *reconnect, enum reconnect_event event)
{
    reconnect->failures = 0;
    return event == RECONNECT_PAIR ? go(reconnect, RECONNECT_PAIRING, RECONNECT_DO_INIT)
                                   : go(reconnect, RECONNECT_OPENING, RECONNECT_DO_OPEN);
}

static enum reconnect_action move_pairing(struct reconnect *reconnect, enum reconnect_event event)
{
    if (event == RECONNECT_INIT_DONE)
        return go(reconnect, RECONNECT_OPENING, RECONNECT_DO_OPEN);
    /* The caller who gave the key waits for the outcome, and decides what comes next. */
    if (event == RECONNECT_INIT_DENIED || event == RECONNECT_INIT_FAILED ||
        event == RECONNECT_LEAVE)
        return go(reconnect, RECONNECT_OFF, RECONNECT_DO_END);
    return RECONNECT_DO_NOTHING;
}

static enum reconnect_action move_opening(struct reconnect *reconnect, enum reconnect_event event,
                                          int64_t *out_delay_ms)
{
    if (event == RECONNECT_STREAM_OPENED) {
        reconnect->failures = 0;
        return go(reconnect, RECONNECT_OPEN, RECONNECT_DO_NOTHING);
    }
    if (event == RECONNECT_STREAM_DENIED)
        return wait_in(reconnect, RECONNECT_RENEW_WAITING, out_delay_ms);
    if (event == RECONNECT_STREAM_FAILED)
        return wait_in(reconnect, RECONNECT_WAITING, out_delay_ms);
    return RECONNECT_DO_NOTHING;
}

static enum reconnect_action move_open(struct reconnect *reconnect, enum reconnect_event event,
                                       int64_t *out_delay_ms)
{
    if (event != RECONNECT_STREAM_ENDED)
        return RECONNECT_DO_NOTHING;
    /* It was open a moment ago, so this is no failure yet. */
    *out_delay_ms = RECONNECT_FIRST_MS;
    return go(reconnect, RECONNECT_WAITING, RECONNECT_DO_WAIT);
}

static enum reconnect_action move_waiting(struct reconnect *reconnect, enum reconnect_event event)
{
    if (reconnect->state == RECONNECT_REFUSED && event == RECONNECT_PAIR)
        return start(reconnect, event);
    if (event != RECONNECT_DELAY_OVER)
        return RECONNECT_DO_NOTHING;
    return reconnect->state == RECONNECT_WAITING
               ? go(reconnect, RECONNECT_OPENING, RECONNECT_DO_OPEN)
               : go(reconnect, RECONNECT_RENEWING, RECONNECT_DO_INIT);
}

static enum reconnect_action move_renewing(struct reconnect *reconnect, enum reconnect_event event,
                                           int64_t *out_delay_ms)
{
    if (event == RECONNECT_INIT_DONE)
        return go(reconnect, RECONNECT_OPENING, RECONNECT_DO_OPEN);
    if (event == RECONNECT_INIT_DENIED)
        return wait_in(reconnect, RECONNECT_REFUSED, out_delay_ms);
    if (event == RECONNECT_INIT_FAILED)
        return wait_in(reconnect, RECONNECT_RENEW_WAITING, out_delay_ms);
    return RECONNECT_DO_NOTHING;
}

enum reconnect_action reconnect_move(struct reconnect *reconnect, enum reconnect_event event,
                                     int64_t *out_delay_ms)
{
    enum reconnect_action action;

    if (moves_all(reconnect, event, &action))
        return action;
    switch (reconnect->state) {
    case RECONNECT_OFF:
        if (event == RECONNECT_PAIR || event == RECONNECT_RESUME)
            return start(reconnect, event);
        return RECONNECT_DO_NOTHING;
    case RECONNECT_PAIRING:
        return move_pairing(reconnect, event);
    case RECONNECT_OPENING:
        return move_opening(reconnect, event, out_delay_ms);
    case RECONNECT_OPEN:
        return move_open(reconnect, event, out_delay_ms);
    case RECONNECT_WAITING:
    case RECONNECT_RENEW_WAITING:
    case RECONNECT_REFUSED:
        return move_waiting(reconnect, event);
    case RECONNECT_RENEWING:
        return move_renewing(reconnect, event, out_delay_ms);
    case RECONNECT_LEAVING:
        if (event == RECONNECT_LEFT)
            return go(reconnect, RECONNECT_OFF, RECONNECT_DO_END);
        return RECONNECT_DO_NOTHING;
    }
    return RECONNECT_DO_NOTHING;
}
