/* SPDX-License-Identifier: Apache-2.0 */
/* Writes audit records of calls at the toolhost. */
#include "programs/connect/hostlink_internal.h"

#include "protocol/toolresult.h"

static int note(const struct host_work *work, struct authority_note *note)
{
    const struct authority_call about = {
        .tool = work->work.input->tool->name.ptr, /* of the catalogue, which ends its texts */
        .decision = permission_source_name(work->work.decision.source),
        .id = work->work.input->number,
    };

    return authority_note_call(work->link->config.recorded, &about, note);
}

static bool changes(const struct touched *touched)
{
    return touched->operation == AUTHORITY_OP_WRITE || touched->operation == AUTHORITY_OP_REMOVE;
}

int hostlink_note_intents(struct host_work *work)
{
    for (size_t i = 0; i < work->touched_count; i++) {
        struct touched *touched = &work->touched[i];
        struct authority_note intent = {
            .operation = touched->operation, .name = touched->name, .outcome = AUTHORITY_INTENT};
        int r;

        if (!changes(touched))
            continue;
        r = note(work, &intent);
        touched->request_id = intent.request_id;
        if (r < 0)
            return r;
    }
    return 0;
}

/* An unknown outcome is recorded as an intent only, never as an outcome. */
static void note_outcomes(const struct host_work *work, int error, bool is_known)
{
    for (size_t i = 0; i < work->touched_count; i++) {
        const struct touched *touched = &work->touched[i];
        struct authority_note told = {
            .operation = touched->operation,
            .name = touched->name,
            .outcome = error == 0 ? AUTHORITY_SUCCESS : AUTHORITY_FAILED,
            .error = error,
            .request_id = touched->request_id,
        };

        if (is_known || !changes(touched))
            (void)note(work, &told);
    }
}

static enum authority_operation operation_of(enum catalog_group group)
{
    return group == CATALOG_FILESYSTEM_READ ? AUTHORITY_OP_READ : AUTHORITY_OP_WRITE;
}

/* For a name that the toolhost refuses. */
static void note_error(const struct host_work *work, const struct err *err)
{
    struct authority_note refusal = {
        .operation = operation_of(work->work.input->tool->group),
        .name = str_from(err->field),
        .outcome = AUTHORITY_DENIED,
        .error = err->code,
    };

    (void)note(work, &refusal);
}

void hostlink_note_end(struct host_work *work, struct str result, const struct err *err,
                       bool has_begun)
{
    struct err failure = ERR_INIT;

    if (work->has_run && err == NULL)
        note_outcomes(work, toolresult_is_error(result, &failure) ? failure.code : 0, true);
    else if (work->has_run)
        note_outcomes(work, err->code, !has_begun);
    else if (work->work.events != NULL && err_category(err->code) == ERR_POLICY)
        note_error(work, err);
}

/* With the name below the folder, if the record has one for it. */
void hostlink_note_refusal(struct work *data)
{
    const struct host_work *work = (const struct host_work *)data;
    const struct permission_resource *resource = data->refused;
    struct authority_note refusal = {
        .operation = operation_of(resource->group),
        .outcome = AUTHORITY_DENIED,
        .error = data->err.code,
        .policy_source = data->refused_by,
        .policy_rule = data->refused_rule,
    };

    for (size_t i = 0; i < work->touched_count; i++) {
        if (!str_ends_with(resource->resolved, work->touched[i].name))
            continue;
        refusal.name = work->touched[i].name;
        refusal.operation = work->touched[i].operation;
        break;
    }
    (void)note(work, &refusal);
}
