/* SPDX-License-Identifier: Apache-2.0 */
#include "toolhost/job.h"

#include <stdlib.h>

#include "toolhost/answer.h"

static int read_request(struct job *job, struct str body, bool *out_is_malformed, struct err *err)
{
    const char *copy = arena_copy(&job->arena, body);
    int r;

    *out_is_malformed = false;
    if (copy == NULL)
        return err_set_plain(err, job->arena.error);
    r = toolwire_read_prepare(&job->arena, (struct str){copy, body.len}, &job->request, err);
    if (r < 0) {
        *out_is_malformed = r != ERR_NO_MEMORY && r != ERR_TOO_LARGE;
        return r;
    }
    job->tool = catalog_find(job->request.tool);
    if (job->tool == NULL || !toolbox_has(job->config.box, job->tool))
        return err_set_field(err, ERR_NOT_FOUND, "tool", "there is no such tool here");
    return 0;
}

int job_new(const struct job_config *config, struct str body, struct job **out_job,
            bool *out_is_malformed, struct err *err)
{
    struct job *job = calloc(1, sizeof(*job));
    int r;

    *out_is_malformed = false;
    if (job == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    job->config = *config;
    atomic_init(&job->refs, 1);
    arena_init(&job->arena, config->max_arena_bytes);
    buf_init(&job->answer, config->max_answer_bytes);
    r = read_request(job, body, out_is_malformed, err);
    if (r < 0) {
        job_unref(job);
        return r;
    }
    *out_job = job;
    return 0;
}

struct job *job_ref(struct job *job)
{
    atomic_fetch_add_explicit(&job->refs, 1, memory_order_relaxed);
    return job;
}

void job_unref(void *data)
{
    struct job *job = data;

    if (job == NULL || atomic_fetch_sub_explicit(&job->refs, 1, memory_order_acq_rel) != 1)
        return;
    tool_free(job->call);
    arena_done(&job->arena);
    buf_done(&job->answer);
    free(job);
}

static int prepare(struct job *job, const struct cancel *token)
{
    int r = tool_prepare(job->config.box, job->tool, job->request.arguments, token, &job->call,
                         &job->err);

    if (r < 0)
        return r;
    r = answer_write_prepared(job->call, token, &job->answer, &job->err);
    if (r == ERR_INVALID_UTF8)
        return err_set(&job->err, r, "a link leads to a name that is not valid UTF-8");
    return r;
}

int job_prepare(void *data, struct cancel *token)
{
    struct job *job = data;
    int r;

    atomic_fetch_add(job->config.running, 1);
    r = prepare(job, token);
    atomic_fetch_sub(job->config.running, 1);
    return r;
}

static int preview(struct job *job, const struct cancel *token)
{
    cleanup_tool_preview struct tool_preview preview;
    int r;

    tool_preview_init(&preview);
    r = tool_preview_within(job->call, job->telling, token, &preview, &job->err);
    if (r < 0)
        return r;
    buf_clear(&job->answer);
    r = answer_write_previewed(&preview, &job->answer);
    return r < 0 ? err_set_plain(&job->err, r) : 0;
}

int job_preview(void *data, struct cancel *token)
{
    struct job *job = data;
    int r;

    atomic_fetch_add(job->config.running, 1);
    r = preview(job, token);
    atomic_fetch_sub(job->config.running, 1);
    return r;
}

static void note_progress(void *data, uint64_t done, uint64_t total, const char *what)
{
    struct job *job = data;

    atomic_store_explicit(&job->done, done, memory_order_relaxed);
    atomic_store_explicit(&job->total, total, memory_order_relaxed);
    atomic_store_explicit(&job->what, what, memory_order_release);
}

int job_run(void *data, struct cancel *token)
{
    struct job *job = data;
    unsigned change = job->tool->group == CATALOG_FILESYSTEM_WRITE;
    int r;

    atomic_fetch_add(job->config.running, 1);
    atomic_fetch_add(job->config.changing, change);
    buf_clear(&job->answer);
    r = tool_run(job->call, token, note_progress, job, &job->answer);
    if (r < 0)
        err_set_plain(&job->err, r);
    atomic_fetch_sub(job->config.changing, change);
    atomic_fetch_sub(job->config.running, 1);
    return r;
}
