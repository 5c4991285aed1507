/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a connected socket to a host. Threads look up names, since the system's resolver blocks and
 * may hang; addresses are tried one after the other. The protocol is up to the caller.
 */
#ifndef NET_DIAL_H
#define NET_DIAL_H

#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"
#include "loop/loop.h"

enum {
    DIAL_MAX_ADDRESSES = 8, /* of one name; others are ignored */
    DIAL_MAX_LOOKUPS = 64,  /* waiting at a time */
    /* For one address if there are others; the last one gets all the remaining time. */
    DIAL_ATTEMPT_MS = 3000,
    DIAL_LOOKUP_MS = 20000,
};

struct dial_addresses {
    struct sockaddr_storage list[DIAL_MAX_ADDRESSES];
    size_t count;
};

/*
 * Runs on a thread; returns 0, ERR_HOST_UNKNOWN or another code. Not called for numeric addresses.
 */
typedef int dial_lookup_fn(const char *host, uint16_t port, struct dial_addresses *out_addresses);

struct dialer;

/* `lookup` is NULL for the system's resolver. */
int dialer_new(struct loop *loop, dial_lookup_fn *lookup, struct dialer **out_dialer);

/*
 * Every dial must have finished or been cancelled. Waits briefly for threads; hanging ones are
 * left.
 */
void dialer_free(struct dialer *dialer);

struct dial;

/*
 * `host` is a name or an address without brackets. on_done is called once, never from inside a
 * call: with 0 and the socket, which the receiver owns, or ERR_HOST_UNKNOWN, ERR_UNREACHABLE and
 * -1. The dial is freed by then. The caller keeps a deadline.
 */
int dial_start(struct dialer *dialer, const char *host, uint16_t port,
               void (*on_done)(void *data, int error, int fd), void *data, struct dial **out_dial);

/* on_done is not called. */
void dial_cancel(struct dial *dial);

#endif
