/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may stand between a connection and its socket. TLS is one; a connection
 * without a filter hands the socket's bytes on as they are. A filter knows no
 * sockets and no loop: bytes go in, bytes come out through its sink, so it can
 * be tested with two of them back to back, and programs that serve plain HTTP
 * link none.
 */
#ifndef NET_FILTER_H
#define NET_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct filter;

/*
 * The connection's side. The bytes are gone when a call returns. `plain`, `ready` and `ended` may
 * send, close and free the filter; `wire` calls nothing of it.
 */
struct filter_sink {
    /* Bytes that the peer meant. */
    void (*plain)(void *data, struct str bytes);
    /* Bytes for the socket; 0 or an ERR_* code, after which nothing more is given. */
    int (*wire)(void *data, struct str bytes);
    /* Once: the peer can be written to. */
    void (*ready)(void *data);
    /* Once: the peer has said that it sends no more, so nothing of what it meant is missing. */
    void (*ended)(void *data);
    void *data;
};

struct filter_ops {
    /* Once, before all else, when the socket can be written to: a side that speaks first does. */
    int (*start)(struct filter *filter, struct err *err);
    /*
     * From the socket. An ERR_* code ends the connection; an alert may have gone out before it.
     * ERR_CANCELLED where the filter was freed meanwhile.
     */
    int (*receive)(struct filter *filter, struct str bytes, struct err *err);
    /* The socket has ended. An ERR_* code where the peer had not said so: it may have been cut. */
    int (*end)(struct filter *filter, struct err *err);
    /* Toward the peer, all of the parts, only while it is ready and before close. */
    int (*send)(struct filter *filter, const struct str *parts, size_t count);
    /* Says goodbye on the wire, where there is such a word. */
    void (*close)(struct filter *filter);
    void (*free)(struct filter *filter);
};

/* The first member of every filter. The sink is set by the owner, before the start. */
struct filter {
    const struct filter_ops *ops;
    struct filter_sink sink;
};

#endif
