/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that run commands: understood on a worker, decided like others, and then the shell's. */
#include "daemon/calls_internal.h"

static int understand(void *data, struct cancel *token)
{
    struct call *call = data;

    (void)token;
    return shell_prepare(call->calls->config.shell, call->tool, call->arguments, &call->shell_call,
                         &call->err);
}

static bool copy_str(struct arena *arena, struct str *text)
{
    const char *copy = arena_copy(arena, *text);

    text->ptr = copy;
    return copy != NULL;
}

/* The texts of a job's command are not the call's own. */
static bool take_resource(struct call *call, struct permission_resource resource, struct str text)
{
    struct arena *arena = &call->arena;

    call->resources = arena_new(arena, struct permission_resource);
    if (call->resources == NULL || !copy_str(arena, &resource.given) ||
        !copy_str(arena, &resource.resolved) || !copy_str(arena, &resource.cwd) ||
        !copy_str(arena, &text))
        return false;
    *call->resources = resource;
    call->resource_count = 1;
    call->command = text;
    return true;
}

static void on_understood(struct call *call, int result)
{
    struct permission_resource resource;
    struct str text;

    if (!calls_is_back(call))
        return;
    if (result < 0)
        calls_fail(call, &call->err);
    else if (!shell_resource(call->shell_call, call->calls, &resource, &text))
        calls_run(call); /* reading or stopping a job of its own */
    else if (take_resource(call, resource, text))
        calls_decide(call);
    else
        calls_fail_plainly(call, call->arena.error);
}

void calls_prepare_command(struct call *call)
{
    calls_work(call, understand, on_understood, CALLS_TIMEOUT_MS);
}

void calls_describe_command(struct call *call)
{
    struct question *question = &call->decision.question;
    struct shell_words words =
        shell_words(call->calls->config.shell, call->tool, call->resources, call->command);

    question->action = words.action;
    question->detail = words.detail;
}

static void on_done(void *data, int error, struct str result)
{
    struct call *call = data;

    call->shell_id = 0;
    if (!calls_is_back(call))
        return;
    if (error < 0)
        calls_fail_plainly(call, error);
    else
        calls_answer(call, result);
}

void calls_run_command(struct call *call)
{
    const struct shell_events events = {
        .on_done = on_done,
        .data = call,
        .session = call->calls,
        .decision = permission_source_name(call->decision.source),
    };
    struct shell_call *shell_call = call->shell_call;

    call->shell_call = NULL;
    call->is_away = true; /* the shell's, until on_done */
    call->shell_id = shell_run(shell_call, &events);
}

void calls_refuse_command(struct call *call, const char *source, int code)
{
    struct shell_call *shell_call = call->shell_call;

    call->shell_call = NULL;
    shell_refuse(shell_call, call->calls, source, code, 0);
}
