/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of every operation. Each can refuse, each refusal is recorded with the code and its
 * origin, and nothing is touched before all have agreed.
 */
#include "authority/internal.h"

#include <stdio.h>
#include <string.h>

/* The access that an operation needs, and whether it changes anything. */
static const struct {
    unsigned access;
    bool is_mutation;
    bool looks_at_directories; /* their names may pass because of what is in them */
    bool only_reads_name;      /* of those that change something */
} needs[AUTHORITY_OPERATIONS] = {
    [AUTHORITY_OP_REQUEST_ROOT] = {0, false, false, false},
    [AUTHORITY_OP_READ] = {AUTHORITY_READ, false, false, false},
    [AUTHORITY_OP_WRITE] = {AUTHORITY_WRITE, true, false, false},
    [AUTHORITY_OP_APPEND] = {AUTHORITY_WRITE, true, false, false},
    [AUTHORITY_OP_LIST] = {AUTHORITY_LIST, false, true, false},
    [AUTHORITY_OP_STAT] = {AUTHORITY_METADATA, false, true, false},
    [AUTHORITY_OP_MKDIR] = {AUTHORITY_WRITE, true, true, false},
    [AUTHORITY_OP_MOVE] = {AUTHORITY_MOVE | AUTHORITY_WRITE, true, false, false},
    [AUTHORITY_OP_COPY] = {AUTHORITY_READ | AUTHORITY_WRITE, true, false, true},
    [AUTHORITY_OP_COPY_IN] = {AUTHORITY_WRITE, true, false, false},
    [AUTHORITY_OP_REMOVE] = {AUTHORITY_DELETE, true, false, false},
    [AUTHORITY_OP_EXTRACT] = {AUTHORITY_ARCHIVE | AUTHORITY_READ | AUTHORITY_WRITE, true, false,
                              true},
    [AUTHORITY_OP_ARCHIVE] = {AUTHORITY_ARCHIVE | AUTHORITY_READ | AUTHORITY_WRITE, true, true,
                              true},
    [AUTHORITY_OP_TEMP] = {0, true, false, false},
    [AUTHORITY_OP_WATCH] = {AUTHORITY_WATCH, false, true, false},
    [AUTHORITY_OP_WALK] = {AUTHORITY_LIST, false, true, false},
    [AUTHORITY_OP_SEARCH] = {AUTHORITY_LIST | AUTHORITY_READ, false, true, false},
    [AUTHORITY_OP_EXECUTE] = {0, true, true, true},
    [AUTHORITY_OP_CALL] = {0, false, true, false},
    [AUTHORITY_OP_SIGN_IN] = {0, true, false, false},
    [AUTHORITY_OP_SIGN_OUT] = {0, true, false, false},
    [AUTHORITY_OP_ACCOUNT] = {0, true, false, false},
    [AUTHORITY_OP_AGENT_KEY] = {0, true, false, false},
    [AUTHORITY_OP_CONSENT] = {0, true, false, false},
    [AUTHORITY_OP_PAIR] = {0, true, false, false},
    [AUTHORITY_OP_REQUEST] = {0, false, false, false},
};

static int refuse(struct operation *op, int code, const char *source, const char *why)
{
    op->event.policy_source = source;
    snprintf(op->why, sizeof(op->why), "%s", why);
    return code;
}

/* What denies the name, for the log. */
static void note_refuser(struct operation *op, const struct authority_scope *scope, struct str name,
                         enum scope_use use)
{
    op->event.policy_source = scope_refuser(scope, name, use, op->rule);
    op->event.policy_rule = op->rule[0] != '\0' ? op->rule : NULL;
}

/* ---- deciding ---- */

/* Turns an opinion into yes or no; asks the user if needed. */
static int settle(struct operation *op, const struct authority_decision *decision,
                  const char *source)
{
    const struct authority *authority = op->authority;
    bool can_ask = authority->ask != NULL && op->is_interactive;

    switch (decision->verdict) {
    case AUTHORITY_ABSTAIN:
        return 0;
    case AUTHORITY_ALLOW:
        op->event.policy_source = source;
        return 0;
    case AUTHORITY_DENY:
        return refuse(op, ERR_DENIED_BY_POLICY, source, decision->text);
    case AUTHORITY_FAIL:
        return refuse(op, ERR_DENIED_BY_POLICY, source,
                      decision->text[0] != '\0' ? decision->text : "a check failed");
    case AUTHORITY_ASK:
        op->event.policy_source = source;
        if (can_ask)
            return authority->ask(authority->ask_data, &op->context, decision->text)
                       ? 0
                       : refuse(op, ERR_DENIED_BY_POLICY, source, "the user said no");
        if (decision->if_unasked == AUTHORITY_ALLOW)
            return 0;
        return refuse(op, ERR_ASK_UNAVAILABLE, source, "");
    }
    return refuse(op, ERR_DENIED_BY_POLICY, source, "an unknown verdict");
}

static int ask_policy(struct operation *op)
{
    const struct authority *authority = op->authority;
    struct authority_decision decision = {.verdict = AUTHORITY_ABSTAIN,
                                          .if_unasked = AUTHORITY_DENY};

    authority->policy(authority->policy_data, &op->context, &decision);
    decision.text[sizeof(decision.text) - 1] = '\0';
    return settle(op, &decision, authority->policy_id);
}

/* In order of registration; the first refusal ends it. */
static int ask_hooks(struct operation *op)
{
    struct authority *authority = op->authority;

    while (op->hooks_seen < authority->hook_count) {
        struct hook_slot *slot = &authority->hooks[op->hooks_seen++];
        struct authority_decision decision = {.verdict = AUTHORITY_ABSTAIN,
                                              .if_unasked = AUTHORITY_DENY};
        int r;

        if (atomic_load(&slot->is_removed))
            continue;
        op->event.wrapper_ids[op->event.wrapper_count++] = slot->hook.id;
        if (slot->hook.before == NULL)
            continue;
        slot->hook.before(slot->hook.data, &op->context, &decision);
        decision.text[sizeof(decision.text) - 1] = '\0';
        r = settle(op, &decision, slot->hook.id);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Those that saw it begin, in the same order. */
static void tell_hooks(struct operation *op, int result)
{
    struct authority *authority = op->authority;

    for (size_t i = 0; i < op->hooks_seen; i++) {
        struct hook_slot *slot = &authority->hooks[i];

        if (slot->hook.after != NULL && !atomic_load(&slot->is_removed))
            slot->hook.after(slot->hook.data, &op->context, result);
    }
}

/* ---- recording ---- */

int operation_notify(const struct authority *authority, struct authority_event *event)
{
    int result = 0;

    if (authority->listener_count == 0)
        return 0;
    event->wall_ms = clock_wall_ms(authority->clock);
    for (size_t i = 0; i < authority->listener_count; i++) {
        int r = authority->listeners[i].notify(authority->listeners[i].data, event);

        if (r < 0 && result == 0)
            result = r;
    }
    return result;
}

static int notify(struct operation *op, enum authority_outcome outcome, int error)
{
    op->event.outcome = outcome;
    op->event.error = error;
    return operation_notify(op->authority, &op->event);
}

static int declare_intent(struct operation *op)
{
    if (!op->is_mutation)
        return 0;
    if (notify(op, AUTHORITY_INTENT, 0) < 0)
        return refuse(op, ERR_AUDIT_UNAVAILABLE, "audit", "");
    op->has_intent = true;
    return 0;
}

/* ---- names and grant ---- */

static int check_grant(struct operation *op)
{
    const struct authority_scope *scope = op->scope;
    unsigned needed = op->is_question ? AUTHORITY_METADATA : op->context.access;
    int r = scope_check_alive(scope);

    if (r < 0)
        return refuse(op, r, "grant", "");
    if ((scope->grant.access & needed) != needed)
        return refuse(op, ERR_ACCESS_MISSING, "grant", "");
    if (op->is_mutation && scope->grant.root.kind == AUTHORITY_ARTIFACT && !op->via_artifact_call)
        return refuse(op, ERR_DENIED_BY_POLICY, "default",
                      "change artifacts only with the artifact functions");
    return 0;
}

/*
 * With links followed, ".." is left to the kernel, which passes through the component before it:
 * this must not reveal whether a denied name exists.
 */
static bool passes_nothing_denied(const struct authority_scope *scope, struct str name)
{
    struct str rest = name;
    struct str part;

    while (str_cut(&rest, '/', &part)) {
        struct path_name before;
        size_t len = (size_t)(part.ptr - name.ptr);

        if (!str_eq(part, STR("..")) || len == 0)
            continue;
        if (path_normalise(str_slice(name, 0, len), NULL, false, &before) < 0 ||
            !scope_admits_directory(scope, path_view(&before), SCOPE_LOOK))
            return false;
    }
    return true;
}

/*
 * Checks globs and filter for the name as written. If links are followed, ".." is left to the
 * kernel, and the result is checked again.
 */
__attribute__((noinline)) static bool admits_as_written(struct operation *op,
                                                        const struct path_name *name,
                                                        bool is_for_directory, enum scope_use use)
{
    __attribute__((uninitialized)) struct path_name plain;

    if (!scope_is_selective(op->scope)) {
        op->is_admitted = scope_admits(op->scope, path_view(name), use);
        return op->is_admitted;
    }
    if (path_normalise(path_view(name), NULL, false, &plain) < 0 ||
        !passes_nothing_denied(op->scope, path_view(name)))
        return false;
    op->is_admitted = scope_admits(op->scope, path_view(&plain), use);
    return op->is_admitted ||
           (is_for_directory && scope_admits_directory(op->scope, path_view(&plain), use));
}

__attribute__((noinline)) static int refuse_name(struct operation *op, const struct path_name *name,
                                                 enum scope_use use)
{
    struct path_name plain;

    op->event.policy_source = "grant";
    if (path_normalise(path_view(name), NULL, false, &plain) == 0)
        note_refuser(op, op->scope, path_view(&plain), use);
    return refuse(op, ERR_DENIED_BY_POLICY, op->event.policy_source,
                  strcmp(op->event.policy_source, "deny-rule") == 0
                      ? "the path is denied by a rule of the user"
                      : "the path is denied");
}

/* Normalises the name, and checks it against the scope's globs. */
static int check_name(struct operation *op, struct str given, bool is_for_directory,
                      enum scope_use use, struct path_name *out_name)
{
    const struct authority_scope *scope = op->scope;
    int r = path_normalise(given, scope->grant.root.path, scope->follows_links, out_name);

    if (r < 0)
        return refuse(op, r, "default", "");
    if (!admits_as_written(op, out_name, is_for_directory, use))
        return refuse_name(op, out_name, use);
    return 0;
}

static void note_resolved(struct operation *op, struct str resolved)
{
    op->has_resolved = path_join(STR_EMPTY, resolved, &op->resolved) == 0;
}

/* Checks globs and filter for the resolved name. */
static bool admits_resolved(struct operation *op, struct str resolved, bool is_for_directory,
                            enum scope_use use)
{
    note_resolved(op, resolved);
    if (!op->has_resolved)
        return false;
    if (is_for_directory ? scope_admits_directory(op->scope, resolved, use)
                         : scope_admits(op->scope, resolved, use))
        return true;
    note_refuser(op, op->scope, resolved, use);
    return false;
}

static bool admits_name(void *data, struct str resolved)
{
    struct operation *op = data;

    return admits_resolved(op, resolved, false, op->use);
}

static bool admits_directory(void *data, struct str resolved)
{
    struct operation *op = data;

    return admits_resolved(op, resolved, true, op->use);
}

static bool admits_target(void *data, struct str resolved)
{
    return admits_resolved(data, resolved, false, SCOPE_CHANGE);
}

struct backend_lookup operation_target_lookup(const struct operation *op)
{
    struct backend_lookup lookup = op->lookup;

    lookup.admits = admits_target;
    return lookup;
}

struct str operation_resolved(const struct operation *op, struct str name)
{
    return op->has_resolved ? path_view(&op->resolved) : name;
}

/* The directory above is only passed through; the whole name is checked. */
static bool note_directory(void *data, struct str resolved)
{
    return path_join(STR_EMPTY, resolved, data) == 0;
}

int operation_check_change(struct operation *op, const struct authority_scope *scope,
                           struct str name)
{
    if (scope_admits(scope, name, SCOPE_CHANGE))
        return 0;
    note_refuser(op, scope, name, SCOPE_CHANGE);
    return ERR_DENIED_BY_POLICY;
}

int operation_pin(struct operation *op, const struct authority_scope *scope,
                  struct backend_lookup *lookup, struct str name, struct path_name *out_name)
{
    const struct backend_ops *ops = scope->authority->backend->ops;
    struct backend_lookup above = *lookup;
    struct path_name directory;
    struct backend_dir *dir;
    struct str parent;
    struct str last;
    int r;

    if (!lookup->follows_links)
        return path_join(STR_EMPTY, name, out_name);
    path_split(name, &parent, &last);
    if (last.len == 0 || str_eq(last, STR("..")))
        return ERR_ROOT_PROTECTED;
    r = path_join(STR_EMPTY, parent, &directory);
    if (r < 0)
        return r;
    above.admits = note_directory;
    above.context = &directory;
    {
        struct path_name given = directory; /* the other one changes while it is looked up */

        r = ops->dir_open(scope->root, &above, path_view(&given), &dir);
    }
    if (r < 0)
        return r;
    ops->dir_close(dir);
    r = path_join(path_view(&directory), last, out_name);
    if (r < 0)
        return r;
    r = operation_check_change(op, scope, path_view(out_name));
    if (r == 0)
        lookup->follows_links = false;
    return r;
}

/* An absolute name is shown relative to the root: nobody is told where that is. */
struct str operation_shown_name(const struct authority_scope *scope, struct str given)
{
    if (given.len > 0 && given.ptr[0] == '/')
        (void)path_strip_root(&given, scope->grant.root.path);
    return given;
}

static void prepare(struct operation *op, struct authority *authority,
                    struct authority_scope *scope, const struct operation_args *args)
{
    op->authority = authority;
    op->scope = scope;
    op->is_mutation = needs[args->operation].is_mutation && !args->is_question;
    op->has_intent = false;
    op->has_resolved = false;
    op->via_artifact_call = args->via_artifact_call;
    op->is_question = args->is_question;
    op->use = needs[args->operation].is_mutation && !needs[args->operation].only_reads_name
                  ? SCOPE_CHANGE
                  : SCOPE_LOOK;
    op->hooks_seen = 0;
    op->why[0] = '\0';
    op->name.len = 0;
    op->name.text[0] = '\0';
    op->destination.len = 0;
    op->destination.text[0] = '\0';
    op->context.request_id = atomic_fetch_add(&authority->last_request, 1) + 1;
    op->context.operation = args->operation;
    op->context.name = operation_shown_name(scope, args->name);
    op->context.destination =
        args->destination != NULL ? operation_shown_name(scope, *args->destination) : STR_EMPTY;
    op->context.access = needs[args->operation].access | args->more_access;
    op->event.request_id = op->context.request_id;
    op->event.operation = args->operation;
    op->event.name = op->context.name;
    op->event.destination = op->context.destination;
    op->event.change = AUTHORITY_CREATED;
    op->event.call = call_current;
    op->event.policy_source = "default";
    op->event.policy_rule = NULL;
    op->event.wrapper_count = 0;
}

static void set_parties(struct operation *op, const struct authority_subject *subject,
                        const struct authority_root *root, const char *reason)
{
    op->context.subject = subject;
    op->context.root = root;
    op->context.reason = reason;
    op->event.subject = subject;
    op->event.root = root;
    op->event.reason = reason;
}

/* A separate function, so that operations without policy and hooks do not pay for its stack. */
__attribute__((noinline)) static int ask_all(struct operation *op)
{
    int r;

    /* As it will be used: else "./secret" would pass a policy that looks for "secret". */
    if (op->scope != NULL) {
        op->context.name = path_view(&op->name);
        op->context.destination = path_view(&op->destination);
    }
    r = op->authority->policy != NULL ? ask_policy(op) : 0;
    if (r == 0)
        r = ask_hooks(op);
    if (r < 0 || op->scope == NULL)
        return r;
    /* Asking a user may have taken long. */
    r = scope_check_alive(op->scope);
    return r < 0 ? refuse(op, r, "grant", "") : 0;
}

static int decide(struct operation *op)
{
    bool is_asked = op->authority->policy != NULL || op->authority->hook_count > 0;
    int r = is_asked ? ask_all(op) : 0;

    return r < 0 ? r : declare_intent(op);
}

int operation_begin(struct operation *op, struct authority_scope *scope,
                    const struct operation_args *args)
{
    bool looks_at_directories = args->is_directory || needs[args->operation].looks_at_directories;
    int r;

    prepare(op, scope->authority, scope, args);
    op->is_interactive = scope->is_interactive;
    set_parties(op, &scope->grant.subject, &scope->shown_root,
                args->reason != NULL ? args->reason : scope->grant.reason);
    cancel_init(&op->cancel, op->authority->clock, CANCEL_NO_DEADLINE);
    op->cancel.above = args->cancel;
    op->cancel.grant_is_gone = &scope->is_revoked;
    op->cancel.grant_ends_ms = scope->grant.expires_ms;
    op->lookup = (struct backend_lookup){
        .follows_links = scope->follows_links,
        .allows_hardlinks = scope->allows_hardlinks,
        .max_file_bytes = scope->max_file_bytes,
        .admits = looks_at_directories ? admits_directory : admits_name,
        .context = op,
        .is_selective = scope_is_selective(scope),
        .cancel = &op->cancel,
    };
    r = check_grant(op);
    if (r == 0)
        r = check_name(op, args->name, looks_at_directories, op->use, &op->name);
    /* What is created under a second name is a file, whatever the first is. */
    if (r == 0 && args->destination != NULL)
        r = check_name(op, *args->destination, false, SCOPE_CHANGE, &op->destination);
    if (r == 0)
        r = cancel_check(args->cancel);
    if (r == 0 && !args->is_question)
        r = decide(op);
    /* The grant may have been revoked while a user was asked. */
    return r == 0 ? cancel_check(&op->cancel) : r;
}

int operation_begin_request(struct operation *op, struct authority *authority,
                            enum authority_operation operation,
                            const struct authority_request *request)
{
    prepare(op, authority, NULL,
            &(struct operation_args){.operation = operation, .name = STR_EMPTY});
    set_parties(op, &request->subject, &request->root, request->reason);
    op->is_interactive = request->is_interactive;
    op->context.access = request->access;
    return decide(op);
}

void operation_explain(struct operation *op, const struct err *why)
{
    if (why->code != 0)
        snprintf(op->why, sizeof(op->why), "%.*s", (int)sizeof(op->why) - 1, why->message);
}

int operation_end(struct operation *op, int result, struct err *err)
{
    tell_hooks(op, result);
    if (result >= 0 && op->is_question)
        return result;
    if (result >= 0)
        (void)notify(op, AUTHORITY_SUCCESS, 0);
    else
        (void)notify(op, err_category(result) == ERR_POLICY ? AUTHORITY_DENIED : AUTHORITY_FAILED,
                     result);
    if (result < 0 && err != NULL) {
        char field[ERR_FIELD_BYTES];

        /* The name as shown, never the root's own path. */
        snprintf(field, sizeof(field), "%.*s", STR_ARG(op->context.name));
        err_set_field(err, result, field, "%s", op->why[0] != '\0' ? op->why : err_text(result));
    }
    return result;
}

bool operation_is_mutation(enum authority_operation operation)
{
    return needs[operation].is_mutation;
}
