/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/throttle.h"

#include <stdlib.h>

#include "base/hash.h"

static size_t place_of(struct str key)
{
    return hash_str(hash_process_key(), key) % THROTTLE_PLACES;
}

struct throttle *throttle_new(int64_t at_once, int64_t interval_ms)
{
    struct throttle *throttle = calloc(1, sizeof(*throttle));

    if (throttle != NULL) {
        throttle->at_once = at_once;
        throttle->interval_ms = interval_ms;
    }
    return throttle;
}

bool throttle_has(const struct throttle *throttle, struct str key, int64_t now_ms,
                  int64_t *out_wait_ms)
{
    int64_t full_at_ms = throttle->full_at_ms[place_of(key)];
    int64_t wait_ms = full_at_ms - now_ms - (throttle->at_once - 1) * throttle->interval_ms;

    if (wait_ms <= 0)
        return true;
    *out_wait_ms = wait_ms;
    return false;
}

bool throttle_take(struct throttle *throttle, struct str key, int64_t now_ms, int64_t *out_wait_ms)
{
    int64_t *full_at_ms = &throttle->full_at_ms[place_of(key)];

    if (!throttle_has(throttle, key, now_ms, out_wait_ms))
        return false;
    *full_at_ms = (*full_at_ms > now_ms ? *full_at_ms : now_ms) + throttle->interval_ms;
    return true;
}

void throttle_give_back(struct throttle *throttle, struct str key)
{
    throttle->full_at_ms[place_of(key)] -= throttle->interval_ms;
}
