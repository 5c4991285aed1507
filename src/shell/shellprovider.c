/* SPDX-License-Identifier: Apache-2.0 */
#include "shell/shellprovider.h"

#include <stdio.h>

#include "shell/internal.h"

enum { LINE_BYTES = 256 }; /* of what a command printed last, for those who wait */

static int prepare(void *self, const struct catalog_tool *tool, const struct json_value *arguments,
                   uint64_t number, const struct cancel *cancel, void **out_call, struct err *err)
{
    struct shell_call *call;
    int r = shell_prepare(self, tool, arguments, &call, err);

    (void)cancel;
    if (r < 0)
        return r;
    call->number = number;
    *out_call = call;
    return r;
}

static void free_call(void *call)
{
    shell_drop(call);
}

/* The call does not own the texts of a job's command, and its own are freed when it runs. */
static int subject(void *data, const void *session, struct arena *arena,
                   const struct cancel *cancel, struct provider_subject *out_subject,
                   struct err *err)
{
    struct shell_call *call = data;
    struct permission_resource resource;
    struct permission_resource *copy;

    (void)cancel;
    *out_subject = (struct provider_subject){0};
    if (!shell_resource(call, session, &resource, &call->text))
        return 0; /* reading or stopping a job of its own */
    copy = arena_new(arena, struct permission_resource);
    if (copy == NULL)
        return err_set_plain(err, arena->error);
    *copy = resource;
    if (!arena_copy_str(arena, resource.given, &copy->given) ||
        !arena_copy_str(arena, resource.resolved, &copy->resolved) ||
        !arena_copy_str(arena, resource.cwd, &copy->cwd) ||
        !arena_copy_str(arena, call->text, &call->text))
        return err_set_plain(err, arena->error);
    call->asked = copy;
    out_subject->resources = copy;
    out_subject->count = 1;
    return 0;
}

static int preview(void *data, struct arena *arena, enum decision_disclosure disclosure,
                   const struct cancel *cancel, struct question *question, struct err *err)
{
    const struct shell_call *call = data;
    struct shell_words words = shell_words(call->shell, call->tool, call->asked, call->text);

    (void)arena;
    (void)cancel;
    if (disclosure == DECISION_DISCLOSES_ALL && call->failure.code < 0) {
        if (err != NULL)
            *err = call->failure;
        return call->failure.code;
    }
    question->action = words.action;
    question->detail = words.detail;
    return 0;
}

static void refused(void *call, const void *session, const struct permission_resource *resource,
                    const char *source, const char *rule, int code)
{
    (void)resource;
    shell_refuse(call, session, source, rule, code);
}

static void on_progress(void *data, uint64_t bytes, struct str last_line)
{
    const struct shell_call *call = data;
    char line[LINE_BYTES];

    snprintf(line, sizeof(line), "%.*s", STR_ARG(last_line));
    call->caller.on_progress(call->caller.data, bytes, 0, line);
}

static void on_done(void *data, int error, struct str result)
{
    const struct shell_call *call = data;

    call->caller.on_done(call->caller.data, error, result);
}

static uint64_t start(void *data, const struct provider_events *events)
{
    struct shell_call *call = data;

    call->caller = *events;
    return shell_run(call, &(struct shell_events){
                               .on_progress = events->wants_progress ? on_progress : NULL,
                               .on_done = on_done,
                               .data = call,
                               .session = events->session,
                               .decision = events->decision,
                           });
}

static void cancel(void *self, uint64_t id)
{
    shell_cancel(self, id);
}

static void end_session(void *self, const void *session)
{
    shell_end_session(self, session);
}

const struct provider shell_provider = {
    .name = "shell",
    .prepare = prepare,
    .free = free_call,
    .subject = subject,
    .preview = preview,
    .refused = refused,
    .start = start,
    .cancel = cancel,
    .end_session = end_session,
};
