/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects a running sandbox with whoever waits for it: forwards signals and, if our streams are a
 * terminal, copies input to the sandbox's own terminal and its output back; and copies output into
 * files.
 */
#ifndef PROGRAMS_GATEHOUSE_FOLLOW_H
#define PROGRAMS_GATEHOUSE_FOLLOW_H

#include "isolate/box/box.h"
#include "programs/gatehouse/outputs.h"

struct follow_terminal {
    int fd; /* one of our streams that is a terminal; -1: none */
    unsigned short rows;
    unsigned short columns;
};

/* Checks file descriptors 0, 1 and 2. */
struct follow_terminal follow_find_terminal(void);

/* What the sandbox gets for each of them: the fd itself, or BOX_FD_PTY for a terminal. */
void follow_streams(int out_fds[3]);

/* Blocks the signals that follow_box() forwards; call it before the sandbox starts. */
int follow_prepare(struct err *err);

/*
 * Waits for the end; kills the sandbox after timeout_ms (0: no limit), and returns true if it did.
 */
bool follow_box(struct box *box, struct box_process *process,
                const struct follow_terminal *terminal, struct outputs *outputs, int64_t timeout_ms,
                struct box_end *out_end);

#endif
