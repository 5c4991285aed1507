/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of a sandbox into files. A descriptor of a file would let the command do more than write:
 * read it, shorten it, change its mode. So the command gets a pipe, and we copy.
 */
#ifndef PROGRAMS_GATEHOUSE_OUTPUTS_H
#define PROGRAMS_GATEHOUSE_OUTPUTS_H

#include <stdbool.h>

#include "base/err.h"

enum { OUTPUTS_STREAMS = 3 };

struct outputs {
    int from[OUTPUTS_STREAMS];  /* what the command wrote; -1: none, or at its end */
    int given[OUTPUTS_STREAMS]; /* the command's ends, until it has started; or -1 */
    int errno_value;            /* of a write that failed */
};

#define OUTPUTS_INIT                                                                               \
    {                                                                                              \
        .from = {-1, -1, -1}, .given = { -1, -1, -1 }                                              \
    }

/*
 * Replaces those of our standard streams in fds that are files and open for writing. Streams that
 * share one open file, as with 2>&1, share a pipe, so that the order stays.
 */
int outputs_open(struct outputs *outputs, int fds[OUTPUTS_STREAMS], struct err *err);

/* Call when the command has started, or has failed to. */
void outputs_give(struct outputs *outputs);

/* Copies what is there, one piece at most; call when the descriptor is readable. */
void outputs_copy(struct outputs *outputs, int stream);

/* Copies what is left when the command has ended, and closes everything. */
void outputs_finish(struct outputs *outputs);

#endif
