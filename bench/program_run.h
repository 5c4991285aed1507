/* SPDX-License-Identifier: Apache-2.0 */
/* A whole program, from exec to exit, with all that it says. */
#ifndef BENCH_PROGRAM_RUN_H
#define BENCH_PROGRAM_RUN_H

#include "base/buf.h"

enum { PROGRAM_RUN_ARGUMENTS = 16, PROGRAM_RUN_ANSWER_BYTES = 64 << 20 };

struct program_run {
    const char *arguments[PROGRAM_RUN_ARGUMENTS]; /* up to a NULL */
    int worst_status;                             /* that is none of failure */
    struct buf answer; /* of the last run; PROGRAM_RUN_ANSWER_BYTES are enough */
    long peak_kb;      /* the largest of all runs */
};

/* Ends the benchmark where the program fails. */
void program_run(struct program_run *run);

#endif
