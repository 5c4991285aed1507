/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal structs of the authority: authority.c (the authority), scope.c (grants),
 * operations/operation.c (the steps of every operation), operations/ (the operations).
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

enum { AUTHORITY_MAX_LISTENERS = 8, AUTHORITY_MAX_PROTECTED = 16 };

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
    size_t hook_count; /* including removed ones */
    struct listener listeners[AUTHORITY_MAX_LISTENERS];
    size_t listener_count;
    char *protected[AUTHORITY_MAX_PROTECTED]; /* paths of the host, without links */
    size_t protected_count;
    /* Guards the two below; recursive, since who looks at grants may end one. */
    pthread_mutex_t grants_lock;
    struct list scopes;
    uint64_t last_grant;
    atomic_uint_fast64_t last_request;
};

struct authority_scope {
    struct authority *authority;
    struct list link;
    struct arena arena; /* for copies of the strings below */
    struct authority_grant grant;
    struct authority_root shown_root; /* the grant's, without its path */
    atomic_bool is_revoked;
    bool is_interactive;
    bool is_temporary;
    struct backend_root *root;
    /* Scopes for absolute names below their roots: see authority_scope_join(). */
    struct authority_scope *next_joined;
    struct authority_scope *first_joined; /* NULL: it is that one itself */
    /* The root without links. NULL: neither joined nor joined to, nor reads hard links. */
    const char *real_path;
    bool follows_links;
    bool allows_hardlinks;
    bool reads_hardlinks; /* see secondnames.h */
    bool shows_sensitive;
    uint64_t max_file_bytes;
    const struct glob_set *allowed; /* empty: all */
    const struct glob_set *denied;
    struct authority_filter filters[2]; /* those with denies == NULL deny nothing */
    bool has_globs;                     /* or protected names: some names are always denied */
    /* Names of protected directories inside the root. */
    struct str protected[AUTHORITY_MAX_PROTECTED];
    size_t protected_count;
    /* Operations create watches, and may run in several threads at once. */
    pthread_mutex_t watch_lock;
    struct list watches;
    size_t watch_count;
};

/* ---- scope.c ---- */

/* 0, or ERR_GRANT_REVOKED or ERR_GRANT_EXPIRED if the grant has ended. */
int scope_check_alive(const struct authority_scope *scope);
/* How a name is to be used. */
enum scope_use { SCOPE_LOOK, SCOPE_CHANGE };
/* Whether the scope's globs and filter allow this name; always true for the root (""). */
bool scope_admits(const struct authority_scope *scope, struct str name, enum scope_use use);
static inline bool scope_is_filtering(const struct authority_filter *filter)
{
    return filter->denies != NULL && (filter->is_active == NULL || filter->is_active(filter->data));
}
/* Whether any name is denied at present. Called for every entry of a directory. */
static inline bool scope_is_selective(const struct authority_scope *scope)
{
    return scope->has_globs || scope_is_filtering(&scope->filters[0]) ||
           scope_is_filtering(&scope->filters[1]);
}
/* What denies a name that is not admitted, for the audit log. The rule may be empty. */
const char *scope_refuser(const struct authority_scope *scope, struct str name, enum scope_use use,
                          char out_rule[AUTHORITY_RULE_BYTES]);
/* Whether a component is a private name of the authority: see scope.c. */
static inline bool scope_is_private(struct str component)
{
    /* Called for every entry of a directory, and most begin otherwise. */
    return component.len > 0 && component.ptr[0] == '.' &&
           str_starts_with(component, STR(".gatehouse-"));
}
/* Same for a directory that is only passed through or listed: something in it may be allowed. */
bool scope_admits_directory(const struct authority_scope *scope, struct str name,
                            enum scope_use use);
/* One or the other for something below a directory, whose name is relative to the root. */
bool scope_admits_below(const struct authority_scope *scope, struct str directory, struct str name,
                        bool is_directory, enum scope_use use);

struct authority_scope *scope_find_joined(struct authority_scope *scope, struct str *name);

/*
 * The scope of a name: this one, or the joined one whose root an absolute name lies below; *name is
 * then what follows the root. Every function that takes a scope and a name begins with this.
 */
static inline struct authority_scope *scope_of(struct authority_scope *scope, struct str *name)
{
    return scope->next_joined == NULL || name->len == 0 || name->ptr[0] != '/'
               ? scope
               : scope_find_joined(scope, name);
}

/* Creates a scope for an open root; takes ownership of the root on success. */
int scope_new(struct authority *authority, const struct authority_request *request,
              struct backend_root *root, struct authority_scope **out_scope, struct err *err);

/* ---- protect.c ---- */

/*
 * Finds protected directories inside the root, for the scope to refuse; ERR_DENIED_BY_POLICY if the
 * root lies inside one of them and the request is not the core's.
 */
int protect_scope(struct authority_scope *scope, struct err *err);
/* Protects an existing directory, by any path. */
int protect_path(struct authority *authority, const char *path, struct err *err);
void protect_done(struct authority *authority);

/* ---- kinds.c ---- */

/* The kind's own rules for a request: 0 or ERR_DENIED_BY_POLICY with the reason. */
int kind_check_request(const struct authority_request *request, struct err *err);
bool kind_follows_links(enum authority_root_kind kind);
unsigned kind_file_mode(enum authority_root_kind kind);
unsigned kind_dir_mode(enum authority_root_kind kind);
/* The mode bits allowed in it. */
unsigned kind_mode_mask(enum authority_root_kind kind);

/* ---- operation.c ---- */

/* An operation in progress. Lives on the stack of the function that does it. */
struct operation {
    struct authority *authority;
    struct authority_scope *scope;
    struct authority_context context;
    struct authority_event event;
    bool is_mutation;
    bool has_intent;
    bool via_artifact_call; /* by a function for artifacts */
    bool is_interactive;    /* a user can be asked */
    bool is_question;       /* only resolves a name: does nothing, and records only a refusal */
    bool is_admitted;       /* the name is admitted, even if it is not a directory */
    bool has_resolved;
    enum scope_use use;           /* of the name; a destination is always changed */
    size_t hooks_seen;            /* number of the authority's hooks that were called */
    struct backend_lookup lookup; /* for the name */
    struct cancel cancel;
    struct path_name name;
    struct path_name destination;
    struct path_name resolved;        /* where links led, as the backend last reported */
    char why[AUTHORITY_REASON_BYTES]; /* of a refusal; "" for the code's own text */
    char rule[AUTHORITY_RULE_BYTES];  /* the same; where event.policy_rule is */
};

struct operation_args {
    enum authority_operation operation;
    struct str name;
    const struct str *destination; /* or NULL */
    const struct cancel *cancel;
    unsigned more_access; /* required in addition to what the operation needs */
    bool is_directory;    /* the name may pass because of what is in it */
    bool via_artifact_call;
    bool is_question;   /* as in struct operation */
    const char *reason; /* NULL: that of the grant */
};

/*
 * Checks names, grant, policy, hooks and records the intent, in that order. Whatever it returns,
 * operation_end() must follow with the result.
 */
int operation_begin(struct operation *op, struct authority_scope *scope,
                    const struct operation_args *args);

/* Sets the message of a refusal from a lower layer, if it has one. */
void operation_explain(struct operation *op, const struct err *why);

/* Calls hooks and records the outcome; returns `result`, with a message in err. */
int operation_end(struct operation *op, int result, struct err *err);

/* For a request, which has no scope yet. */
int operation_begin_request(struct operation *op, struct authority *authority,
                            enum authority_operation operation,
                            const struct authority_request *request);

/* Notifies all listeners, with the present time: 0, or the code of the first that failed. */
int operation_notify(const struct authority *authority, struct authority_event *event);
/* The name as policy, hooks and audit log see it. */
struct str operation_shown_name(const struct authority_scope *scope, struct str given);
/* Whether it records an intent before its outcome. */
bool operation_is_mutation(enum authority_operation operation);

/*
 * Lookup for something to be created: a name that will be a file and changes. Notes where links
 * led.
 */
struct backend_lookup operation_target_lookup(const struct operation *op);

/* The resolved name, if the backend was asked about no other since has_resolved was unset. */
struct str operation_resolved(const struct operation *op, struct str name);

/*
 * For operations on a link itself: the name with links in its parents resolved, and a lookup that
 * follows none, so that what is checked below the name is what is used.
 */
int operation_pin(struct operation *op, const struct authority_scope *scope,
                  struct backend_lookup *lookup, struct str name, struct path_name *out_name);

/* For a name below that of the operation, which changes with it: 0 or ERR_DENIED_BY_POLICY. */
int operation_check_change(struct operation *op, const struct authority_scope *scope,
                           struct str name);

static inline const struct backend_ops *operation_ops(const struct operation *op)
{
    return op->authority->backend->ops;
}

/* ---- call.c ---- */

/*
 * The tool call that this thread works for, or NULL. Static programs access it without a function
 * call.
 */
extern _Thread_local const struct authority_call *call_current
    __attribute__((tls_model("initial-exec")));

/* ---- operations/watch.c ---- */

/* Closes what the scope's watches read from; their owners still have to free them. */
void scope_end_watches(struct authority_scope *scope);

/* ---- operations/write.c ---- */

/*
 * Tries `once`; if the parent is missing, creates the directories above `name` and tries again. If
 * it still fails, removes them.
 */
int operation_with_parents(const struct operation *op, struct str name, int (*once)(void *data),
                           void *data);

#endif
