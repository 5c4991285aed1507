/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of gatehouse-authority: service.c (reading, threads), questions.c (what the
 * host decides), scopes.c (grants and watches), operations.c (what requests do).
 *
 * Everything in struct authority_service but the output belongs to whoever holds the monitor.
 * Operations run outside of it.
 */
#ifndef PROGRAMS_AUTHORITY_INTERNAL_H
#define PROGRAMS_AUTHORITY_INTERNAL_H

#include <pthread.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cancel.h"
#include "base/jsonwrite.h"
#include "base/list.h"
#include "loop/monitor.h"
#include "programs/authority/service.h"
#include "programs/authority/wire.h"

enum {
    MAX_SCOPES = 1024,
    MAX_WATCHES = 1024,
    MAX_RUNNING = 8, /* threads at work; those that wait for the host do not count */
    MAX_TAKEN = 400, /* requests that have a thread, without those that help to answer */
    MAX_THREADS = 512,
    MAX_PARKED = 4,
};

/*
 * A subject, with all that it has under way: none can keep the others from theirs. In turn, each
 * has one of its requests begun.
 */
struct party {
    struct list node;
    char *key;     /* type and id of the subject */
    bool is_host;  /* "core" */
    unsigned refs; /* its scopes and requests */
    struct list waiting;
    unsigned waiting_count;
    unsigned taken_count; /* requests that have a thread */
    unsigned running_count;
    size_t bytes; /* of requests */
    unsigned scope_count;
    unsigned watch_count;
};

struct party_limits {
    unsigned running;
    unsigned taken;
    unsigned waiting;
    size_t bytes;
    unsigned scopes;
    unsigned watches;
};

/* A scope that the host has; operations keep it until they end. */
struct held_scope {
    struct list node;
    uint64_t id;
    struct authority_scope *scope;
    struct party *party;
    unsigned refs; /* the host's, and one of each operation and watch */
    bool is_released;
};

struct held_watch {
    struct list node;
    uint32_t id;
    struct held_scope *held;
    struct authority_watch *watch;
    int fd;
    bool is_told; /* the host knows its number */
};

struct served_request {
    struct list node;
    struct list turn; /* of its party, until it has a thread */
    struct authority_service *service;
    struct party *party;
    size_t bytes;
    uint32_t number;
    bool is_helping; /* the host needs it to answer a question: others wait for it */
    struct cancel cancel;
    struct arena arena;
    char *body;
    const struct json_value *json;
    struct str content;
    struct str op;
    bool is_unserved; /* the root that it wants is in no directory of ours */
    uint32_t watch;   /* that it made, or 0 */
    /* The result. */
    struct json_writer result; /* the members of an object */
    struct buf out;            /* content */
};

struct service_hook {
    struct authority_service *service;
    char *id;
};

struct authority_service {
    struct authority_service_config config;
    struct monitor monitor;
    int wake[2]; /* for the reading thread: there is another watch */
    bool is_over;
    bool is_configured;
    bool has_policy; /* the host decides */
    struct service_hook hooks[AUTHORITY_MAX_HOOKS];
    size_t hook_count;
    struct list requests;
    struct list parties;
    struct list helping; /* requests, which come before all others */
    unsigned helping_count;
    unsigned taken_count;
    size_t bytes; /* of all requests */
    unsigned thread_count;
    unsigned parked_count;
    unsigned running_count;
    struct list scopes;
    unsigned scope_count;
    uint64_t last_scope;
    struct list watches;
    unsigned watch_count;
    uint32_t last_watch;
    struct list questions;
    uint32_t last_question;
    pthread_mutex_t output; /* guards the writing of frames, one after the other */
    bool is_broken;         /* the host does not read any more; under `output` */
};

/* ---- service.c ---- */

void service_send(struct authority_service *service, uint32_t number, enum wire_type type,
                  struct str json, struct str content);
/* As the audit log does it: in hex, under a key of its own, if it is no text. */
void service_put_name(struct json_writer *w, struct str key, struct str hex_key, struct str name);
/* In the monitor: has a thread take a request that waits, if it may. */
void service_use_threads(struct authority_service *service);
/* The reading thread looks at the watches anew. */
void service_wake(struct authority_service *service);

/* ---- parties.c, in the monitor ---- */

const struct party_limits *party_limits(const struct party *party);
/* The one of this subject, made if there is none; NULL without memory. Has one more reference. */
struct party *parties_take(struct authority_service *service,
                           const struct authority_subject *subject);
void parties_drop(struct party *party);
/* ERR_BUSY if it has too many. */
int parties_queue(struct served_request *request);
/* The next one to begin, which is then its caller's; NULL if there is none that may. */
struct served_request *parties_begin_next(struct authority_service *service);
void parties_end(struct served_request *request);
/* How many could begin. */
unsigned parties_ready(const struct authority_service *service);

/* ---- questions.c ---- */

/* Of the thread that runs this request, for the questions that it leads to. */
void questions_begin_request(struct served_request *request);
/* Before the first request. */
void questions_begin(struct authority_service *service);
/* What the host answers from now on; before anything else runs. */
int questions_configure(struct authority_service *service, const struct json_value *json,
                        struct err *err);
void questions_done(struct authority_service *service);
/* In the monitor. */
bool questions_has(const struct authority_service *service, uint32_t number);
/* In the monitor. An answer to no question is ignored: it may have come too late. */
void questions_take_answer(struct authority_service *service, uint32_t number,
                           const struct json_value *json);

/* ---- scopes.c ---- */

/* Takes the scope over; frees it on failure. */
int scopes_add(struct authority_service *service, struct authority_scope *scope,
               const struct authority_subject *subject, uint64_t *out_id, struct err *err);
/* In the monitor: whose scope it is, or NULL. */
struct party *scopes_party(const struct authority_service *service, uint64_t id);
/* NULL if there is none with that id. */
struct held_scope *scopes_take(struct authority_service *service, uint64_t id);
void scopes_put(struct authority_service *service, struct held_scope *held);
/*
 * In the monitor, by the reading thread, which polls the watches' descriptors: no request gets the
 * scope any more. False: there is none with that id. The second half may take long, since it
 * removes a temporary workspace.
 */
bool scopes_begin_release(struct authority_service *service, uint64_t id);
void scopes_end_release(struct authority_service *service, uint64_t id);
void scopes_free_all(struct authority_service *service);
int watches_add(struct authority_service *service, struct held_scope *held,
                struct authority_watch *watch, int fd, uint32_t *out_id, struct err *err);
/* The host has its number: changes may be sent. */
void watches_tell(struct authority_service *service, uint32_t id);
/* In the monitor, by the reading thread. */
bool watches_remove(struct authority_service *service, uint32_t id);
/* The reading thread, outside of the monitor: sends what has changed. */
void watches_read(struct authority_service *service, uint32_t id);

/* ---- operations.c ---- */

/* Fills in the result, or `err`. */
int operations_run(struct served_request *request, struct err *err);

#endif
