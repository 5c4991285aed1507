/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of programs/connect/hostlink share, and nobody else needs. */
#ifndef PROGRAMS_CONNECT_HOSTLINK_INTERNAL_H
#define PROGRAMS_CONNECT_HOSTLINK_INTERNAL_H

#include "base/map.h"
#include "loop/child.h"
#include "loop/reader.h"
#include "loop/timer.h"
#include "loop/writer.h"
#include "programs/connect/hostlink.h"
#include "protocol/toolwire.h"

enum {
    HOSTLINK_ARENA_BYTES = 4 << 20, /* of what it says about itself */
    HOSTLINK_MOST_TOOLS = 256,
};

enum link_state {
    LINK_ABSENT,   /* waits for the next try */
    LINK_STARTING, /* not ready yet; calls are on their way all the same */
    LINK_READY,
};

struct hostlink {
    struct executor executor; /* the first member: see hostlink_calls.c */
    struct hostlink_config config;
    enum link_state state;
    pid_t pid;
    struct child *child;
    int fd;
    int fd_again; /* libuv wants a descriptor for each direction */
    struct reader *reader;
    struct writer *writer;
    struct toolwire_decoder decoder;
    struct timer wait; /* for READY, or for the next try */
    struct loop_task replace;
    int64_t since_ms;
    int64_t delay_ms;
    bool has_begun;
    bool has_tool[HOSTLINK_MOST_TOOLS];
    struct map calls;
    uint32_t last_number;
};

/* ---- the process ---- */

/* ERR_BUSY without one. */
int hostlink_send(struct hostlink *link, uint32_t number, enum toolwire_type type, struct str body);
/* Another one is started, from the loop. */
void hostlink_replace_soon(struct hostlink *link);
/* The same, for one that would not see the end of its socket. */
void hostlink_kill(struct hostlink *link);

/* ---- calls ---- */

/*
 *   PREPARING -> PREPARED -> RUNNING
 *                 | ^  `-> PREVIEWING
 *                 | `-------'
 *   and from each of them to OVER; what is not prepared by way of CANCELLED, which waits for the
 *   last answer, since a toolhost that hangs gives none
 */
enum host_phase {
    PHASE_PREPARING,
    PHASE_PREPARED,
    PHASE_PREVIEWING,
    PHASE_RUNNING,
    PHASE_CANCELLED,
    PHASE_OVER,
};

/* What is touched, as the record names it. */
struct touched {
    enum authority_operation operation;
    struct str name;
    uint64_t request_id; /* of the intent */
};

struct host_work {
    struct work work; /* the first member: see hostlink_calls.c */
    struct hostlink *link;
    uint32_t number;
    enum host_phase phase;
    bool has_run; /* was sent RUN: what it did may be there */
    struct timer late;
    struct touched *touched;
    size_t touched_count;
    bool deletes;
};

extern const struct executor_ops hostlink_ops;

/* An error for a frame that does not belong where its call stands. */
int hostlink_take_frame(struct hostlink *link, const struct toolwire_frame *frame, struct err *err);
/* One of them would change something and has begun, or its end is not known. */
bool hostlink_may_be_changing(const struct hostlink *link);
/* All of them, which are gone then. */
void hostlink_fail_calls(struct hostlink *link);
void hostlink_free_calls(struct hostlink *link);

/* ---- what it says ---- */

/* Keeps which tools it has. */
int hostlink_read_ready(struct hostlink *link, struct str body, struct err *err);
void hostlink_read_error(struct str body, struct err *out_err, bool *out_has_begun);
/* Into the work: what it is about; what it would do. */
int hostlink_read_prepared(struct host_work *work, struct str body, struct err *err);
int hostlink_read_previewed(struct host_work *work, struct str body, struct err *err);

/* ---- the record ---- */

/* One that fails means that nothing may be done. */
int hostlink_note_intents(struct host_work *work);
/* How it ended; err is NULL where there is a result. */
void hostlink_note_end(struct host_work *work, struct str result, const struct err *err,
                       bool has_begun);
void hostlink_note_refusal(struct work *data);

#endif
