/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user has agreed to, at work: the folder's toolhost, the rules, the record, the calls and
 * the connection that they come by. Made when he has said yes; it outlives sessions with the
 * server.
 */
#ifndef DAEMON_SESSION_H
#define DAEMON_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/secret.h"
#include "daemon/kept.h"
#include "daemon/wishes.h"
#include "loop/loop.h"
#include "net/httpurl.h"
#include "permission/desk.h"

struct session;

struct session_config {
    struct loop *loop;
    const struct log *log;
    const struct wishes *wishes; /* as they were agreed to */
    struct desk *desk;           /* NULL: the instance asks */
    struct httpurl url;
    const struct secret *key;   /* a pairing token or a static key; copied; empty: only resumes */
    const struct kept *resumed; /* a session from before; or NULL */
    const char *terms;          /* what was agreed to, as kept.h has it; outlives the session */
    bool keeps;                 /* the session for the next start */
    const char *libexec;
    uint64_t max_file_bytes;
    uint64_t max_lines;
    bool shell_has_network;
    const char *const *shell_writable; /* up to a NULL; or NULL */
    int64_t shell_timeout_ms;
    /* Once: 0 when the user has left, else why it could not be begun. */
    void (*on_over)(void *data, int code, const struct err *err);
    void *data;
};

/* What is wrong with the folder comes out at once, with words; the rest by on_over. */
int session_new(const struct session_config *config, struct session **out_session, struct err *err);
/* Without a word to the server: a session that is kept goes on with the next start. */
void session_free(struct session *session);

/* Tells the server, then on_over. */
void session_leave(struct session *session);

#endif
