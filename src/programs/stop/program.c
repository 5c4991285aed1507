/* SPDX-License-Identifier: Apache-2.0 */
/* gatehouse-stop: takes mouse and keyboard away from all agents of this user. */
#include <stdio.h>
#include <time.h>

#include "asking/noticeboard.h"
#include "base/clock.h"
#include "cli/runner.h"
#include "cli/stopinput.h"

enum { WAIT_MS = 10000, LOOK_MS = 10 };

/* Until everybody has released what he held. */
static bool wait_for_end(const struct noticeboard *board)
{
    const struct timespec step = {.tv_nsec = LOOK_MS * 1000000L};
    int64_t end_ms = clock_monotonic_ms(&clock_system) + WAIT_MS;

    while (noticeboard_has_input(board)) {
        if (clock_monotonic_ms(&clock_system) >= end_ms)
            return false;
        nanosleep(&step, NULL);
    }
    return true;
}

static int stop(const struct noticeboard *board, struct err *err)
{
    int r;

    if (!noticeboard_has_input(board)) {
        puts("No agent uses mouse and keyboard.");
        return 0;
    }
    r = noticeboard_call(board);
    if (r < 0)
        return err_set_plain(err, r);
    if (!wait_for_end(board))
        return err_set(err, ERR_TIMED_OUT,
                       "a gatehouse-screen process does not answer: end it with kill");
    puts("Stopped: mouse and keyboard are yours again, until you start a new session.");
    return 0;
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    struct noticeboard board = NOTICEBOARD_INIT;
    int r = noticeboard_open(&board, err);

    (void)values;
    (void)arena;
    if (r == 0)
        r = stop(&board, err);
    noticeboard_close(&board);
    return r;
}

static const struct runner runner = {
    .program = STOP_PROGRAM,
    .title = "gatehouse stop",
    .see = "'gatehouse stop --help'",
    .command = STOP_COMMAND,
    .run = run,
};

int main(int argc, char **argv)
{
    return runner_main(&runner, argc, argv);
}
