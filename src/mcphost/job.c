/* SPDX-License-Identifier: Apache-2.0 */
#include "mcphost/job.h"

#include <stdlib.h>

#include "tools/consent.h"
#include "tools/preview.h"
#include "tools/resources.h"

enum {
    JOB_ARENA_BYTES = 512 << 20, /* the message that it comes from has its own ceiling */
    JOB_RESULT_BYTES = 1 << 30,
};

static struct job *make(const struct front_config *config, const struct decision_terms *terms,
                        enum mcp_work work)
{
    struct job *job = calloc(1, sizeof(*job));

    if (job == NULL)
        return NULL;
    job->box = config->box;
    job->shell = config->shell;
    job->running = config->running;
    job->changing = config->changing;
    job->terms = *terms;
    job->work = work;
    arena_init(&job->arena, JOB_ARENA_BYTES);
    buf_init(&job->result, JOB_RESULT_BYTES);
    return job;
}

static bool copy_str(struct arena *arena, struct str text, struct str *out_copy)
{
    *out_copy = (struct str){arena_copy(arena, text), text.len};
    return out_copy->ptr != NULL;
}

int job_new_decision(const struct front_config *config, const struct decision_terms *terms,
                     const struct catalog_tool *tool, const struct job_command *command,
                     struct job **out_job)
{
    struct job *job = make(config, terms, MCP_TOOL_CALL);
    struct permission_resource *resource;

    if (job == NULL)
        return ERR_NO_MEMORY;
    resource = &job->command.resource;
    *resource = (struct permission_resource){.group = command->resource.group,
                                             .is_typed = command->resource.is_typed};
    job->step = JOB_COMMAND_DECIDED;
    job->tool = tool;
    if (!copy_str(&job->arena, command->resource.given, &resource->given) ||
        !copy_str(&job->arena, command->resource.resolved, &resource->resolved) ||
        !copy_str(&job->arena, command->resource.cwd, &resource->cwd) ||
        !copy_str(&job->arena, command->text, &job->command.text)) {
        int error = job->arena.error;

        job_free(job);
        return error;
    }
    *out_job = job;
    return 0;
}

int job_new(const struct front_config *config, const struct decision_terms *terms,
            const struct mcp_call *call, struct job **out_job)
{
    struct job *job = make(config, terms, mcp_call_work(call));
    struct str text = STR_EMPTY;
    int r = 0;

    if (job == NULL)
        return ERR_NO_MEMORY;
    switch (job->work) {
    case MCP_TOOL_CALL:
        job->tool = mcp_call_tool(call);
        job->arguments = json_copy(&job->arena, mcp_call_arguments(call));
        r = job->arguments != NULL ? 0 : job->arena.error;
        if (shell_has(job->tool))
            job->step = JOB_COMMAND_PREPARED;
        break;
    case MCP_RESOURCES_LIST:
        text = mcp_call_cursor(call);
        break;
    case MCP_COMPLETE:
        text = mcp_call_argument_value(call);
        break;
    case MCP_RESOURCE_READ:
    case MCP_SUBSCRIBE:
        text = mcp_call_uri(call);
        break;
    case MCP_PROMPT_GET:
        break; /* there are none here */
    }
    if (r == 0 && !copy_str(&job->arena, text, &job->text))
        r = job->arena.error;
    if (r < 0) {
        job_free(job);
        return r;
    }
    *out_job = job;
    return 0;
}

void job_free(void *data)
{
    struct job *job = data;

    if (job == NULL)
        return;
    shell_drop(job->shell_call);
    arena_done(&job->arena);
    buf_done(&job->result);
    free(job);
}

static void note_progress(void *data, uint64_t done, uint64_t total, const char *what)
{
    struct job *job = data;

    atomic_store_explicit(&job->done, done, memory_order_relaxed);
    atomic_store_explicit(&job->total, total, memory_order_relaxed);
    atomic_store_explicit(&job->what, what, memory_order_release);
}

/* What is refused, by whomever, is an answer like any other. */
static int answer_refusal(struct job *job, int code)
{
    if (code == ERR_CANCELLED || code == ERR_TIMED_OUT)
        return code;
    return tool_write_error(&job->err, &job->result);
}

static int run_prepared(struct job *job, struct tool_call *call, const struct cancel *token)
{
    const struct authority_call about = {.tool = job->tool->name.ptr,
                                         .decision = permission_source_name(job->decision.source)};
    int r;

    authority_call_begin(&about);
    r = tool_run(call, token, note_progress, job, &job->result);
    authority_call_end();
    return r < 0 ? err_set_plain(&job->err, r) : 0;
}

/* ---- whether it may be done ---- */

static int describe(void *data, struct arena *arena, enum decision_telling telling,
                    const struct cancel *cancel, struct question *question, struct err *err)
{
    struct tool_call *call = data;
    cleanup_tool_preview struct tool_preview preview;
    int r;

    tool_preview_init(&preview);
    r = tool_preview_within(call, telling, cancel, &preview, err);
    if (r < 0)
        return r;
    question->is_diff = preview.is_diff;
    question->deletes = tool_deletes(call);
    return copy_str(arena, buf_view(&preview.action), &question->action) &&
                   copy_str(arena, buf_view(&preview.detail), &question->detail)
               ? 0
               : err_set_plain(err, arena->error);
}

static void record_refusal(void *data, const struct permission_resource *resource,
                           const char *source, int code)
{
    tool_record_refusal(data, resource, source, code);
}

static int decide(struct job *job, struct tool_call *call, const struct cancel *token)
{
    struct decision_subject subject = {
        .tool = job->tool, .describe = describe, .refused = record_refusal, .data = call};
    int r = tool_permission_resources(call, &subject.resources, &subject.count, &job->err);

    if (r == 0) {
        r = tool_consent_mark(call, token, &subject.mark);
        if (r < 0)
            err_set_plain(&job->err, r);
    }
    if (r == 0)
        r = decision_make(&job->terms, &subject, &job->arena, token, &job->decision, &job->err);
    return r;
}

/* A name that is refused here is recorded as this tool's. */
static int prepare(struct job *job, const struct cancel *token, struct tool_call **out_call)
{
    const struct authority_call about = {.tool = job->tool->name.ptr};
    int r;

    authority_call_begin(&about);
    r = tool_prepare(job->box, job->tool, job->arguments, token, out_call, &job->err);
    authority_call_end();
    return r;
}

static int run_tool(struct job *job, const struct cancel *token)
{
    struct tool_call *call;
    int r = prepare(job, token, &call);

    if (r < 0)
        return answer_refusal(job, r);
    r = decide(job, call, token);
    if (r < 0)
        r = answer_refusal(job, r);
    else if (!job->decision.asks)
        r = run_prepared(job, call, token);
    tool_free(call);
    return r;
}

/* ---- commands ---- */

static int prepare_command(struct job *job)
{
    int r = shell_prepare(job->shell, job->tool, job->arguments, &job->shell_call, &job->err);

    return r < 0 ? answer_refusal(job, r) : 0;
}

static int describe_command(void *data, struct arena *arena, enum decision_telling telling,
                            const struct cancel *cancel, struct question *question, struct err *err)
{
    const struct job *job = data;
    struct shell_words words =
        shell_words(job->shell, job->tool, &job->command.resource, job->command.text);

    (void)arena;
    (void)telling;
    (void)cancel;
    (void)err;
    question->action = words.action;
    question->detail = words.detail;
    return 0;
}

/* The shell puts it into the record, on the loop. */
static void note_refusal(void *data, const struct permission_resource *resource, const char *source,
                         int code)
{
    struct job *job = data;

    (void)resource;
    job->refusal = code;
    job->refused_by = source;
}

static int decide_command(struct job *job, const struct cancel *token)
{
    const struct decision_subject subject = {
        .tool = job->tool,
        .resources = &job->command.resource,
        .count = 1,
        .describe = describe_command,
        .refused = note_refusal,
        .data = job,
    };
    int r = decision_make(&job->terms, &subject, &job->arena, token, &job->decision, &job->err);

    return r < 0 ? answer_refusal(job, r) : 0;
}

/*
 * Addresses are told of only where reading needs no consent. That can change while we run, when
 * the user's rules cannot be read any more.
 */
static int check_addresses(struct job *job)
{
    struct permission_modes modes = permission_modes(keeper_permission(job->terms.keeper));

    if (job->work == MCP_TOOL_CALL || modes.of[CATALOG_FILESYSTEM_READ] == PERMISSION_ALLOW)
        return 0;
    return err_set(&job->err, ERR_DENIED_BY_POLICY,
                   "reading has to be asked for, which only tools can do");
}

static int run(struct job *job, const struct cancel *token)
{
    int r = check_addresses(job);

    if (r < 0)
        return r;
    if (job->step == JOB_COMMAND_PREPARED)
        return prepare_command(job);
    if (job->step == JOB_COMMAND_DECIDED)
        return decide_command(job, token);
    switch (job->work) {
    case MCP_TOOL_CALL:
        return run_tool(job, token);
    case MCP_RESOURCES_LIST:
        return resource_list(job->box, job->text, token, &job->result, &job->err);
    case MCP_RESOURCE_READ:
        return resource_read(job->box, job->text, token, &job->result, &job->err);
    case MCP_COMPLETE:
        return resource_complete(job->box, job->text, token, &job->result, &job->err);
    case MCP_SUBSCRIBE: /* subscriptions.c's */
    case MCP_PROMPT_GET:
        break;
    }
    return err_set_plain(&job->err, ERR_INTERNAL);
}

int job_run(void *data, struct cancel *token)
{
    struct job *job = data;
    unsigned change = job->work == MCP_TOOL_CALL && job->tool->group == CATALOG_FILESYSTEM_WRITE;
    int r;

    atomic_fetch_add(job->running, 1);
    atomic_fetch_add(job->changing, change);
    r = run(job, token);
    atomic_fetch_sub(job->changing, change);
    atomic_fetch_sub(job->running, 1);
    return r;
}
