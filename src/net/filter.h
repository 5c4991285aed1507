/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer between a connection and its socket, such as TLS; without a filter the socket's bytes are
 * passed on unchanged. A filter knows no sockets and no loop: bytes go in, bytes come out through
 * its sink, so that it can be tested with two of them back to back, and programs that serve plain
 * HTTP link none.
 */
#ifndef NET_FILTER_H
#define NET_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct filter;

/*
 * Callbacks of the connection. The bytes are invalid after a call returns. `plain`, `ready` and
 * `ended` may send, close and free the filter; `wire` must not call it.
 */
struct filter_sink {
    /* Decoded bytes from the peer. */
    void (*plain)(void *data, struct str bytes);
    /* Bytes for the socket; returns 0 or an ERR_* code, after which it is not called again. */
    int (*wire)(void *data, struct str bytes);
    /* Called once: the peer can be written to. */
    void (*ready)(void *data);
    /* Called once: the peer has announced its end, so nothing is missing. */
    void (*ended)(void *data);
    void *data;
};

struct filter_ops {
    /*
     * Called once, before anything else, when the socket can be written to: the side that talks
     * first sends.
     */
    int (*start)(struct filter *filter, struct err *err);
    /*
     * Bytes from the socket. An ERR_* code ends the connection; an alert may have been sent before.
     * ERR_CANCELLED if the filter was freed meanwhile.
     */
    int (*receive)(struct filter *filter, struct str bytes, struct err *err);
    /* The socket has ended. An ERR_* code if the peer had not announced it: data may be missing. */
    int (*end)(struct filter *filter, struct err *err);
    /* Sends all parts to the peer; only while ready and before close. */
    int (*send)(struct filter *filter, const struct str *parts, size_t count);
    /* Sends a closing message, if the protocol has one. */
    void (*close)(struct filter *filter);
    void (*free)(struct filter *filter);
};

/* First member of every filter. The owner sets the sink before the start. */
struct filter {
    const struct filter_ops *ops;
    struct filter_sink sink;
};

#endif
