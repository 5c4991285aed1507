/* SPDX-License-Identifier: Apache-2.0 */
/* shell_execute: runs one command until its end or its deadline. */
#include "shell/internal.h"

#include <signal.h>

enum {
    PROGRESS_MS = 500,
    SECOND_MS = 1000,
    LAST_LINE_BYTES = 160,
    GONE_MS = 5000,           /* for a killed command: then its end is not reported any more */
    OBJECT_BYTES = 512 << 20, /* the captures have ceilings of their own */
};

struct starter_command call_command(const struct shell_call *call, const char *argv[COMMAND_WORDS])
{
    const struct shell *shell = call->shell;

    argv[0] = shell->lacks_bash ? "/bin/sh" : "/bin/bash";
    argv[1] = "-c";
    argv[2] = "--"; /* a command that begins with a hyphen is none of the shell's options */
    argv[3] = call->command.whole.ptr;
    argv[4] = NULL;
    return (struct starter_command){.argv = argv, .cwd = call->command.cwd.ptr};
}

const char *const call_variables[] = {"TERM=dumb", "EDITOR=false", "VISUAL=false",
                                      "GIT_EDITOR=false", NULL};

bool call_lacks_bash(struct shell *shell, int error, const struct err *err)
{
    if (shell->lacks_bash || error != ERR_NOT_FOUND || err == NULL ||
        strcmp(err->field, "command") != 0)
        return false;
    shell->lacks_bash = true;
    return true;
}

/* ---- results ---- */

/* Other agents' tools count seconds. */
static bool means_seconds(const struct shell_call *call)
{
    int64_t timeout_ms;

    return json_get_whole(call->arguments, STR("timeout"), &timeout_ms) && timeout_ms < SECOND_MS;
}

static int write_all(struct json_writer *w, const struct shell_call *call, struct starter_end end)
{
    cleanup_buf struct buf output = BUF_INIT(OBJECT_BYTES);
    cleanup_buf struct buf errors = BUF_INIT(OBJECT_BYTES);
    int r = capture_text(&call->streams[PROCESS_OUTPUT], &output);

    if (r == 0)
        r = capture_text(&call->streams[PROCESS_ERRORS], &errors);
    if (r < 0)
        return r;
    json_put_str(w, STR("stdout"), buf_view(&output));
    json_put_str(w, STR("stderr"), buf_view(&errors));
    write_end(w, end);
    if (call->has_timed_out)
        json_put_bool(w, STR("timedOut"), true);
    if (call->has_timed_out && means_seconds(call)) {
        json_put_str(w, STR("hint"), STR("timeout counts milliseconds: for 30 seconds give 30000"));
        return 0;
    }
    return write_hint(w, call->shell, end, call->command.whole,
                      buf_view(errors.len > 0 ? &errors : &output));
}

static void finish(struct shell_call *call, struct starter_end end)
{
    cleanup_buf struct buf object = BUF_INIT(OBJECT_BYTES);
    struct json_writer w;
    int r;

    if (call->has_timed_out)
        end = (struct starter_end){.error = ERR_TIMED_OUT};
    json_writer_init(&w, &object);
    json_begin_object(&w);
    r = write_all(&w, call, end);
    call_finish(call, &w, r,
                !call->has_timed_out && (end.error < 0 || end.is_signal || end.value != 0));
}

/* ---- while it runs ---- */

static void tell_progress(void *data)
{
    struct shell_call *call = data;
    uint64_t bytes = call->streams[PROCESS_OUTPUT].total + call->streams[PROCESS_ERRORS].total;
    cleanup_buf struct buf line = BUF_INIT(LAST_LINE_BYTES);

    if (bytes == call->told)
        return;
    call->told = bytes;
    if (capture_last_line(&call->streams[PROCESS_OUTPUT], LAST_LINE_BYTES, &line) == 0 &&
        line.len == 0)
        (void)capture_last_line(&call->streams[PROCESS_ERRORS], LAST_LINE_BYTES, &line);
    call->events.on_progress(call->events.data, bytes, buf_view(&line));
}

static void end_call(struct shell_call *call, struct starter_end end, const struct err *why);

/* The launcher or the kernel hangs: the call must not. */
static void on_not_gone(void *data)
{
    end_call(data, (struct starter_end){.error = ERR_TIMED_OUT}, NULL);
}

static void kill_all(struct shell_call *call)
{
    process_signal(call->process, SIGKILL);
    timer_stop(&call->timer);
    timer_init(&call->timer, call->shell->config.loop, on_not_gone, call);
    timer_start(&call->timer, GONE_MS);
}

static void on_time_is_over(void *data)
{
    struct shell_call *call = data;

    call->has_timed_out = true;
    kill_all(call);
}

static void on_started(void *data)
{
    struct shell_call *call = data;

    call->has_started = true;
}

static void on_bytes(void *data, enum process_stream stream, struct str bytes)
{
    struct shell_call *call = data;

    /* Without memory they are still counted, and the text says that they are missing. */
    (void)capture_add(&call->streams[stream], bytes);
}

static int start(struct shell_call *call, struct err *err);

static int end_code(const struct shell_call *call, struct starter_end end)
{
    if (call->is_cancelled)
        return ERR_CANCELLED;
    return call->has_timed_out ? ERR_TIMED_OUT : end.error;
}

static void end_call(struct shell_call *call, struct starter_end end, const struct err *why)
{
    record_outcome(call->shell, &call->mark, &call->command, end_code(call, end), end);
    if (call->is_cancelled) {
        call_end(call, ERR_CANCELLED);
    } else if (!call->has_started && !call->has_timed_out) {
        struct err shown = ERR_INIT;

        err_set(&shown, end.error, "cannot start the command: %s",
                why != NULL && why->code != 0 ? why->message : err_text(end.error));
        call_fail(call, &shown);
    } else {
        finish(call, end);
    }
}

static void on_over(void *data, struct starter_end end, const struct err *err)
{
    struct shell_call *call = data;
    struct shell *shell = call->shell;
    struct err why = err != NULL ? *err : (struct err)ERR_INIT;

    if (!call->has_started && call_lacks_bash(shell, end.error, err) && !call->is_cancelled &&
        !call->has_timed_out) {
        process_free(call->process);
        call->process = NULL;
        end.error = start(call, &why);
        if (end.error == 0)
            return;
    }
    end_call(call, end, &why);
}

static int start(struct shell_call *call, struct err *err)
{
    const char *argv[COMMAND_WORDS];
    struct starter_command command = call_command(call, argv);

    command.variables = call_variables;
    return process_new(
        call->shell->config.loop, call->shell->config.starter, &command,
        &(struct process_events){
            .on_started = on_started, .on_bytes = on_bytes, .on_over = on_over, .data = call},
        &call->process, err);
}

static int64_t time_for(const struct shell_call *call)
{
    int64_t usual_ms = call->shell->config.timeout_ms;
    int64_t most_ms = usual_ms > SHELL_MAX_TIMEOUT_MS ? usual_ms : SHELL_MAX_TIMEOUT_MS;
    int64_t timeout_ms = usual_ms;

    (void)json_get_whole(call->arguments, STR("timeout"), &timeout_ms);
    return timeout_ms < most_ms ? timeout_ms : most_ms;
}

void run_begin(struct shell_call *call)
{
    struct shell *shell = call->shell;
    struct err err = ERR_INIT;
    int r;

    if (shell->executing == SHELL_MAX_RUNNING) {
        err_set(&err, ERR_BUSY, "%d commands are already running; wait for one to end",
                SHELL_MAX_RUNNING);
        call_fail(call, &err);
        return;
    }
    call->mark = record_mark_of(call);
    r = record_intent(shell, &call->mark, &call->command);
    if (r < 0) {
        err_set_plain(&err, r);
        call_fail(call, &err);
        return;
    }
    call->is_executing = true;
    shell->executing++;
    for (size_t i = 0; i < PROCESS_STREAMS; i++)
        capture_init(&call->streams[i], shell->config.max_output_bytes);
    r = start(call, &err);
    if (r < 0) {
        end_call(call, (struct starter_end){.error = r}, &err);
        return;
    }
    timer_init(&call->timer, shell->config.loop, on_time_is_over, call);
    timer_start(&call->timer, time_for(call));
    if (call->events.on_progress != NULL) {
        timer_init(&call->progress, shell->config.loop, tell_progress, call);
        timer_start_repeating(&call->progress, PROGRESS_MS);
    }
}

void run_cancel(struct shell_call *call)
{
    kill_all(call);
}

void run_done(struct shell_call *call)
{
    if (!call->is_executing)
        return;
    call->is_executing = false;
    call->shell->executing--;
    record_outcome(call->shell, &call->mark, &call->command, ERR_CANCELLED,
                   (struct starter_end){0});
    timer_stop(&call->timer);
    timer_stop(&call->progress);
    process_free(call->process);
    call->process = NULL;
    for (size_t i = 0; i < PROCESS_STREAMS; i++)
        capture_done(&call->streams[i]);
}
