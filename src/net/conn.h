/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream over a connected socket, TCP or Unix, on the loop. It is embedded in its owner. All
 * connections of a loop read through one buffer, and bytes that the peer does not take at once are
 * kept up to a limit, in memory that exists only meanwhile: an idle connection holds its handle and
 * little else. The owner interprets the bytes.
 *
 * What is sent in one turn of the loop may wait for its end: then all peers are written to, one
 * right after the other, which wakes a process with many of them once instead of again and again.
 *
 * Callbacks never come from inside a call, except those caused by a filter; conn_close() is allowed
 * in each of them, and after it only on_closed follows.
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
    CONN_MAX_PARTS = 16,          /* of one send */
    CONN_QUEUE_BYTES = 128 << 10, /* of all sends of a turn */
    CONN_QUEUE_SENDS = 256,
    CONN_QUEUED_MAX_BYTES = 16 << 10, /* of one; larger ones do not wait */
};

struct conn;

struct conn_events {
    /* Some bytes, which are invalid after it returns. */
    void (*on_bytes)(struct conn *conn, struct str bytes);
    /*
     * 0: the peer sends no more, but may still read. An ERR_* code: it is gone. Each at most once.
     */
    void (*on_end)(struct conn *conn, int error);
    /* The filter reports that the peer can be written to. May be NULL. */
    void (*on_ready)(struct conn *conn);
    /* All kept bytes were taken by the system. */
    void (*on_drained)(struct conn *conn);
    /*
     * Bytes are kept after all, which conn_kept() did not tell after the send. If it is NULL, sends
     * do not wait for the end of the turn.
     */
    void (*on_kept)(struct conn *conn);
    /* Called last: the owner's memory may be freed. */
    void (*on_closed)(struct conn *conn);
    /* Of the struct that begins with the connection, and is used with every read; or 0. */
    size_t owner_bytes;
};

/*
 * The read buffer that connections share; reference-counted. The process ignores SIGPIPE from the
 * first one on.
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
    struct filter *filter;  /* or NULL; owned by the connection */
    struct conn_kept *kept; /* bytes that wait for the peer; or NULL */
    size_t max_kept;
    bool is_reading : 1;
    bool has_ended : 1;  /* no more input */
    bool is_broken : 1;  /* no more output */
    bool is_closing : 1; /* only on_closed follows */
    bool has_shut : 1;   /* we send no more */
    bool wants_shut : 1; /* shut down once nothing is kept */
    bool is_queued : 1;  /* in the space's queue */
};

/*
 * Takes ownership of the fd, a connected stream socket, even on failure. Reading starts with
 * conn_resume(). At most max_kept bytes wait for the peer.
 */
int conn_init(struct conn *conn, struct loop *loop, struct conn_space *space, int fd,
              size_t max_kept, const struct conn_events *events);

/*
 * Installs and starts a filter between the socket and the owner, before the first byte or when both
 * sides agreed on it and nothing is in transit; sets its sink. The connection owns it, even after
 * an ERR_* code, after which it must be closed.
 */
int conn_set_filter(struct conn *conn, struct filter *filter);

/* User of the process that connected, for a Unix socket; else ERR_UNSUPPORTED. */
int conn_peer_uid(const struct conn *conn, uid_t *out_uid);

void conn_pause(struct conn *conn);
void conn_resume(struct conn *conn);

/*
 * Sends all parts, concatenated, or nothing: ERR_TOO_LARGE if they exceed the limit together with
 * the kept bytes. After any other error, such as ERR_IO for a peer that is gone, nothing more can
 * be sent.
 */
int conn_send(struct conn *conn, const struct str *parts, size_t count);

/* Writes what waits for the end of the turn; conn_kept() tells what is left. */
void conn_flush(struct conn *conn);

/* Bytes not yet taken by the system, except for those that wait for the end of the turn. */
size_t conn_kept(const struct conn *conn);

/* Shuts down sending after the kept bytes; the peer may go on sending. */
void conn_shut(struct conn *conn);

/* Closes at once; kept bytes are lost. May be called twice. */
void conn_close(struct conn *conn);

#endif
