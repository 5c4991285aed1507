/* SPDX-License-Identifier: Apache-2.0 */
/* What the record is told of calls on files. */
#include "daemon/calls_internal.h"

static int note_as(const struct calls *calls, const struct catalog_tool *tool,
                   enum permission_source source, struct authority_note *note)
{
    const struct authority_call about = {
        .tool = tool->name.ptr, /* of the catalogue, which ends its texts */
        .decision = permission_source_name(source),
    };
    int r;

    authority_call_begin(&about);
    r = authority_note(calls->config.recorded, note);
    authority_call_end();
    return r;
}

static int note(const struct call *call, struct authority_note *note)
{
    return note_as(call->calls, call->tool, call->decision.source, note);
}

void calls_note_not_offered(const struct calls *calls, const struct catalog_tool *tool)
{
    struct authority_note refusal = {
        .operation = tool->group == CATALOG_SHELL             ? AUTHORITY_OP_EXECUTE
                     : tool->group == CATALOG_FILESYSTEM_READ ? AUTHORITY_OP_READ
                                                              : AUTHORITY_OP_WRITE,
        .outcome = AUTHORITY_DENIED,
        .error = ERR_DENIED_BY_POLICY,
        .policy_source = permission_source_name(PERMISSION_BY_MODE),
    };

    (void)note_as(calls, tool, PERMISSION_BY_MODE, &refusal);
}

static bool changes(const struct touched *touched)
{
    return touched->operation == AUTHORITY_OP_WRITE || touched->operation == AUTHORITY_OP_REMOVE;
}

int calls_note_intents(struct call *call)
{
    for (size_t i = 0; i < call->touched_count; i++) {
        struct touched *touched = &call->touched[i];
        struct authority_note intent = {
            .operation = touched->operation, .name = touched->name, .outcome = AUTHORITY_INTENT};
        int r;

        if (!changes(touched))
            continue;
        r = note(call, &intent);
        touched->request_id = intent.request_id;
        if (r < 0)
            return r;
    }
    return 0;
}

void calls_note_outcomes(struct call *call, enum calls_outcome outcome, int error)
{
    for (size_t i = 0; i < call->touched_count; i++) {
        const struct touched *touched = &call->touched[i];
        struct authority_note told = {
            .operation = touched->operation,
            .name = touched->name,
            .outcome = outcome == CALLS_DONE ? AUTHORITY_SUCCESS : AUTHORITY_FAILED,
            .error = error,
            .request_id = touched->request_id,
        };

        if (outcome != CALLS_UNKNOWN || !changes(touched))
            (void)note(call, &told);
    }
}

void calls_note_error(struct call *call, const struct err *err)
{
    struct authority_note refusal = {
        .operation =
            call->tool->group == CATALOG_FILESYSTEM_READ ? AUTHORITY_OP_READ : AUTHORITY_OP_WRITE,
        .name = str_from(err->field),
        .outcome = AUTHORITY_DENIED,
        .error = err->code,
    };

    (void)note(call, &refusal);
}

/* The name below the folder, if the record has one for it. */
void calls_note_refusal(void *data, const struct permission_resource *resource, const char *source,
                        int code)
{
    const struct call *call = data;
    struct authority_note refusal = {
        .operation =
            resource->group == CATALOG_FILESYSTEM_READ ? AUTHORITY_OP_READ : AUTHORITY_OP_WRITE,
        .outcome = AUTHORITY_DENIED,
        .error = code,
        .policy_source = source,
    };

    for (size_t i = 0; i < call->touched_count; i++) {
        if (!str_ends_with(resource->resolved, call->touched[i].name))
            continue;
        refusal.name = call->touched[i].name;
        refusal.operation = call->touched[i].operation;
        break;
    }
    (void)note(call, &refusal);
}
