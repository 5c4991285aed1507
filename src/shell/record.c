/* SPDX-License-Identifier: Apache-2.0 */
/* Commands in the audit log: what was about to run, how it ended, what was refused. */
#include "shell/internal.h"

#include <stdio.h>

enum { REASON_BYTES = 48 };

struct record_mark record_mark_of(const struct shell_call *call)
{
    return (struct record_mark){
        .call = call->number,
        .tool = call->tool->name.ptr, /* of the catalogue, which ends its texts */
        .decision = call->events.decision,
    };
}

static int note(struct shell *shell, const struct record_mark *mark,
                const struct shell_command *command, struct authority_note *note)
{
    const struct authority_call call = {
        .tool = mark->tool, .decision = mark->decision, .id = mark->call};

    note->operation = AUTHORITY_OP_EXECUTE;
    note->name = command->whole;
    note->destination = command->cwd;
    note->policy_source = mark->decision;
    note->request_id = mark->request_id;
    return authority_note_call(shell->config.recorded, &call, note);
}

int record_intent(struct shell *shell, struct record_mark *mark,
                  const struct shell_command *command)
{
    struct authority_note intent = {.outcome = AUTHORITY_INTENT, .reason = mark->reason};
    int r = note(shell, mark, command, &intent);

    mark->request_id = intent.request_id;
    mark->is_open = r == 0;
    return r;
}

void record_outcome(struct shell *shell, struct record_mark *mark,
                    const struct shell_command *command, int error, struct starter_end end)
{
    char reason[REASON_BYTES];
    char name[SIGNAL_NAME_BYTES];
    struct authority_note outcome = {
        .outcome = error < 0 ? AUTHORITY_FAILED : AUTHORITY_SUCCESS,
        .error = error,
        .reason = reason,
    };

    if (!mark->is_open)
        return;
    mark->is_open = false;
    if (error < 0)
        outcome.reason = err_text(error);
    else if (mark->reason != NULL)
        outcome.reason = mark->reason;
    else if (end.is_signal)
        snprintf(reason, sizeof(reason), "ended by signal %s", signal_name(end.value, name));
    else
        snprintf(reason, sizeof(reason), "exit code %d", end.value);
    (void)note(shell, mark, command, &outcome);
}

void record_refusal(struct shell *shell, const struct record_mark *mark,
                    const struct shell_command *command, const char *rule, int error)
{
    struct authority_note refusal = {
        .outcome = AUTHORITY_DENIED, .error = error, .policy_rule = rule};

    (void)note(shell, mark, command, &refusal);
}
