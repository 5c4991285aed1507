/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream over a connected socket, TCP or Unix, on the loop. It lives inside its owner. All
 * connections of a loop read through one buffer, and what the peer does not take at once is kept up
 * to a ceiling, in memory that exists only meanwhile: an idle connection holds its handle and
 * little else. What the bytes mean is the owner's.
 *
 * Callbacks never come from inside a call, but for those that a filter causes; conn_close() is
 * allowed in each of them, and after it only on_closed comes.
 */
#ifndef NET_CONN_H
#define NET_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <uv.h>

#include "base/str.h"
#include "loop/loop.h"
#include "net/filter.h"

enum {
    CONN_READ_BYTES = 64 << 10,
    CONN_MAX_PARTS = 16, /* of one send */
};

struct conn;

struct conn_events {
    /* Some bytes, which are gone when it returns. */
    void (*on_bytes)(struct conn *conn, struct str bytes);
    /* 0: the peer sends no more, but may still read. An ERR_* code: it is gone. Each once. */
    void (*on_end)(struct conn *conn, int error);
    /* The filter says that the peer can be written to. May be NULL. */
    void (*on_ready)(struct conn *conn);
    /* All that was kept has been taken by the system. */
    void (*on_drained)(struct conn *conn);
    /* The last one: the owner's memory may go. */
    void (*on_closed)(struct conn *conn);
};

/*
 * The buffer that connections share. Counted: it lives as long as one of them. The process ignores
 * SIGPIPE from the first one on.
 */
struct conn_space;

int conn_space_new(struct conn_space **out_space);
struct conn_space *conn_space_ref(struct conn_space *space);
void conn_space_unref(struct conn_space *space);
/* Bytes that wait for peers, of all connections that share it. */
size_t conn_space_kept(const struct conn_space *space);

struct conn_kept;

struct conn {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    };
    const struct conn_events *events;
    struct conn_space *space;
    struct filter *filter;  /* NULL without one; the connection's */
    struct conn_kept *kept; /* what waits for the peer; NULL when nothing does */
    size_t max_kept;
    bool is_reading : 1;
    bool has_ended : 1;  /* nothing comes any more */
    bool is_broken : 1;  /* nothing goes any more */
    bool is_closing : 1; /* only on_closed is left */
    bool has_shut : 1;   /* we send no more */
    bool wants_shut : 1; /* as soon as nothing is kept */
};

/*
 * The fd is a connected stream socket and becomes the connection's, also on failure. Reading begins
 * with conn_resume(). At most max_kept bytes wait for the peer.
 */
int conn_init(struct conn *conn, struct loop *loop, struct conn_space *space, int fd,
              size_t max_kept, const struct conn_events *events);

/*
 * Puts a filter between the socket and the owner and starts it, before the first byte or where both
 * sides agreed on it and nothing is under way; its sink is set here. It is the connection's, also
 * after an ERR_* code, which leaves nothing but to close.
 */
int conn_set_filter(struct conn *conn, struct filter *filter);

/* Of the process that connected, where this is a Unix socket; ERR_UNSUPPORTED where it is not. */
int conn_peer_uid(const struct conn *conn, uid_t *out_uid);

void conn_pause(struct conn *conn);
void conn_resume(struct conn *conn);

/*
 * All of the parts, one behind the other, or nothing: ERR_TOO_LARGE when they and what is kept pass
 * the ceiling. After any other error, such as ERR_IO for a peer that is gone, nothing more goes.
 */
int conn_send(struct conn *conn, const struct str *parts, size_t count);

/* Bytes that the peer's system has not taken from us. */
size_t conn_kept(const struct conn *conn);

/* After what is kept, says that no more comes; the peer may go on sending. */
void conn_shut(struct conn *conn);

/* At once; what is kept is lost. Harmless the second time. */
void conn_close(struct conn *conn);

#endif
