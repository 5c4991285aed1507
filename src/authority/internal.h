/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The authority's own structs, for its own files: authority.c (the whole),
 * scope.c (grants), operation.c (the way that every operation goes) and op_*.c
 * (the operations).
 */
#ifndef AUTHORITY_INTERNAL_H
#define AUTHORITY_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "authority/backend.h"
#include "authority/names/glob.h"
#include "authority/names/path.h"
#include "base/list.h"
#include "gatehouse/authority.h"

enum { AUTHORITY_MAX_LISTENERS = 8, AUTHORITY_MAX_PROTECTED = 8 };

struct hook_slot {
    struct authority_hook hook;
    atomic_bool is_removed;
};

struct listener {
    authority_event_fn *notify;
    void *data;
};

struct authority {
    const struct clock *clock;
    struct backend *backend;
    const char *policy_id;
    authority_decide_fn *policy;
    void *policy_data;
    authority_ask_fn *ask;
    void *ask_data;
    struct hook_slot hooks[AUTHORITY_MAX_HOOKS];
    size_t hook_count; /* removed ones included */
    struct listener listeners[AUTHORITY_MAX_LISTENERS];
    size_t listener_count;
    char *protected[AUTHORITY_MAX_PROTECTED]; /* the host's paths, without links */
    size_t protected_count;
    struct list scopes;
    atomic_uint_fast64_t last_request;
    uint64_t last_grant;
};

struct authority_scope {
    struct authority *authority;
    struct list link;
    struct arena arena; /* for the copies below */
    struct authority_grant grant;
    struct authority_root shown_root; /* the grant's, without its path */
    atomic_bool is_revoked;
    bool is_interactive;
    bool is_temporary;
    struct backend_root *root;
    bool follows_links;
    bool allows_hardlinks;
    uint64_t max_file_bytes;
    const struct glob_set *allowed; /* empty: all */
    const struct glob_set *denied;
    struct authority_filter filter;
    bool has_globs; /* or names that are protected: some names are denied at any time */
    struct str protected[AUTHORITY_MAX_PROTECTED]; /* names of what is protected and lies inside */
    size_t protected_count;
    /* Watches are made by operations, which may run in several threads at once. */
    pthread_mutex_t watch_lock;
    struct list watches;
    size_t watch_count;
};

/* ---- scope.c ---- */

/* 0, or ERR_GRANT_REVOKED or ERR_GRANT_EXPIRED when the grant is over. */
int scope_check_alive(const struct authority_scope *scope);
/* What is to be done with a name. */
enum scope_use { SCOPE_LOOK, SCOPE_CHANGE };
/* Whether the scope's globs and filter let this name be used; the root ("") always. */
bool scope_admits(const struct authority_scope *scope, struct str name, enum scope_use use);
/* Whether any name is denied just now. Asked for every entry of a directory. */
static inline bool scope_is_selective(const struct authority_scope *scope)
{
    const struct authority_filter *filter = &scope->filter;

    return scope->has_globs || (filter->denies != NULL &&
                                (filter->is_active == NULL || filter->is_active(filter->data)));
}
/* Who denies a name that is not admitted, for the record. */
const char *scope_refuser(const struct authority_scope *scope, struct str name, enum scope_use use);
/* One component of the authority's own: see scope.c. */
static inline bool scope_is_private(struct str component)
{
    /* Asked for every entry of a directory, and most begin otherwise. */
    return component.len > 0 && component.ptr[0] == '.' &&
           str_starts_with(component, STR(".gatehouse-"));
}
/* The same for a directory that is only passed or listed: something in it may be allowed. */
bool scope_admits_directory(const struct authority_scope *scope, struct str name,
                            enum scope_use use);
/* The one or the other for something below a directory, whose name is from the root on. */
bool scope_admits_below(const struct authority_scope *scope, struct str directory, struct str name,
                        bool is_directory, enum scope_use use);

/* A scope over a root that is open already; takes the root over on success. */
int scope_new(struct authority *authority, const struct authority_request *request,
              struct backend_root *root, struct authority_scope **out_scope, struct err *err);

/* ---- protect.c ---- */

/*
 * What of the protected directories lies inside the root, for the scope to refuse; or
 * ERR_DENIED_BY_POLICY where the root lies inside one of them and is not the core's own.
 */
int protect_scope(struct authority_scope *scope, struct err *err);
/* Of a directory that is there, by any path. */
int protect_path(struct authority *authority, const char *path, struct err *err);
void protect_done(struct authority *authority);

/* ---- kinds.c ---- */

/* The kind's own rules for a request: 0 or ERR_DENIED_BY_POLICY with the reason. */
int kind_check_request(const struct authority_request *request, struct err *err);
bool kind_follows_links(enum authority_root_kind kind);
unsigned kind_file_mode(enum authority_root_kind kind);
unsigned kind_dir_mode(enum authority_root_kind kind);
/* The bits that anything in it may have. */
unsigned kind_mode_mask(enum authority_root_kind kind);

/* ---- operation.c ---- */

/* One operation on its way. Lives on the stack of the function that does it. */
struct operation {
    struct authority *authority;
    struct authority_scope *scope;
    struct authority_context context;
    struct authority_event event;
    bool is_mutation;
    bool has_intent;
    bool via_artifact_call; /* one of the artifact's own functions */
    bool is_interactive;    /* somebody can be asked */
    bool is_question;       /* about a name: nothing is done, only a refusal is told */
    bool is_admitted;       /* the name, also if it should be no directory */
    bool has_resolved;
    enum scope_use use;           /* of the name; a destination is always changed */
    size_t hooks_seen;            /* how many of the authority's hooks had their say */
    struct backend_lookup lookup; /* of the name */
    struct cancel cancel;
    struct path_name name;
    struct path_name destination;
    struct path_name resolved;        /* where links led, as the backend said last */
    char why[AUTHORITY_REASON_BYTES]; /* of a refusal; "" for the code's own text */
};

struct operation_args {
    enum authority_operation operation;
    struct str name;
    const struct str *destination; /* or NULL */
    const struct cancel *cancel;
    unsigned more_access; /* needed besides what the operation needs anyway */
    bool via_artifact_call;
    bool is_question;   /* as in struct operation */
    const char *reason; /* NULL: the grant's */
};

/*
 * Names, grant, policy, hooks and intent, in that order. Whatever it returns,
 * operation_end() follows with the result.
 */
int operation_begin(struct operation *op, struct authority_scope *scope,
                    const struct operation_args *args);

/* Words for a refusal that comes from further down; none if there are none. */
void operation_explain(struct operation *op, const struct err *why);

/* Hooks and outcome; returns `result`, with words in err. */
int operation_end(struct operation *op, int result, struct err *err);

/* For what has no scope yet. */
int operation_begin_request(struct operation *op, struct authority *authority,
                            enum authority_operation operation,
                            const struct authority_request *request);

/* Tells all listeners, at the present time: 0, or what the first that failed returned. */
int operation_notify(const struct authority *authority, struct authority_event *event);
/* As policy, hooks and records see it. */
struct str operation_shown_name(const struct authority_scope *scope, struct str given);
/* Whether it has an intent before its outcome. */
bool operation_is_mutation(enum authority_operation operation);

/* For what is made: as a name that will be a file and changes. Notes where links led. */
struct backend_lookup operation_target_lookup(const struct operation *op);

/* Where `name` came out, if the backend was asked about no other since has_resolved was unset. */
struct str operation_resolved(const struct operation *op, struct str name);

/*
 * For what acts on a last link itself: the name with the links above it taken
 * out, and a lookup that follows none, so that what is checked below the name is
 * what is used.
 */
int operation_pin(struct operation *op, const struct authority_scope *scope,
                  struct backend_lookup *lookup, struct str name, struct path_name *out_name);

/* Of a name below that of the operation, which changes with it: 0 or ERR_DENIED_BY_POLICY. */
int operation_check_change(struct operation *op, const struct authority_scope *scope,
                           struct str name);

static inline const struct backend_ops *operation_ops(const struct operation *op)
{
    return op->authority->backend->ops;
}

/* ---- call.c ---- */

/* For which call this thread works, or NULL. Static programs find it without a call. */
extern _Thread_local const struct authority_call *call_current
    __attribute__((tls_model("initial-exec")));

/* ---- operations/watch.c ---- */

/* Closes what the scope's watches read from; they themselves stay their owners'. */
void scope_end_watches(struct authority_scope *scope);

/* ---- operations/write.c ---- */

/*
 * Tries `once`; where that finds no parent, makes the directories above `name`
 * and tries again. If it still fails, they go again.
 */
int operation_with_parents(const struct operation *op, struct str name, int (*once)(void *data),
                           void *data);

#endif
