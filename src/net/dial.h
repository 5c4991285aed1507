/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connected socket to a host. Names are looked up by threads, since the system's resolver blocks
 * and may hang; addresses are tried one after the other. What is spoken then is the caller's.
 */
#ifndef NET_DIAL_H
#define NET_DIAL_H

#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"
#include "loop/loop.h"

enum {
    DIAL_MAX_ADDRESSES = 8, /* of one name; more are left out */
    DIAL_MAX_LOOKUPS = 64,  /* that wait at a time */
    /* For one address while there are others; the last one has all the time that is left. */
    DIAL_ATTEMPT_MS = 3000,
    DIAL_LOOKUP_MS = 20000,
};

struct dial_addresses {
    struct sockaddr_storage list[DIAL_MAX_ADDRESSES];
    size_t count;
};

/* On a thread: 0, ERR_HOST_UNKNOWN or another code. It gets no numeric addresses to look up. */
typedef int dial_lookup_fn(const char *host, uint16_t port, struct dial_addresses *out_addresses);

struct dialer;

/* `lookup` is NULL for the system's. */
int dialer_new(struct loop *loop, dial_lookup_fn *lookup, struct dialer **out_dialer);

/* Every dial must be over or cancelled. Waits a moment for threads; those that hang are left. */
void dialer_free(struct dialer *dialer);

struct dial;

/*
 * `host` is a name or an address without brackets. on_done comes once, never from inside a call:
 * 0 and the socket, which becomes its receiver's, or ERR_HOST_UNKNOWN, ERR_UNREACHABLE and -1. The
 * dial is gone by then. A deadline is the caller's.
 */
int dial_start(struct dialer *dialer, const char *host, uint16_t port,
               void (*on_done)(void *data, int error, int fd), void *data, struct dial **out_dial);

/* on_done does not come. */
void dial_cancel(struct dial *dial);

#endif
