/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between a box that runs and whoever waits for it: signals go in, and where our streams are a
 * terminal, what is typed goes to the box's own and what it shows comes back.
 */
#ifndef PROGRAMS_GATEHOUSE_FOLLOW_H
#define PROGRAMS_GATEHOUSE_FOLLOW_H

#include "isolate/box/box.h"

struct follow_terminal {
    int fd; /* of ours that is a terminal; -1: none is */
    unsigned short rows;
    unsigned short columns;
};

/* Looks at 0, 1 and 2. */
struct follow_terminal follow_find_terminal(void);

/* What the box gets for each of them: the descriptor itself, or BOX_FD_PTY for a terminal. */
void follow_streams(int out_fds[3]);

/* Blocks the signals that follow_box() passes on: before the box starts. */
int follow_prepare(struct err *err);

/* Until the end; kills the box when the time is over. 0: no limit. True when it was. */
bool follow_box(struct box_process *process, const struct follow_terminal *terminal,
                int64_t timeout_ms, struct box_end *out_end);

#endif
