/* SPDX-License-Identifier: Apache-2.0 */
/* Passes bytes between two sockets, both ways, until both have ended. */
#ifndef ISOLATE_PUMP_H
#define ISOLATE_PUMP_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

enum { PUMP_BYTES = 32 << 10, PUMP_ENDS = 2 };

/* What was read from one end and not written to the other. */
struct pump_half {
    char *bytes;
    size_t start;
    size_t len;
    bool is_ended; /* nothing more comes */
    bool is_shut;  /* and the other end was told */
};

struct pump {
    int fds[PUMP_ENDS];
    struct pump_half halves[PUMP_ENDS]; /* from this end to the other */
};

/* The sockets may block. False without memory; they stay the caller's then. */
bool pump_open(struct pump *pump, int a, int b);
/* Closes both; hard: whoever reads sees a reset, not the end. */
void pump_close(struct pump *pump, bool is_hard);
void pump_close_socket(int fd, bool is_hard);

/* An end that nothing is wanted from is left out, or its hang-up would come again and again. */
void pump_waits(const struct pump *pump, struct pollfd waits[PUMP_ENDS]);
/* False if one end is broken. */
bool pump_work(struct pump *pump, const struct pollfd waits[PUMP_ENDS]);
bool pump_is_over(const struct pump *pump);

#endif
