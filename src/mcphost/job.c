/* SPDX-License-Identifier: Apache-2.0 */
#include "mcphost/job.h"

#include <stdlib.h>

#include "tools/resources.h"

enum {
    JOB_ARENA_BYTES = 512 << 20, /* the message that it comes from has its own ceiling */
    JOB_RESULT_BYTES = 1 << 30,
};

int job_new(struct toolbox *box, atomic_uint *running, atomic_uint *changing,
            const struct mcp_call *call, struct job **out_job)
{
    struct job *job = calloc(1, sizeof(*job));
    struct str text = STR_EMPTY;
    int r = 0;

    if (job == NULL)
        return ERR_NO_MEMORY;
    job->box = box;
    job->running = running;
    job->changing = changing;
    job->work = mcp_call_work(call);
    arena_init(&job->arena, JOB_ARENA_BYTES);
    buf_init(&job->result, JOB_RESULT_BYTES);
    switch (job->work) {
    case MCP_TOOL_CALL:
        job->tool = mcp_call_tool(call);
        job->arguments = json_copy(&job->arena, mcp_call_arguments(call));
        r = job->arguments != NULL ? 0 : job->arena.error;
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
    if (r == 0) {
        const char *copy = arena_copy(&job->arena, text);

        job->text = (struct str){copy, text.len};
        r = copy != NULL ? 0 : job->arena.error;
    }
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

/* A tool that refuses or fails is an answer like any other. */
static int run_tool(struct job *job, const struct cancel *token)
{
    struct tool_call *call;
    int r = tool_prepare(job->box, job->tool, job->arguments, token, &call, &job->err);

    if (r == ERR_CANCELLED || r == ERR_TIMED_OUT)
        return r;
    if (r < 0)
        return tool_write_error(&job->err, &job->result);
    r = tool_run(call, token, note_progress, job, &job->result);
    tool_free(call);
    return r < 0 ? err_set_plain(&job->err, r) : 0;
}

static int run(struct job *job, const struct cancel *token)
{
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
