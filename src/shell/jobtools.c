/* SPDX-License-Identifier: Apache-2.0 */
/* Tools for running jobs: reading, typing, stopping, listing. */
#include "shell/job.h"

#include <signal.h>

#include "shell/keys.h"

enum {
    STEP_BYTES = 256 << 10,  /* of output in one call */
    OBJECT_BYTES = 64 << 20, /* what goes into it has ceilings of its own */
};

/* ---- output ---- */

/* *out_has_more: some of the job's output is still unread. */
static int write_output(struct json_writer *w, const struct shell_call *call, struct shell_job *job,
                        bool *out_has_more)
{
    cleanup_buf struct buf text = BUF_INIT(OBJECT_BYTES);
    struct history_window window;
    int64_t cursor = (int64_t)job->unread;
    int r;

    if (call->tool->id == TOOL_SHELL_OUTPUT)
        (void)json_get_whole(call->arguments, STR("cursor"), &cursor);
    r = history_read(&job->history, (uint64_t)cursor, STEP_BYTES, has_ended(job), &text, &window);
    if (r < 0)
        return r;
    if (window.next > job->unread)
        job->unread = window.next;
    json_put_str(w, STR("output"), buf_view(&text));
    json_put_int(w, STR("cursor"), (int64_t)window.next);
    if (window.is_cut)
        json_put_bool(w, STR("hasMore"), true);
    if (window.dropped > 0)
        json_put_int(w, STR("droppedBytes"), (int64_t)window.dropped);
    *out_has_more = window.is_cut;
    return has_ended(job)
               ? write_hint(w, call->shell, job->end, job->command.whole, buf_view(&text))
               : 0;
}

/* True if there is more to read. */
static bool answer_output(struct shell_call *call, struct shell_job *job)
{
    cleanup_buf struct buf object = BUF_INIT(OBJECT_BYTES);
    bool has_more = false;
    struct json_writer w;
    int r;

    json_writer_init(&w, &object);
    json_begin_object(&w);
    r = write_output(&w, call, job, &has_more);
    job_write_state(&w, job);
    call_finish(call, &w, r, false);
    return has_more;
}

static void on_waited(void *data)
{
    struct shell_call *call = data;
    struct shell_job *job = steal_ptr(&call->job);

    list_remove(&call->waiting);
    (void)answer_output(call, job);
}

void job_output(struct shell_call *call)
{
    struct shell_job *job = job_needed(call);
    int64_t wait_ms = 0;
    int64_t cursor;

    if (job == NULL)
        return;
    cursor = (int64_t)job->unread;
    (void)json_get_whole(call->arguments, STR("cursor"), &cursor);
    (void)json_get_whole(call->arguments, STR("waitMs"), &wait_ms);
    if (has_ended(job) || wait_ms <= 0 || (uint64_t)cursor < job->history.total) {
        (void)answer_output(call, job);
        return;
    }
    call->job = job;
    list_append(&job->waiting, &call->waiting);
    timer_init(&call->timer, call->shell->config.loop, on_waited, call);
    timer_start(&call->timer, wait_ms);
}

/* ---- input ---- */

static int collect_input(const struct shell_call *call, const struct shell_job *job,
                         struct buf *out, struct err *err)
{
    const struct json_value *keys = json_get(call->arguments, STR("keys"));
    struct str text = STR_EMPTY;
    int r;

    (void)json_get_str(call->arguments, STR("text"), &text);
    r = buf_append_str(out, text);
    if (r == 0 && keys != NULL && keys->size > 0 && !job->has_terminal)
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "keys work only for jobs started with terminal; send text instead");
    if (keys != NULL)
        json_each_item (key, keys) {
            struct str bytes = key_bytes(json_str(key));

            if (bytes.len == 0)
                return err_set(err, ERR_INVALID_ARGUMENT,
                               "keys: %.*s is not a known key, as enter, escape, up or ctrl-c "
                               "are; put characters into text",
                               STR_ARG(str_slice(json_str(key), 0, ERR_FIELD_BYTES)));
            if (r == 0)
                r = buf_append_str(out, bytes);
        }
    return r < 0 ? err_set_plain(err, r) : 0;
}

static int send_input(struct shell_call *call, struct shell_job *job, size_t *out_bytes,
                      struct err *err)
{
    cleanup_buf struct buf bytes = BUF_INIT(PROCESS_MAX_INPUT);
    struct record_mark mark = record_mark_of(call);
    char reason[TYPED_REASON_BYTES];
    bool is_closing = false;
    int r;

    if (has_ended(job))
        return err_set(err, ERR_NOT_FOUND, "the job has ended");
    r = collect_input(call, job, &bytes, err);
    if (r < 0)
        return r;
    (void)json_get_bool(call->arguments, STR("close"), &is_closing);
    mark.reason = reason;
    r = typed_reason(buf_view(&bytes), is_closing, reason);
    if (r == 0)
        r = record_intent(call->shell, &mark, &job->command);
    if (r < 0)
        return err_set_plain(err, r);
    if (bytes.len > 0)
        r = process_write(job->process, buf_view(&bytes));
    if (r == 0 && is_closing)
        r = process_close_input(job->process);
    record_outcome(call->shell, &mark, &job->command, r, (struct starter_end){0});
    *out_bytes = bytes.len;
    if (r == ERR_NOT_FOUND || r == ERR_IO)
        return err_set(err, r, "the input of the job is closed");
    if (r == ERR_TOO_LARGE)
        return err_set(err, r, "the job does not read its input; nothing was sent");
    return r < 0 ? err_set_plain(err, r) : 0;
}

void job_input(struct shell_call *call)
{
    cleanup_buf struct buf object = BUF_INIT(OBJECT_BYTES);
    struct shell_job *job = job_needed(call);
    struct err err = ERR_INIT;
    struct json_writer w;
    size_t bytes = 0;

    if (job == NULL)
        return;
    if (send_input(call, job, &bytes, &err) < 0) {
        call_fail(call, &err);
        return;
    }
    json_writer_init(&w, &object);
    json_begin_object(&w);
    json_put_str(&w, STR("jobId"), str_from(job->name));
    json_put_int(&w, STR("bytes"), (int64_t)bytes);
    call_finish(call, &w, 0, false);
}

/* ---- stopping ---- */

static int signal_number(struct str name)
{
    static const struct {
        struct str name;
        int number;
    } known[] = {
        {STR_LITERAL("TERM"), SIGTERM}, {STR_LITERAL("INT"), SIGINT},
        {STR_LITERAL("HUP"), SIGHUP},   {STR_LITERAL("QUIT"), SIGQUIT},
        {STR_LITERAL("USR1"), SIGUSR1}, {STR_LITERAL("USR2"), SIGUSR2},
    };

    for (size_t i = 0; i < array_size(known); i++)
        if (str_eq(known[i].name, name))
            return known[i].number;
    return SIGKILL; /* the schema has no other */
}

void job_stop(struct shell_call *call)
{
    struct shell_job *job = job_needed(call);
    struct str name = STR_EMPTY;
    bool is_named;
    int signum;

    if (job == NULL)
        return;
    if (has_ended(job)) {
        /* Unread output would be lost with it. */
        if (!answer_output(call, job))
            loop_defer(job->shell->config.loop, &job->bury);
        return;
    }
    is_named = json_get_str(call->arguments, STR("signal"), &name);
    signum = is_named ? signal_number(name) : SIGTERM;
    if (signum == SIGKILL)
        job_kill(job);
    else
        process_signal(job->process, signum);
    if (is_named && signum != SIGKILL) {
        job_answer_state(call, job);
        return;
    }
    if (!job->kill.is_started)
        timer_start(&job->kill, JOB_STOP_GRACE_MS);
    call->job = job;
    list_append(&job->waiting, &call->waiting);
}

/* ---- listing ---- */

void job_list(struct shell_call *call)
{
    cleanup_buf struct buf object = BUF_INIT(OBJECT_BYTES);
    struct json_writer w;

    json_writer_init(&w, &object);
    json_begin_object(&w);
    json_key(&w, STR("jobs"));
    json_begin_array(&w);
    list_each (node, &call->shell->jobs) {
        const struct shell_job *job = list_entry(node, struct shell_job, link);
        char started[CLOCK_ISO_BYTES];

        if (job->session != call->events.session || job->starting != NULL)
            continue;
        json_begin_object(&w);
        job_write_state(&w, job);
        json_put_str(&w, STR("command"), job->command.whole);
        json_put_str_lossy(&w, STR("cwd"), job->directory);
        json_key(&w, STR("startedAt"));
        clock_format_iso(job->started_ms, started);
        json_write_str(&w, str_from(started));
        json_put_int(&w, STR("outputBytes"), (int64_t)job->history.total);
        json_put_bool(&w, STR("terminal"), job->has_terminal);
        json_end_object(&w);
    }
    json_end_array(&w);
    call_finish(call, &w, 0, false);
}
