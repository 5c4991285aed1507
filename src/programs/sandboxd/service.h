/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandboxes of the service: their records, owners and states. A sandbox that nobody has used
 * for a while is stopped, and deleted later; its next use wakes it. Endpoints are elsewhere.
 *
 * A sandbox whose processes ended unasked (this service was restarted, or its first process died)
 * has lost its memory but not its files. Its next use starts it again, and is refused once with
 * ERR_SESSION_OVER, so that whoever relies on background processes learns of it. A start that fails
 * has another code.
 */
#ifndef PROGRAMS_SANDBOXD_SERVICE_H
#define PROGRAMS_SANDBOXD_SERVICE_H

#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "isolate/room/room.h"
#include "loop/timer.h"
#include "programs/sandboxd/contextcache.h"
#include "programs/sandboxd/daytona/parts.h"
#include "programs/sandboxd/network.h"
#include "programs/sandboxd/webaccess.h"
#include "store/sandboxstore.h"

struct details;
struct images;
struct previews;

struct service_config {
    struct loop *loop;
    const struct log *log;
    struct sandboxstore *store;
    struct room_keeper *keeper;
    int64_t idle_stop_ms;
    int64_t idle_delete_ms;
    int64_t exit_idle_ms;        /* 0: never */
    void (*on_idle)(void *data); /* nothing ran and nobody asked for that long */
    void *data;
    unsigned max_sandboxes;
    uint64_t disk_bytes;             /* of the files of each new one; 0: not limited */
    bool is_in_memory;               /* those files: they are gone when it stops */
    enum room_network build_network; /* of the steps of images */
    struct webaccess *web;           /* for policies with hosts */
    bool has_tls;                    /* clients come by https */
};

enum sandbox_state {
    SANDBOX_STOPPED,
    SANDBOX_STARTING,
    SANDBOX_RUNNING,
    SANDBOX_STOPPING,
    SANDBOX_DELETING,
};

struct service {
    struct service_config config;
    struct map sandboxes;  /* by id */
    struct list order;     /* of creation, the newest last */
    struct map executions; /* by the ids of sandbox and execution; see executions.c */
    struct list ended;     /* executions that are over, the oldest first */
    size_t history_bytes;  /* of all executions */
    struct images *images;
    struct previews *previews;    /* set by the program */
    struct list snapshots;        /* see daytona/snapshots.h */
    struct list creations;        /* whose image is being built; see daytona/creation.h */
    struct list buildlogs;        /* see daytona/buildlog.h */
    struct contextcache contexts; /* of builds; see contexts.h */
    struct parts uploads;         /* of contexts that come in parts */
    struct timer idle;
    int64_t asked_ms; /* the last request, by the loop's clock */
    bool is_stopping;
    uint64_t created; /* for the metrics */
    uint64_t executed;
    uint64_t refused;         /* connections, by network policies */
    uint64_t ended_for_space; /* sandboxes */
    bool is_out_of_space;     /* as it was found last */
};

struct sandbox {
    struct list node; /* service->order */
    struct service *service;
    struct sandboxstore_sandbox record;
    struct details *details;        /* of the Daytona API; or NULL */
    struct network_policy *network; /* what it reaches; NULL: nothing */
    struct webgrant web;            /* while it runs, if that has hosts */
    enum sandbox_state state;
    struct room *room; /* while it runs */
    struct room_reached reached;
    bool is_new;         /* its first start is under way: without success there is no sandbox */
    bool is_moving;      /* the keeper starts or stops it */
    bool was_lost;       /* ended unasked */
    bool is_forgotten;   /* it goes with its room */
    unsigned users;      /* work under way */
    int64_t active_ms;   /* by the loop's clock */
    int64_t stopped_ms;  /* the same: since when it has been stopped */
    struct list waiting; /* uses, for the room */
    struct list executions;
    struct list stoppers; /* uses, for its stop */
    struct list deleters; /* uses, for the end */
    struct list sessions; /* shells; see daytona/session.h */
    struct list ptys;     /* terminals; see daytona/pty.h */
};

/* Work that needs the running sandbox, embedded in its owner. */
struct sandbox_use {
    struct list node;
    /* With an error there is no room, and the use is over; else call service_release(). */
    void (*ready)(void *data, struct sandbox *sandbox, const struct err *err);
    void *data;
};

/* Loads the records, and removes files that belong to none of them. */
int service_init(struct service *service, const struct service_config *config, struct err *err);
/* Ends what is under way, so that answers end; before the keeper is freed. */
void service_close(struct service *service);
/* The keeper must have been freed: no callback comes any more. */
void service_done(struct service *service);
/* The keeper has died: nothing runs. */
void service_lost_keeper(struct service *service);

/* Logs and counts connections that were refused; `whose` is "sandbox" or "image". */
void service_note_refusal(struct service *service, const char *whose, const char *id,
                          const struct room_refusal *refusal);

size_t service_count_of(const struct service *service, const char *owner);
/* NULL if there is none, or if it is another's. */
struct sandbox *service_find(const struct service *service, struct str id, const char *owner);

/* The same by the name of its details, or by its id. */
struct sandbox *service_find_named(const struct service *service, struct str name,
                                   const char *owner);

/* What a sandbox can have beside its record. */
struct service_extras {
    struct details *details;              /* taken over if it succeeds; or NULL */
    const struct network_policy *network; /* NULL, or empty: none */
};

/*
 * Adds a sandbox by its record and starts it: `use` becomes ready when it runs. ERR_BUSY if there
 * are too many.
 */
int service_create(struct service *service, const struct sandboxstore_sandbox *record,
                   const struct service_extras *extras, struct sandbox_use *use, struct err *err);
/* After a change of its details. */
int service_save_details(struct sandbox *sandbox);

/* Calls `ready`, maybe at once, when the sandbox runs. */
void service_use(struct sandbox *sandbox, struct sandbox_use *use);
void service_release(struct sandbox *sandbox);
/* A use that is not wanted any more and not ready yet. */
void service_cancel(struct sandbox_use *use);

/* Counts as activity. */
void service_touch(struct sandbox *sandbox);

/*
 * Kills all that runs in it, and keeps its files. `use` becomes ready, with an error or not, when
 * it is stopped, or at once.
 */
void service_stop(struct sandbox *sandbox, struct sandbox_use *use);

/* Kills and removes it. `use` becomes ready, with an error or not, when it is gone. May be NULL. */
void service_delete(struct sandbox *sandbox, struct sandbox_use *use);

/* Somebody has asked for something. */
void service_note_request(struct service *service);

/* Whether it runs, as its users see it. */
bool service_is_running(const struct sandbox *sandbox);

#endif
