/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/feeder.h"

enum { RETRY_MS = 2 };

static void feed(void *data)
{
    struct feeder *feeder = data;
    ssize_t got;

    while (feeder->run->exec != NULL && feeder->pending.len > 0) {
        got = room_exec_write(feeder->run->exec, buf_view(&feeder->pending));
        if (got < 0) {
            buf_clear(&feeder->pending); /* nobody reads any more */
            return;
        }
        if (got == 0) {
            timer_start(&feeder->retry, RETRY_MS);
            return;
        }
        buf_drop_front(&feeder->pending, (size_t)got);
    }
}

void feeder_init(struct feeder *feeder, struct run *run)
{
    feeder->run = run;
    buf_init(&feeder->pending, FEEDER_MAX_BYTES);
    timer_init(&feeder->retry, run->sandbox->service->config.loop, feed, feeder);
}

void feeder_done(struct feeder *feeder)
{
    timer_stop(&feeder->retry);
    buf_done(&feeder->pending);
}

int feeder_add(struct feeder *feeder, struct str bytes)
{
    int r = buf_append_str(&feeder->pending, bytes);

    if (r == 0)
        feed(feeder);
    return r;
}

void feeder_clear(struct feeder *feeder)
{
    timer_stop(&feeder->retry);
    buf_clear(&feeder->pending);
}
