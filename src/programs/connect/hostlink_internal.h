/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to programs/connect/hostlink. */
#ifndef PROGRAMS_CONNECT_HOSTLINK_INTERNAL_H
#define PROGRAMS_CONNECT_HOSTLINK_INTERNAL_H

#include "base/map.h"
#include "loop/child.h"
#include "loop/reader.h"
#include "loop/timer.h"
#include "loop/writer.h"
#include "programs/connect/hostlink.h"
#include "programs/connect/medialink.h"
#include "protocol/toolwire.h"

enum {
    HOSTLINK_ARENA_BYTES = 4 << 20, /* for the toolhost's messages about itself */
    HOSTLINK_MOST_TOOLS = 256,
};

enum link_state {
    LINK_ABSENT,   /* waits for the next try */
    LINK_STARTING, /* not ready yet, but calls are sent already */
    LINK_READY,
};

struct hostlink {
    struct executor executor; /* first member: see hostlink_calls.c */
    struct hostlink_config config;
    enum link_state state;
    pid_t pid;
    struct child *child;
    int fd;
    struct medialink *media; /* of this toolhost */
    int fd_again;            /* libuv needs an fd for each direction */
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

/* ERR_BUSY without a toolhost. */
int hostlink_send(struct hostlink *link, uint32_t number, enum toolwire_type type, struct str body);
/* Starts another toolhost, from the loop. */
void hostlink_replace_soon(struct hostlink *link);
/* Same, but kills one that would not notice that its socket was closed. */
void hostlink_kill(struct hostlink *link);

/* ---- calls ---- */

/*
 *   PREPARING -> PREPARED -> RUNNING
 *                 | ^  `-> PREVIEWING
 *                 | `-------'
 *   and from each of them to OVER; from all but PREPARED by way of CANCELLED, which waits for the
 *   last answer, since a hanging toolhost gives none
 */
enum host_phase {
    PHASE_PREPARING,
    PHASE_PREPARED,
    PHASE_PREVIEWING,
    PHASE_RUNNING,
    PHASE_CANCELLED,
    PHASE_OVER,
};

/* What is touched, as named in the audit log. */
struct touched {
    enum authority_operation operation;
    struct str name;
    uint64_t request_id; /* of the intent */
};

struct host_work {
    struct work work; /* first member: see hostlink_calls.c */
    struct hostlink *link;
    uint32_t number;
    enum host_phase phase;
    bool has_run; /* RUN was sent: it may have taken effect */
    struct timer late;
    struct touched *touched;
    size_t touched_count;
    struct str change; /* what it did to contents, as a diff; may be empty */
    bool deletes;
    bool is_folder;
};

extern const struct executor_ops hostlink_ops;

/* An error means that the frame does not fit its call's phase. */
int hostlink_take_frame(struct hostlink *link, const struct toolwire_frame *frame, struct err *err);
/* Whether a call that changes something has begun, or its outcome is unknown. */
bool hostlink_may_be_changing(const struct hostlink *link);
/* Fails all calls and frees them. */
void hostlink_fail_calls(struct hostlink *link);
void hostlink_free_calls(struct hostlink *link);

/* ---- messages of the toolhost ---- */

/* Stores which tools it has. */
int hostlink_read_ready(struct hostlink *link, struct str body, struct err *err);
void hostlink_read_error(struct str body, struct err *out_err, bool *out_has_begun);
/* Reads into the work: what the call touches; what it would do. */
int hostlink_read_prepared(struct host_work *work, struct str body, struct err *err);
int hostlink_read_previewed(struct host_work *work, struct str body, struct err *err);

/* ---- the audit log ---- */

/* If it fails, nothing may be done. */
int hostlink_note_intents(struct host_work *work);
/* Records the outcome; err is NULL if there is a result. */
void hostlink_note_end(struct host_work *work, struct str result, const struct err *err,
                       bool has_begun);
void hostlink_note_refusal(struct work *data);

#endif
