/* SPDX-License-Identifier: Apache-2.0 */
/* What only the host knows, for the audit log: the tool call, and notes about its own actions. */
#include "authority/internal.h"

#include <assert.h>

/* A call runs in one thread, and its operations begin there. */
_Thread_local const struct authority_call *call_current __attribute__((tls_model("initial-exec")));

void authority_call_begin(const struct authority_call *call)
{
    assert(call_current == NULL);
    call_current = call;
}

void authority_call_end(void)
{
    call_current = NULL;
}

/* A refusal without a code, or a success with one, could not be found. */
static bool is_sound(const struct authority_note *note)
{
    bool is_bad = note->outcome == AUTHORITY_DENIED || note->outcome == AUTHORITY_FAILED;

    return (unsigned)note->operation < AUTHORITY_OPERATIONS &&
           (is_bad || note->outcome == AUTHORITY_INTENT || note->outcome == AUTHORITY_SUCCESS) &&
           (note->error < 0) == is_bad;
}

int authority_note(struct authority_scope *scope, struct authority_note *note)
{
    struct authority_event event;
    bool is_command = note->is_text || note->operation == AUTHORITY_OP_EXECUTE;
    struct str name = note->name;
    struct str destination = note->destination;

    if (!is_sound(note))
        return ERR_INVALID_ARGUMENT;
    /* A command is no name, also when it begins like one: it belongs to its directory. */
    scope = scope_of(scope, is_command ? &destination : &name);
    if (note->request_id == 0)
        note->request_id = atomic_fetch_add(&scope->authority->last_request, 1) + 1;
    event = (struct authority_event){
        .request_id = note->request_id,
        .subject = &scope->grant.subject,
        .root = &scope->shown_root,
        .operation = note->operation,
        .name = is_command ? name : operation_shown_name(scope, name),
        .destination = operation_shown_name(scope, destination),
        .outcome = note->outcome,
        .error = note->error,
        .call = call_current,
        .policy_source = note->policy_source,
        .policy_rule = note->policy_rule,
        .reason = note->reason != NULL ? note->reason : scope->grant.reason,
        .details = note->operation == AUTHORITY_OP_CALL ? note->details : STR_EMPTY,
    };
    return operation_notify(scope->authority, &event) < 0 && note->outcome == AUTHORITY_INTENT
               ? ERR_AUDIT_UNAVAILABLE
               : 0;
}

int authority_note_call(struct authority_scope *scope, const struct authority_call *call,
                        struct authority_note *note)
{
    int r;

    if (scope == NULL)
        return 0;
    authority_call_begin(call);
    r = authority_note(scope, note);
    authority_call_end();
    return r;
}
