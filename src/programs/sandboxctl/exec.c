/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `gatehouse sandbox exec`: the command's output comes as events of one answer, and each piece of
 * input goes as a request of its own. The command ends with our connection, so also with us.
 */
#include "programs/sandboxctl/ctl.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/jsonwrite.h"
#include "cli/sandbox.h"
#include "loop/reader.h"
#include "loop/signal.h"

enum {
    DEFAULT_ROWS = 24,
    DEFAULT_COLUMNS = 80,
    MAX_PIECE_BYTES = 1 << 20,
};

static const int fatal[] = {SIGINT, SIGTERM, SIGHUP};

struct run {
    struct ctl *ctl;
    char sandbox[CTL_ID_BYTES];
    char id[CTL_ID_BYTES]; /* of the execution, once it has started */
    bool has_terminal;
    bool has_input;
    bool is_detached;
    bool is_over;
    int stopped_by; /* a signal, or 0 */
    int error;
    struct err err;
    int exit_code;
    bool has_ended;
    bool is_timed_out;
    struct ctl_request output;
    /* Input: one request at a time, so that it keeps its order. */
    struct reader *reader;
    struct ctl_request input;
    bool is_sending;
    bool is_input_over; /* nothing more comes */
    bool is_end_sent;
    struct buf typed; /* waits for the request before it */
    struct ctl_request size;
    bool is_sizing;
    bool has_new_size;
    bool is_raw;
    struct termios before;
    struct signal_watch *resized;
    struct signal_watch *ends[array_size(fatal)];
};

/* ---- what the command writes ---- */

static void fail(struct run *run, int code, const char *words)
{
    if (run->error == 0)
        run->error = err_set(&run->err, code, "%s", words);
    run->is_over = true;
}

static void show(struct run *run, struct str type, struct str encoded)
{
    cleanup_buf struct buf bytes = BUF_INIT(CTL_MAX_TEXT_BYTES);

    if (base64_decode(&bytes, encoded) < 0)
        fail(run, ERR_TOOL_FAILED, "the service's answer makes no sense");
    else
        ctl_write(str_eq(type, STR("stderr")) ? STDERR_FILENO : STDOUT_FILENO, buf_view(&bytes));
}

static void take_exit(struct run *run, const struct json_value *event)
{
    int64_t code = SANDBOX_EXIT_FAILED;

    (void)json_get_int(event, STR("exit_code"), &code);
    (void)json_get_bool(event, STR("timed_out"), &run->is_timed_out);
    run->has_ended = true;
    run->exit_code = run->is_timed_out ? SANDBOX_EXIT_TIMED_OUT
                     : code < 0        ? SANDBOX_EXIT_SIGNAL + SIGKILL
                                       : (int)code;
}

static void send_input(struct run *run);
static void send_size(struct run *run);

static void take_event(void *data, struct str line)
{
    cleanup_arena struct arena arena = ARENA_INIT(2 * (size_t)CTL_MAX_TEXT_BYTES);
    const struct json_limits limits = {CTL_MAX_TEXT_BYTES, 4};
    struct run *run = data;
    const struct json_value *event;
    struct str type = STR_EMPTY;
    struct str text = STR_EMPTY;
    char words[ERR_MESSAGE_BYTES];

    /* Its output may come together with its start. */
    if (run->is_detached && run->is_over)
        return;
    if (json_parse(&arena, line, limits, &event, NULL) < 0)
        return;
    (void)json_get_str(event, STR("type"), &type);
    if (json_get_str(event, STR("data"), &text)) {
        show(run, type, text);
    } else if (str_eq(type, STR("started")) && json_get_str(event, STR("exec_id"), &text)) {
        snprintf(run->id, sizeof(run->id), "%.*s", STR_ARG(text));
        if (run->is_detached)
            run->is_over = true;
        send_input(run);
        send_size(run);
    } else if (str_eq(type, STR("exit"))) {
        take_exit(run, event);
    } else if (json_get_str(event, STR("error"), &text)) {
        snprintf(words, sizeof(words), "%.*s", STR_ARG(text));
        fail(run, ERR_TOOL_FAILED, words);
    }
}

static void on_output_over(void *data)
{
    ((struct run *)data)->is_over = true;
}

/* ---- what it reads ---- */

static void on_input_sent(void *data)
{
    struct run *run = data;

    run->is_sending = false;
    if (run->input.error < 0 || run->input.status >= 300) {
        /* It reads no more; how it ends, its output says. */
        run->is_end_sent = true;
        return;
    }
    if (run->reader != NULL && run->typed.len == 0)
        reader_resume(run->reader);
    send_input(run);
}

static void send_input(struct run *run)
{
    bool is_end = run->is_input_over;
    struct err err = ERR_INIT;

    if (run->id[0] == '\0' || run->is_sending || run->is_end_sent ||
        (run->typed.len == 0 && !is_end))
        return;
    request_done(&run->input);
    request_init(&run->input, run->ctl);
    run->input.done = on_input_sent;
    run->input.data = run;
    snprintf(run->input.target, sizeof(run->input.target),
             "/sandboxes/%s/executions/%s/input?end=%s", run->sandbox, run->id,
             is_end ? "true" : "false");
    run->is_end_sent = is_end;
    run->is_sending = true;
    if (request_send(&run->input, HTTP_METHOD_POST, &run->typed, &err) < 0)
        fail(run, err.code, err.message);
    buf_done(&run->typed);
    buf_init(&run->typed, MAX_PIECE_BYTES);
}

static void on_typed(void *data, struct str bytes)
{
    struct run *run = data;

    if (buf_append_str(&run->typed, bytes) < 0)
        fail(run, ERR_NO_MEMORY, "too much input");
    if (!run->has_terminal || run->typed.len > MAX_PIECE_BYTES / 2)
        reader_pause(run->reader);
    send_input(run);
}

static void on_typed_end(void *data, int error)
{
    struct run *run = data;

    (void)error;
    run->is_input_over = true;
    send_input(run);
}

/* ---- the terminal ---- */

static void measure(struct winsize *out_size)
{
    if ((ioctl(STDOUT_FILENO, TIOCGWINSZ, out_size) < 0 &&
         ioctl(STDIN_FILENO, TIOCGWINSZ, out_size) < 0) ||
        out_size->ws_row == 0 || out_size->ws_col == 0)
        *out_size = (struct winsize){.ws_row = DEFAULT_ROWS, .ws_col = DEFAULT_COLUMNS};
}

static void on_size_sent(void *data)
{
    struct run *run = data;

    run->is_sizing = false;
    send_size(run);
}

static void send_size(struct run *run)
{
    cleanup_buf struct buf body = BUF_INIT(MAX_PIECE_BYTES);
    struct winsize size;
    struct err err = ERR_INIT;

    if (run->id[0] == '\0' || run->is_sizing || !run->has_new_size)
        return;
    run->has_new_size = false;
    measure(&size);
    if (buf_printf(&body, "{\"rows\":%u,\"columns\":%u}", size.ws_row, size.ws_col) < 0)
        return;
    request_done(&run->size);
    request_init(&run->size, run->ctl);
    run->size.done = on_size_sent;
    run->size.data = run;
    snprintf(run->size.target, sizeof(run->size.target), "/sandboxes/%s/executions/%s/resize",
             run->sandbox, run->id);
    run->is_sizing = request_send(&run->size, HTTP_METHOD_POST, &body, &err) == 0;
}

static void on_resized(void *data, int signum)
{
    struct run *run = data;

    (void)signum;
    run->has_new_size = true;
    send_size(run);
}

static void on_fatal(void *data, int signum)
{
    struct run *run = data;

    run->stopped_by = signum;
    run->is_over = true;
}

/* Passes keys through: the terminal in the sandbox handles Ctrl-C. */
static void take_keys(struct run *run)
{
    struct termios raw;

    if (!run->has_terminal || !isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &run->before) < 0)
        return;
    raw = run->before;
    cfmakeraw(&raw);
    run->is_raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

static void give_keys_back(struct run *run)
{
    if (run->is_raw)
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &run->before);
    run->is_raw = false;
}

/* ---- the request ---- */

/* 'it'\''s' */
static int quote(struct buf *out, const char *word)
{
    int r = buf_append_char(out, '\'');

    for (; *word != '\0' && r == 0; word++)
        r = *word == '\'' ? buf_append_str(out, STR("'\\''")) : buf_append_char(out, *word);
    return r == 0 ? buf_append_char(out, '\'') : r;
}

/* Words that need no quotes keep their looks: the command is shown in lists. */
static int add_word(struct buf *out, const char *word)
{
    const size_t plain = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789_-+./:,@%");

    return plain > 0 && word[plain] == '\0' ? buf_append_str(out, str_from(word))
                                            : quote(out, word);
}

static int put_env(const struct option_values *values, struct json_writer *json, struct err *err)
{
    const struct option_list env = options_list(values, SANDBOX_EXEC_ENV);

    json_key(json, STR("env"));
    json_begin_object(json);
    for (size_t i = 0; i < env.count; i++) {
        struct str value = str_from(env.items[i]);
        struct str name = STR_EMPTY;

        (void)str_cut(&value, '=', &name);
        if (value.ptr == NULL || name.len == 0)
            return err_set(err, ERR_INVALID_OPTION, "--env needs a name and a value, like CI=1");
        json_put_str(json, name, value);
    }
    json_end_object(json);
    return 0;
}

static int write_command(const struct run *run, const struct option_values *values, struct buf *out,
                         struct err *err)
{
    cleanup_buf struct buf command = BUF_INIT(MAX_PIECE_BYTES);
    const char *workdir = options_text(values, SANDBOX_EXEC_WORKDIR);
    struct json_writer json;
    struct winsize size;
    int r = 0;

    for (size_t i = 1; i < values->argument_count && r == 0; i++) {
        r = i > 1 ? buf_append_char(&command, ' ') : 0;
        if (r == 0)
            r = add_word(&command, values->arguments[i]);
    }
    if (r < 0)
        return err_set_plain(err, r);
    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_str(&json, STR("command"), buf_view(&command));
    json_put_str(&json, STR("encoding"), STR("base64"));
    json_put_bool(&json, STR("attached"), !run->is_detached);
    json_put_bool(&json, STR("stdin"), run->has_input);
    json_put_int(&json, STR("timeout_ms"), options_int(values, SANDBOX_EXEC_TIMEOUT));
    if (workdir != NULL)
        json_put_str(&json, STR("workdir"), str_from(workdir));
    if (run->has_terminal) {
        measure(&size);
        json_key(&json, STR("terminal"));
        json_begin_object(&json);
        json_put_int(&json, STR("rows"), size.ws_row);
        json_put_int(&json, STR("columns"), size.ws_col);
        json_end_object(&json);
    }
    r = put_env(values, &json, err);
    if (r < 0)
        return r;
    json_end_object(&json);
    r = json_writer_finish(&json);
    return r < 0 ? err_set_plain(err, r) : 0;
}

/* ---- all of it ---- */

static int choose(struct run *run, const struct option_values *values, struct err *err)
{
    bool is_at_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);

    run->is_detached = options_is_on(values, SANDBOX_EXEC_DETACH);
    run->has_terminal = options_is_on(values, SANDBOX_EXEC_TTY) ||
                        (is_at_terminal && !run->is_detached &&
                         options_source(values, SANDBOX_EXEC_TTY) != OPTION_FLAG);
    run->has_input = run->has_terminal || options_is_on(values, SANDBOX_EXEC_INTERACTIVE);
    if (run->is_detached && run->has_input)
        return err_set(err, ERR_INVALID_OPTION,
                       "--detach leaves the command alone: it can have no --tty or --interactive");
    return 0;
}

static int begin(struct run *run, struct buf *body, struct err *err)
{
    const struct reader_events typed = {.on_bytes = on_typed, .on_end = on_typed_end, .data = run};
    int r = 0;

    run->output.take_line = take_event;
    run->output.done = on_output_over;
    run->output.data = run;
    snprintf(run->output.target, sizeof(run->output.target), "/sandboxes/%s/executions",
             run->sandbox);
    for (size_t i = 0; i < array_size(fatal) && r == 0; i++)
        r = signal_watch_new(run->ctl->loop, fatal[i], on_fatal, run, &run->ends[i]);
    if (r == 0 && run->has_terminal)
        r = signal_watch_new(run->ctl->loop, SIGWINCH, on_resized, run, &run->resized);
    if (r < 0)
        return err_set_plain(err, r);
    r = request_send(&run->output, HTTP_METHOD_POST, body, err);
    if (r == 0 && run->has_input) {
        take_keys(run);
        r = reader_new(run->ctl->loop, STDIN_FILENO, &typed, &run->reader);
        if (r < 0)
            err_set_plain(err, r);
    }
    return r;
}

static void end(struct run *run)
{
    reader_free(run->reader);
    signal_watch_free(run->resized);
    for (size_t i = 0; i < array_size(fatal); i++)
        signal_watch_free(run->ends[i]);
    request_done(&run->output);
    request_done(&run->input);
    request_done(&run->size);
    buf_done(&run->typed);
    give_keys_back(run);
}

/* The exit status, or what went wrong. */
static int result(struct run *run, struct err *err)
{
    int r;

    if (run->stopped_by != 0)
        return SANDBOX_EXIT_SIGNAL + run->stopped_by;
    if (run->error < 0) {
        *err = run->err;
        return run->error;
    }
    if (run->is_detached && run->id[0] != '\0') {
        printf("%s\n", run->id);
        return fflush(stdout) != 0 ? err_set(err, ERR_IO, "cannot print the execution's id") : 0;
    }
    r = request_result(&run->output, err);
    if (r == 0 && !run->has_ended)
        r = err_set(err, ERR_CONNECTION_LOST, "the service ended before the command did");
    /* The status alone could be the command's own. */
    if (r == 0 && run->is_timed_out)
        fputs("gatehouse sandbox: timed out, and the command was killed (--timeout)\n", stderr);
    return r == 0 ? run->exit_code : r;
}

int ctl_exec(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    cleanup_buf struct buf body = BUF_INIT(CTL_MAX_BODY_BYTES);
    struct run run = {.ctl = ctl};
    int r = choose(&run, values, err);

    if (r == 0)
        r = ctl_find_id(ctl, "/sandboxes", options_argument(values, 0), run.sandbox, err);
    if (r == 0)
        r = write_command(&run, values, &body, err);
    if (r < 0)
        return r;
    buf_init(&run.typed, MAX_PIECE_BYTES);
    request_init(&run.output, ctl);
    request_init(&run.input, ctl);
    request_init(&run.size, ctl);
    r = begin(&run, &body, err);
    while (r == 0 && !run.is_over)
        loop_run_once(ctl->loop);
    give_keys_back(&run); /* before anything else is printed */
    if (r == 0)
        r = result(&run, err);
    end(&run);
    return r;
}
