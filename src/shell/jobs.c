/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs from start to end: commands that continue between calls. */
#include "shell/job.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    JOB_ARENA_BYTES = 1 << 20,
    SETTLE_MS = 20, /* output that comes together is reported together */
    STATE_BYTES = 4096,
    DEFAULT_ROWS = 24,
    DEFAULT_COLUMNS = 80,
};

/* ---- finding ---- */

static struct shell_job *find_job(const struct shell *shell, const void *session, struct str name)
{
    list_each (node, &shell->jobs) {
        struct shell_job *job = list_entry(node, struct shell_job, link);

        if (job->session == session && job->starting == NULL && str_eq_c(name, job->name))
            return job;
    }
    return NULL;
}

static struct shell_job *named_job(const struct shell_call *call, const void *session)
{
    struct str name = STR_EMPTY;

    (void)json_get_str(call->arguments, STR("jobId"), &name);
    return find_job(call->shell, session, name);
}

const struct shell_command *job_command(const struct shell_call *call, const void *session)
{
    const struct shell_job *job = named_job(call, session);

    return job != NULL ? &job->command : NULL;
}

struct shell_job *job_needed(struct shell_call *call)
{
    struct shell_job *job = named_job(call, call->events.session);
    struct err err = ERR_INIT;

    if (job == NULL) {
        err_set(&err, ERR_NOT_FOUND, "no such job; use shell_list to see the jobs");
        call_fail(call, &err);
    }
    return job;
}

/* ---- life and death ---- */

static void free_job(struct shell_job *job)
{
    list_remove(&job->link);
    job->shell->job_count--;
    timer_stop(&job->kill);
    loop_task_cancel(&job->bury);
    process_free(job->process);
    record_outcome(job->shell, &job->mark, &job->command, ERR_CANCELLED, (struct starter_end){0});
    history_done(&job->history);
    arena_done(&job->arena);
    free(job);
}

static void bury(void *data)
{
    free_job(data);
}

void jobs_end(struct shell *shell, const void *session, bool is_all)
{
    list_each_safe (node, &shell->jobs) {
        struct shell_job *job = list_entry(node, struct shell_job, link);

        if (!is_all && job->session != session)
            continue;
        if (job->starting != NULL)
            job->starting->job = NULL;
        list_each_safe (waiting, &job->waiting) {
            struct shell_call *call = list_entry(waiting, struct shell_call, waiting);

            list_remove(&call->waiting);
            call->job = NULL;
        }
        free_job(job);
    }
}

static void on_over(void *data, struct starter_end end, const struct err *err);

void job_kill(struct shell_job *job)
{
    job->is_killed = true;
    process_signal(job->process, SIGKILL);
    timer_start(&job->kill, JOB_STOP_GRACE_MS);
}

static void on_stop_grace_over(void *data)
{
    struct shell_job *job = data;

    if (!job->is_killed)
        job_kill(job);
    else /* the launcher or the kernel hangs; calls that wait for the end must not */
        on_over(job, (struct starter_end){.error = ERR_TIMED_OUT}, NULL);
}

int shell_stop_job(struct shell *shell, const void *session, struct str name)
{
    struct shell_job *job = find_job(shell, session, name);

    if (job == NULL)
        return ERR_NOT_FOUND;
    if (has_ended(job))
        return 0;
    process_signal(job->process, SIGTERM);
    if (!job->kill.is_started)
        timer_start(&job->kill, JOB_STOP_GRACE_MS);
    return 0;
}

/* Returns the position behind it. */
static uint64_t show_piece(const struct shell_job *job, uint64_t from, shell_piece_fn *take,
                           void *data)
{
    cleanup_buf struct buf text = BUF_INIT(8 * SHELL_PIECE_BYTES);
    uint64_t total = job->history.total;
    struct history_window window;

    if (total > SHELL_PIECE_BYTES && from < total - SHELL_PIECE_BYTES)
        from = total - SHELL_PIECE_BYTES;
    if (history_read(&job->history, from, SHELL_PIECE_BYTES, has_ended(job), &text, &window) < 0)
        return from;
    take(data, &(struct shell_piece){.job = job->name,
                                     .from = from + window.dropped,
                                     .text = buf_view(&text),
                                     .is_running = !has_ended(job)});
    return window.next;
}

int shell_peek_job(struct shell *shell, const void *session, struct str name, uint64_t from,
                   shell_piece_fn *take, void *data)
{
    const struct shell_job *job = find_job(shell, session, name);

    if (job == NULL)
        return ERR_NOT_FOUND;
    (void)show_piece(job, from, take, data);
    return 0;
}

void shell_peek_news(struct shell *shell, const void *session, shell_piece_fn *take, void *data)
{
    list_each_safe (node, &shell->jobs) {
        struct shell_job *job = list_entry(node, struct shell_job, link);

        if (!job->has_news || job->session != session || job->starting != NULL)
            continue;
        job->has_news = false;
        job->seen = show_piece(job, job->seen, take, data);
    }
}

void shell_peek_ends(struct shell *shell, const void *session, shell_piece_fn *take, void *data)
{
    list_each_safe (node, &shell->jobs) {
        struct shell_job *job = list_entry(node, struct shell_job, link);

        if (!job->has_news || !has_ended(job) || job->session != session || job->starting != NULL)
            continue;
        job->has_news = false;
        take(data, &(struct shell_piece){
                       .job = job->name, .from = job->history.total, .text = STR_EMPTY});
    }
}

void shell_watch_jobs(struct shell *shell, void (*on_news)(void *data), void *data)
{
    shell->on_news = on_news;
    shell->news_data = data;
}

/* Makes room for one more by dropping a job that has ended. */
static int make_room(struct shell *shell, const void *session, struct err *err)
{
    struct shell_job *oldest = NULL;
    size_t running = 0;
    size_t count = 0;

    list_each (node, &shell->jobs) {
        struct shell_job *job = list_entry(node, struct shell_job, link);

        if (job->session != session)
            continue;
        count++;
        running += !has_ended(job);
        if (oldest == NULL && has_ended(job))
            oldest = job;
    }
    if (running >= shell->config.max_jobs)
        return err_set(err, ERR_BUSY, "%zu jobs are already running; stop one with shell_stop",
                       running);
    if (oldest != NULL && count >= shell->config.max_jobs)
        free_job(oldest);
    if (shell->job_count >= SHELL_MAX_ALL_JOBS)
        return err_set(err, ERR_BUSY,
                       "too many jobs are running in all sessions together; try again later");
    return 0;
}

/* ---- results ---- */

void job_write_state(struct json_writer *w, const struct shell_job *job)
{
    json_put_str(w, STR("jobId"), str_from(job->name));
    json_put_str(w, STR("state"), has_ended(job) ? STR("ended") : STR("running"));
    if (has_ended(job))
        write_end(w, job->end);
}

void job_answer_state(struct shell_call *call, const struct shell_job *job)
{
    cleanup_buf struct buf object = BUF_INIT(STATE_BYTES);
    struct json_writer w;

    json_writer_init(&w, &object);
    json_begin_object(&w);
    job_write_state(&w, job);
    call_finish(call, &w, 0, false);
}

/* ---- starting ---- */

static void on_started(void *data)
{
    struct shell_job *job = data;
    struct shell_call *call = steal_ptr(&job->starting);

    call->job = NULL;
    job_answer_state(call, job);
}

static bool is_stopping(const struct shell_call *call)
{
    return call->tool->id == TOOL_SHELL_STOP;
}

static void note_news(struct shell_job *job)
{
    job->has_news = true;
    if (job->shell->on_news != NULL)
        job->shell->on_news(job->shell->news_data);
}

static void on_bytes(void *data, enum process_stream stream, struct str bytes)
{
    struct shell_job *job = data;

    (void)stream; /* in the order in which they come, as on a terminal */
    /* Output that could not be reported later must not be produced. */
    if (history_add(&job->history, bytes) < 0)
        process_signal(job->process, SIGKILL);
    note_news(job);
    list_each (node, &job->waiting) {
        struct shell_call *call = list_entry(node, struct shell_call, waiting);

        if (is_stopping(call) || call->is_settling)
            continue;
        call->is_settling = true;
        if (call->timer.due_ms - loop_now_ms(job->shell->config.loop) > SETTLE_MS)
            timer_start(&call->timer, SETTLE_MS);
    }
}

static int start(struct shell_job *job, struct shell_call *call, struct err *err);

static void fail_start(struct shell_job *job, int error, const struct err *err)
{
    struct shell_call *call = job->starting;
    struct err shown = ERR_INIT;

    err_set(&shown, error, "cannot start the command: %s",
            err != NULL && err->code != 0 ? err->message : err_text(error));
    record_outcome(job->shell, &job->mark, &job->command, error, job->end);
    free_job(job);
    call->job = NULL;
    call_fail(call, &shown);
}

static void wake(struct shell_job *job, bool those_that_stop)
{
    list_each_safe (node, &job->waiting) {
        struct shell_call *call = list_entry(node, struct shell_call, waiting);

        if (is_stopping(call) != those_that_stop)
            continue;
        list_remove(&call->waiting);
        call->job = NULL;
        timer_stop(&call->timer);
        loop_defer(job->shell->config.loop, &call->begin);
    }
}

/* Calls that wait for the end run again, and find it; those that remove the job come last. */
static void wake_all(struct shell_job *job)
{
    wake(job, false);
    wake(job, true);
}

static void on_over(void *data, struct starter_end end, const struct err *err)
{
    struct shell_job *job = data;
    struct err why = err != NULL ? *err : (struct err)ERR_INIT;

    process_free(steal_ptr(&job->process));
    timer_stop(&job->kill);
    job->end = end;
    if (job->starting != NULL) {
        if (call_lacks_bash(job->shell, end.error, err)) {
            end.error = start(job, job->starting, &why);
            if (end.error == 0)
                return;
        }
        fail_start(job, end.error, &why);
        return;
    }
    record_outcome(job->shell, &job->mark, &job->command, end.error, end);
    note_news(job);
    wake_all(job);
}

static int start(struct shell_job *job, struct shell_call *call, struct err *err)
{
    static const char *const in_terminal[] = {"TERM=xterm-256color", NULL};
    const char *argv[COMMAND_WORDS];
    struct starter_command command = call_command(call, argv);

    command.variables = job->has_terminal ? in_terminal : call_variables;
    command.has_input = !job->has_terminal;
    command.has_terminal = job->has_terminal;
    command.rows = job->rows;
    command.columns = job->columns;
    return process_new(
        job->shell->config.loop, job->shell->config.starter, &command,
        &(struct process_events){
            .on_started = on_started, .on_bytes = on_bytes, .on_over = on_over, .data = job},
        &job->process, err);
}

static int new_job(const struct shell_call *call, struct shell_job **out_job)
{
    struct shell *shell = call->shell;
    struct shell_job *job = calloc(1, sizeof(*job));
    int64_t rows = DEFAULT_ROWS;
    int64_t columns = DEFAULT_COLUMNS;

    if (job == NULL)
        return ERR_NO_MEMORY;
    job->shell = shell;
    job->session = call->events.session;
    snprintf(job->name, sizeof(job->name), "job%llu", (unsigned long long)++shell->last_job);
    arena_init(&job->arena, JOB_ARENA_BYTES);
    job->mark = record_mark_of(call);
    job->started_ms = loop_wall_ms(shell->config.loop);
    (void)json_get_bool(call->arguments, STR("terminal"), &job->has_terminal);
    (void)json_get_whole(call->arguments, STR("rows"), &rows);
    (void)json_get_whole(call->arguments, STR("cols"), &columns);
    job->rows = (unsigned short)rows; /* the schema has their bounds */
    job->columns = (unsigned short)columns;
    history_init(&job->history, shell->config.max_history_bytes);
    list_init(&job->waiting);
    timer_init(&job->kill, shell->config.loop, on_stop_grace_over, job);
    loop_task_init(&job->bury, bury, job);
    list_append(&shell->jobs, &job->link);
    shell->job_count++;
    if (!arena_copy_str(&job->arena, call->command.name, &job->command.name) ||
        !arena_copy_str(&job->arena, call->command.whole, &job->command.whole) ||
        !arena_copy_str(&job->arena, call->command.cwd, &job->command.cwd) ||
        !arena_copy_str(&job->arena, call->directory, &job->directory)) {
        free_job(job);
        return ERR_NO_MEMORY;
    }
    *out_job = job;
    return 0;
}

/* A job that is recorded but not started yet; NULL: err says why not. */
static struct shell_job *recorded_job(const struct shell_call *call, struct err *err)
{
    struct shell_job *job;
    int r = make_room(call->shell, call->events.session, err);

    if (r < 0)
        return NULL;
    r = new_job(call, &job);
    if (r < 0) {
        err_set_plain(err, r);
        return NULL;
    }
    r = record_intent(call->shell, &job->mark, &job->command);
    if (r < 0) {
        err_set_plain(err, r);
        free_job(job);
        return NULL;
    }
    return job;
}

void job_start(struct shell_call *call)
{
    struct err err = ERR_INIT;
    struct shell_job *job = recorded_job(call, &err);
    int r;

    if (job == NULL) {
        call_fail(call, &err);
        return;
    }
    job->starting = call;
    call->job = job;
    r = start(job, call, &err);
    if (r < 0)
        fail_start(job, r, &err);
}

void job_cancel(struct shell_call *call)
{
    struct shell_job *job = steal_ptr(&call->job);

    assert(job != NULL);
    timer_stop(&call->timer);
    list_remove(&call->waiting);
    if (job->starting == call)
        free_job(job);
}
