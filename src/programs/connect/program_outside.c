/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/program_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/redact.h"
#include "cli/status.h"

enum { WORDS_BYTES = PROGRAM_URL_BYTES + 64 };

#define DESKTOP_SURFACE "desktop"

/* ---- what is told ---- */

static enum report_state state_of(enum reconnect_state state)
{
    switch (state) {
    case RECONNECT_OFF:
    case RECONNECT_PAIRING:
        return REPORT_CONNECTING;
    case RECONNECT_OPEN:
        return REPORT_CONNECTED;
    case RECONNECT_OPENING:
    case RECONNECT_WAITING:
    case RECONNECT_RENEW_WAITING:
    case RECONNECT_RENEWING:
        return REPORT_RECONNECTING;
    case RECONNECT_REFUSED:
        return REPORT_REFUSED;
    case RECONNECT_LEAVING:
        return REPORT_LEAVING;
    }
    return REPORT_IDLE;
}

/* Some of the text comes from the server. */
static void tell_why(const struct err *why, struct report *report)
{
    cleanup_buf struct buf text = BUF_INIT(4 * ERR_MESSAGE_BYTES);

    if (why->code != 0 && redact_all(str_from(why->message), &text) == 0)
        snprintf(report->why, sizeof(report->why), "%.*s", STR_ARG(buf_view(&text)));
}

static void tell_folders(const struct gateway_session_state *state, struct report *report)
{
    report->dir = str_from(state->folders[0].root_path);
    report->other_count = 0;
    for (size_t i = 1; i < state->folder_count; i++)
        report->others[report->other_count++] = (struct report_folder){
            str_from(state->folders[i].root_path), state->folders[i].may_write};
}

static void tell_chosen(const struct connect_choices *choices, struct report *report)
{
    report->dir = str_from(choices->dir);
    for (size_t i = 0; i < choices->other_count; i++)
        report->others[report->other_count++] =
            (struct report_folder){str_from(choices->others[i].path), choices->others[i].may_write};
}

void program_report(void *data, struct report *out_report)
{
    const struct program *program = data;
    struct gateway_session_state state = {.is_connected = false};

    *out_report = (struct report){.url = STR_EMPTY, .is_of_up = connect_is_of_up()};
    out_report->denied = options_list(program->values, CONNECT_OPTION_DENY).items;
    out_report->allowed = options_list(program->values, CONNECT_OPTION_ALLOW).items;
    tell_chosen(&program->choices, out_report);
    if (program->session != NULL && !program->is_over) {
        gateway_session_state(program->session, &state);
        out_report->state = state_of(state.state);
        tell_folders(&state, out_report);
        out_report->is_connected = state.is_connected;
        out_report->has_session = state.has_session;
        out_report->connected_wall_ms = state.connected_wall_ms;
        out_report->url = str_from(program->agreed.url_text);
        tell_why(&state.why, out_report);
    }
    if (program->attempt.state == ATTEMPT_ASKING) {
        out_report->state = REPORT_ASKING;
        out_report->url = str_from(program->attempt.url_text);
    }
}

/* Nothing is in progress that must end before others rely on us. */
static bool is_settled(const struct program *program)
{
    struct gateway_session_state state;

    if (program->session == NULL || program->is_over)
        return program->attempt.state == ATTEMPT_NONE;
    gateway_session_state(program->session, &state);
    return state.state != RECONNECT_OFF && state.state != RECONNECT_PAIRING;
}

static void describe(struct program *program, char out_words[WORDS_BYTES])
{
    static const char *const words[] = {
        [REPORT_IDLE] = "Not connected; waiting for a page",
        [REPORT_ASKING] = "Asking whether to connect to ",
        [REPORT_CONNECTING] = "Connecting to ",
        [REPORT_CONNECTED] = "Connected to ",
        [REPORT_RECONNECTING] = "Connection lost, reconnecting: ",
        [REPORT_REFUSED] = "A new token is needed for ",
        [REPORT_LEAVING] = "Disconnecting from ",
    };
    struct report report;

    program_report(program, &report);
    snprintf(out_words, WORDS_BYTES, "%s%.*s%s", words[report.state], STR_ARG(report.url),
             report.state == REPORT_CONNECTED && program_has_open_commands(program)
                 ? "; commands run without a sandbox"
                 : "");
}

static void tell_pages(struct program *program)
{
    struct report report;

    program_report(program, &report);
    if (program->port == NULL || (report.is_connected == program->has_told &&
                                  report.connected_wall_ms == program->told_since_ms))
        return;
    program->has_told = report.is_connected;
    program->told_since_ms = report.connected_wall_ms;
    port_tell(program->port);
}

void program_tell(struct program *program)
{
    char words[WORDS_BYTES];

    tell_pages(program);
    if (program->notify == NULL)
        return;
    describe(program, words);
    notify_status(program->notify, str_from(words));
    if (program->is_ready || !is_settled(program))
        return;
    program->is_ready = true;
    notify_ready(program->notify);
}

/* ---- the desktop ---- */

void program_notify_user(struct program *program, const char *title, struct str text)
{
    if (program->desktop != NULL)
        desktop_show(program->desktop, str_from(title), text);
}

/* Only the first of several waiting questions is notified: the user then sees the others. */
static void on_question(void *data, uint64_t id, const struct question *question)
{
    struct program *program = data;

    (void)id;
    if (question_queue_waiting(program->queue) == 1)
        program_notify_user(program, "Gatehouse: a question is waiting", question->action);
}

static void on_question_over(void *data, uint64_t id, enum question_queue_end end, const char *by)
{
    (void)data;
    (void)id;
    (void)end;
    (void)by;
}

static int open_desktop(struct program *program)
{
    const struct question_queue_surface surface = {.name = DESKTOP_SURFACE,
                                                   .show = on_question,
                                                   .withdraw = on_question_over,
                                                   .data = program};
    int r;

    if (program->console == NULL || !options_is_on(program->values, CONNECT_OPTION_NOTIFICATIONS))
        return 0;
    r = desktop_new(program->loop, DESKTOP_PROGRAM, &program->desktop);
    return r == 0 ? question_queue_add(program->queue, &surface) : r;
}

void program_terminal_gone(struct program *program)
{
    /* It shows questions and takes no answers: with it alone they would wait for ever. */
    if (program->desktop != NULL)
        question_queue_remove(program->queue, DESKTOP_SURFACE);
}

/* ---- opening ---- */

static int open_port(struct program *program, struct err *err)
{
    const struct port_config config = {.loop = program->loop,
                                       .origins = &program->origins,
                                       .owner = &program_port_owner,
                                       .data = program};
    int fd;
    int r = port_listen((uint16_t)options_int(program->values, CONNECT_OPTION_PORT), &fd, err);

    return r == 0 ? port_new(&config, fd, &program->port, err) : r;
}

/* One file per chosen port, so that their number stays limited. */
static int open_logfile(struct program *program, struct err *err)
{
    char name[LOGFILE_NAME_BYTES];
    const struct logfile_config config = {
        .directory = program->choices.state_dir, .name = name, .clock = &clock_system};
    int r;

    if (program->port == NULL || options_int(program->values, CONNECT_OPTION_PORT) == 0 ||
        !options_is_on(program->values, CONNECT_OPTION_LOG_FILE))
        return 0;
    snprintf(name, sizeof(name), "daemon-%u.log", port_number(program->port));
    r = logfile_open(&config, &program->logfile, err);
    if (r < 0)
        return r;
    program->log.also = logfile_write;
    program->log.also_data = program->logfile;
    return 0;
}

static int open_control(struct program *program, struct err *err)
{
    char directory[PATH_MAX];
    int r;

    if (program->port == NULL)
        return 0;
    r = status_socket_dir(directory, err);
    if (r == 0)
        r = control_open(directory, port_number(program->port), &program->control, err);
    if (r < 0)
        return r;
    control_take_tokens(program->control, &program_taker);
    r = control_serve(program->control, program->loop, program_report, program);
    return r < 0 ? err_set_plain(err, r) : 0;
}

static int open_notify(struct program *program, struct err *err)
{
    const struct notify_environment environment = notify_environment();

    return notify_new(program->loop, &environment, &program->notify, err);
}

int program_outside_open(struct program *program, struct err *err)
{
    bool needs_port = program->attempt.key.len == 0 && program->attempt.kept.key.len == 0;
    struct err why = ERR_INIT;
    int r = open_desktop(program);

    if (r < 0)
        return err_set_plain(err, r);
    r = open_port(program, &why);
    if (r < 0 && needs_port)
        return err_set(err, r, "%s", why.message);
    /* The rest is not essential. */
    if (r < 0)
        log_error(&program->log, "the server's pages cannot connect: no local port", &why);
    if (open_logfile(program, &why) < 0)
        log_error(&program->log, "no log file is written", &why);
    if (open_control(program, &why) < 0)
        log_error(&program->log, "'gatehouse status' will not find this daemon", &why);
    if (open_notify(program, &why) < 0)
        log_error(&program->log, "the service manager gets no status", &why);
    if (program->port != NULL)
        log_write(&program->log, LOG_INFO,
                  needs_port ? "waiting on the local port for the server's page"
                             : "the local port is open",
                  LOG_INT("port", port_number(program->port)),
                  LOG_TEXT("server", program->attempt.url_text));
    return 0;
}

/* The end of the program writes it to standard error itself. */
void program_keep_reason(const struct program *program, const struct err *err)
{
    const struct log_field why = LOG_TEXT("why", err->message);

    if (program->log.also != NULL && log_wants(&program->log, LOG_ERROR))
        program->log.also(program->log.also_data, LOG_ERROR, "exiting", &why, 1);
}

void program_outside_close(struct program *program)
{
    if (program->notify != NULL)
        notify_stopping(program->notify);
    port_free(program->port);
    program->port = NULL;
    control_free(program->control);
    notify_free(program->notify);
    desktop_free(program->desktop);
    program->log.also = NULL;
    if (program->logfile != NULL)
        logfile_close(program->logfile);
}
