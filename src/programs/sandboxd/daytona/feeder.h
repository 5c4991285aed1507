/* SPDX-License-Identifier: Apache-2.0 */
/* Input for a command that runs: kept until the command has taken it, in order, up to a limit. */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_FEEDER_H
#define PROGRAMS_SANDBOXD_DAYTONA_FEEDER_H

#include "base/buf.h"
#include "loop/timer.h"
#include "programs/sandboxd/run.h"

enum { FEEDER_MAX_BYTES = 4 << 20 };

struct feeder {
    struct run *run;
    struct buf pending;
    struct timer retry;
};

void feeder_init(struct feeder *feeder, struct run *run);
void feeder_done(struct feeder *feeder);

/* ERR_TOO_LARGE: the command does not read what it got before. */
int feeder_add(struct feeder *feeder, struct str bytes);
/* Forgets what was not taken. */
void feeder_clear(struct feeder *feeder);

#endif
