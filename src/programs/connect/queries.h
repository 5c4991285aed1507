/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server of ours may ask about this machine, for its user's page: the stored rules, the
 * audit log of this folder, a report of this session, background commands, the session. Everything
 * is read here and nothing about files. Two answers change something: a rule is revoked, a command
 * is stopped.
 *
 * The server is not trusted with more than its user could do here without being asked: it may take
 * permissions away. A deny rule is only removed if the user allowed lasting decisions from there.
 */
#ifndef PROGRAMS_CONNECT_QUERIES_H
#define PROGRAMS_CONNECT_QUERIES_H

#include "base/jsonwrite.h"
#include "base/log.h"
#include "gateway/event.h"
#include "programs/connect/calls.h"
#include "session/session.h"

struct queries;

enum {
    QUERIES_MAX_WAITING = 15,
    QUERIES_MAX_CALLS = 500, /* of the audit log in one answer */
    QUERIES_MAX_RESULT_BYTES = 4 << 20,
};

struct queries_config {
    struct loop *loop;
    const struct log *log;
    struct session *session; /* must outlive it, and a thread that hangs */
    const char *name;        /* of the session in the audit log; likewise */
    struct calls *calls;
    bool may_widen; /* the user lets the server's page make lasting decisions */
    /* Writes the members of the answer to "session". */
    void (*describe)(void *data, struct json_writer *json);
    void (*answer)(void *data, struct str id, struct str result);
    void *data;
};

int queries_new(const struct queries_config *config, struct queries **out_queries);
/* Starts nothing more. False if a thread hangs: what it was given must not be freed. */
bool queries_stop(struct queries *queries);
/* Call after queries_stop(). */
void queries_free(struct queries *queries);

/* Answers by its id, now or later. */
void queries_take(struct queries *queries, const struct gateway_call *query);

#endif
