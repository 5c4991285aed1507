/* SPDX-License-Identifier: Apache-2.0 */
/* gatehouse-daemon: reads the command line, serves the connection, and cleans up. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/authorities.h"
#include "cli/runner.h"
#include "cli/shared.h"
#include "files/patterns.h"
#include "isolate/confine.h"
#include "isolate/environment.h"
#include "programs/connect/program_internal.h"

static const int signals[PROGRAM_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};

/* ---- the end ---- */

void program_stop(struct program *program)
{
    loop_stop(program->loop);
}

void program_fail(struct program *program, const struct err *err)
{
    program->err = *err;
    program->has_failed = true;
    program_stop(program);
}

/* Terminals can run in services, and their shells inherit these variables. */
static bool is_service(void)
{
    const char *pid = getenv("SYSTEMD_EXEC_PID");
    int64_t number;

    if (getenv("INVOCATION_ID") == NULL)
        return false;
    return getenv("NOTIFY_SOCKET") != NULL ||
           (pid != NULL && str_to_int64(str_from(pid), &number) && number == getpid());
}

bool program_keeps_session(const struct program *program)
{
    return options_is_on(program->values, CONNECT_OPTION_KEEP_SESSION) || is_service();
}

/* The first signal ends the session at the server, the second does not wait for that. */
static void on_signal(void *data, int signum)
{
    struct program *program = data;
    bool is_final = program->is_leaving || (signum == SIGTERM && program_keeps_session(program));

    log_write(&program->log, LOG_INFO, "stopping", LOG_TEXT("signal", strsignal(signum)));
    if (!is_final) {
        program_leave(program);
        return;
    }
    program_stop_asking(program);
    program_stop(program);
}

/* ---- from the command line ---- */

/* Everybody can see our command line, including sandboxed commands. */
static void hide(const char *token)
{
    char *bytes;

    /* SAFETY: it lies in the arguments or the environment, which are the process's to change. */
    memcpy(&bytes, &token, sizeof(bytes));
    secret_wipe(bytes, strlen(bytes));
}

static int read_key(struct program *program, struct err *err)
{
    const char *token = connect_token(program->values);
    const char *static_key = getenv(CONNECT_KEY_ENV);

    /* The server would answer it with an incomprehensible refusal. */
    if (token != NULL && *token != '\0' && strchr("/.~", *token) != NULL)
        return err_set(err, ERR_INVALID_OPTION,
                       "'%s' looks like a folder, and behind the URL the token is expected that "
                       "the server shows; without one, use --filesystem-dir",
                       token);
    if (token == NULL || *token == '\0') {
        token = static_key;
        program->attempt.is_static_key = token != NULL && *token != '\0';
    } else if (static_key != NULL) {
        hide(static_key); /* not needed, but visible all the same */
    }
    if (token == NULL || *token == '\0')
        return 0;
    for (const char *c = token; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~')
            return err_set(err, ERR_INVALID_OPTION,
                           "the token may only have visible ASCII characters");
    if (secret_set(&program->attempt.key, str_from(token)) < 0)
        return err_set(err, ERR_INVALID_OPTION, "the token is longer than %d characters",
                       SECRET_MAX_BYTES);
    hide(token);
    return 0;
}

static int read_url(struct program *program, struct err *err)
{
    struct err why = ERR_INIT;
    int r = httpurl_parse(str_from(connect_url(program->values)), &program->attempt.url, &why);

    if (r < 0)
        return err_set(err, ERR_INVALID_OPTION, "URL: %s", why.message);
    program_url_text(&program->attempt.url, program->attempt.url_text);
    return 0;
}

/* Which pages may talk to us, and which servers they may name. */
static int read_origins(struct program *program, struct err *err)
{
    const struct option_list patterns =
        options_list(program->values, CONNECT_OPTION_ALLOWED_ORIGINS);
    struct err why = ERR_INIT;
    int r;

    origins_init(&program->origins);
    r = origins_add_server(&program->origins, &program->attempt.url, &why);
    for (size_t i = 0; i < patterns.count && r == 0; i++)
        r = origins_add_pattern(&program->origins, str_from(patterns.items[i]), &why);
    return r < 0 ? err_set(err, ERR_INVALID_OPTION, "--allowed-origins: %s", why.message) : 0;
}

static int read_authorities(struct program *program, struct err *err)
{
    const char *path = options_text(program->values, CONNECT_OPTION_CA_FILE);

    return path != NULL ? authorities_read(path, &program->authorities, err) : 0;
}

/* Before the user is asked; whether they fit the folder is seen when that is opened. */
static int check_globs(const struct program *program, struct err *err)
{
    const struct option_values *values = program->values;
    struct err why = ERR_INIT;
    int r = patterns_check("--deny", options_list(values, CONNECT_OPTION_DENY).items, &why);

    if (r == 0)
        r = patterns_check("--allow", options_list(values, CONNECT_OPTION_ALLOW).items, &why);
    return r < 0 ? err_set(err, ERR_INVALID_OPTION, "%s", why.message) : 0;
}

static int check_shell(const struct program *program, struct err *err)
{
    static const struct shared_shell rows = {.network = CONNECT_OPTION_SHELL_NETWORK,
                                             .domain = CONNECT_OPTION_SHELL_DOMAIN,
                                             .writable = CONNECT_OPTION_SHELL_WRITABLE,
                                             .readable = CONNECT_OPTION_SHELL_READABLE,
                                             .open = CONNECT_OPTION_SHELL_OPEN};
    const struct option_values *values = program->values;
    bool can_be_edited = !options_is_on(values, CONNECT_OPTION_AUTO_CONFIRM) &&
                         !options_is_on(values, CONNECT_OPTION_NON_INTERACTIVE);
    bool is_idle = program->choices.modes.of[CATALOG_SHELL] == PERMISSION_DENY && !can_be_edited;
    int r;

    if (is_idle && options_is_on(values, CONNECT_OPTION_SHELL_OPEN) &&
        options_source(values, CONNECT_OPTION_SHELL_OPEN) == OPTION_FLAG)
        return err_set(err, ERR_INVALID_OPTION,
                       "--dangerously-disable-shell-sandbox has no effect without commands: add "
                       "--permission-shell ask or allow");
    if (program->choices.modes.of[CATALOG_SHELL] != PERMISSION_DENY &&
        program_commands_refusal(program) != NULL)
        return err_set(err, ERR_INVALID_OPTION, "%s", program_commands_refusal(program));
    r = shared_check_shell(values, &rows, err);
    return r == 0 ? environment_check("--shell-env",
                                      options_list(values, CONNECT_OPTION_SHELL_ENV).items, environ,
                                      err)
                  : r;
}

/*
 * Both input and output: if one is redirected, the question could not be seen, or not be answered.
 */
static bool program_has_terminal(const struct program *program)
{
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
           !options_is_on(program->values, CONNECT_OPTION_NON_INTERACTIVE);
}

bool program_needs_agreement(const struct program *program)
{
    return program->attempt.is_doubtful ||
           (program->attempt.kept.key.len == 0 &&
            !options_is_on(program->values, CONNECT_OPTION_AUTO_CONFIRM) &&
            !options_is_on(program->values, CONNECT_OPTION_NON_INTERACTIVE));
}

static int choose_asker(struct program *program, struct err *err)
{
    bool is_said = options_source(program->values, CONNECT_OPTION_CONFIRMATION) != OPTION_UNSET;
    bool is_client = is_said && options_choice(program->values, CONNECT_OPTION_CONFIRMATION) ==
                                    CONNECT_CONFIRM_CLIENT;

    bool asks_nobody = options_is_on(program->values, CONNECT_OPTION_NON_INTERACTIVE);

    if (is_client && !asks_nobody && !program_has_terminal(program))
        return err_set(err, ERR_INVALID_OPTION,
                       "--permission-confirmation client needs a terminal on standard input and "
                       "output; with --non-interactive there is nobody to ask, and calls that need "
                       "permission are denied");
    program->asks_here = is_said ? is_client : program_has_terminal(program);
    return 0;
}

static int check_agreement(const struct program *program, struct err *err)
{
    if (program_needs_agreement(program) && !program_has_terminal(program))
        return err_set(err, ERR_INVALID_OPTION,
                       "there is no terminal to ask on before connecting: say --auto-confirm or "
                       "--non-interactive if you agree");
    return 0;
}

static void tell_settings(const struct program *program)
{
    const struct connect_choices *choices = &program->choices;

    for (size_t i = 0; i < choices->warning_count && i < CONNECT_CHOICES_WARNINGS; i++)
        log_write(&program->log, LOG_WARN, "in the settings",
                  LOG_TEXT("what", choices->warnings[i]));
    if (choices->warning_count > CONNECT_CHOICES_WARNINGS)
        log_write(&program->log, LOG_WARN, "and more like that in the settings",
                  LOG_INT("count", (int64_t)(choices->warning_count - CONNECT_CHOICES_WARNINGS)));
    if (choices->findings.is_set_aside)
        log_write(&program->log, LOG_WARN,
                  "settings were malformed and lie aside: until you mend and put them back, or "
                  "remove them, everything is asked for",
                  LOG_TEXT("file", choices->findings.set_aside),
                  LOG_TEXT("error", choices->findings.why));
}

/* Logged once, so that users do not wonder why calls are denied. */
static void tell_lacks(const struct program *program)
{
    tell_settings(program);
    if (program->asks_here && program->console == NULL)
        log_write(&program->log, LOG_WARN,
                  "there is nobody to ask: calls that need permission are denied until you run "
                  "'gatehouse ask' in a terminal");
}

/* ---- the terminal ---- */

static void on_gone(void *data)
{
    struct program *program = data;

    /* The signal that ends us gives the terminal back, too. */
    if (program->is_leaving)
        return;
    log_write(&program->log, LOG_WARN,
              "the terminal was closed: calls that need permission are refused from now on, "
              "unless 'gatehouse ask' runs in another one");
    program_terminal_gone(program);
}

static bool is_taken(void *data)
{
    const struct program *program = data;

    return program->console != NULL && console_is_taken(program->console);
}

static int open_terminal_log(struct program *program, struct err *err)
{
    const struct terminallog_config config = {
        .loop = program->loop, .out_fd = STDERR_FILENO, .is_taken = is_taken, .data = program};
    int r = terminallog_new(&config, &program->terminal_log, err);

    if (r == 0)
        program->log.fd = terminallog_fd(program->terminal_log);
    return r;
}

static int open_console(struct program *program, struct err *err)
{
    bool has_terminal = program_has_terminal(program);
    int r;

    if (!has_terminal && !program->asks_here)
        return 0;
    r = question_queue_new(&program->queue); /* without a terminal there is no user */
    if (r == 0 && has_terminal)
        r = console_new(
            &(struct console_config){
                .loop = program->loop,
                .queue = program->queue,
                .in_fd = STDIN_FILENO,
                .out_fd = STDOUT_FILENO,
                .look = stage_look(getenv("TERM"), getenv("NO_COLOR"), getenv("LC_ALL"),
                                   getenv("LC_CTYPE"), getenv("LANG")),
                .on_gone = on_gone,
                .data = program,
            },
            &program->console);
    if (r < 0)
        return err_set(err, r, "the terminal: %s", err_text(r));
    return has_terminal && isatty(STDERR_FILENO) ? open_terminal_log(program, err) : 0;
}

/* ---- terminals of `gatehouse ask` ---- */

static int describe(void *data, struct buf *out)
{
    const struct program *program = data;

    if (program->agreed.url_text[0] == '\0')
        return buf_append_str(out, STR("gatehouse connect"));
    return buf_printf(out, "gatehouse connect, folder %s, for %s", program->agreed.choices.dir,
                      program->agreed.url_text);
}

/* Not essential. */
static void open_asker(struct program *program)
{
    struct err err = ERR_INIT;
    int r;

    if (!program->asks_here)
        return;
    r = asking_socket_open(&program->asking_socket, &err);
    if (r == 0) {
        r = asker_new(&(struct asker_config){.loop = program->loop,
                                             .queue = program->queue,
                                             .listen_fd = program->asking_socket.listen_fd,
                                             .describe = describe,
                                             .data = program},
                      &program->asker);
        if (r < 0)
            err_set_plain(&err, r);
    }
    if (r < 0)
        log_error(&program->log, "'gatehouse ask' will not show questions of this daemon", &err);
}

/* Not essential. */
static void open_board(struct program *program)
{
    struct err err = ERR_INIT;

    if (noticeboard_open(&program->board, &err) < 0)
        log_error(&program->log,
                  "agents with mouse and keyboard will not wait for questions of others", &err);
}

static int serve(struct program *program, struct err *err)
{
    int r = loop_new(&clock_system, &program->loop);

    if (r < 0)
        return err_set_plain(err, r);
    program_connect_init(program);
    for (size_t i = 0; i < array_size(signals) && r == 0; i++)
        r = signal_watch_new(program->loop, signals[i], on_signal, program, &program->watches[i]);
    if (r < 0)
        return err_set_plain(err, r);
    r = open_console(program, err);
    if (r == 0)
        r = program_outside_open(program, err);
    if (r < 0)
        return r;
    open_asker(program);
    open_board(program);
    tell_lacks(program);
    if (program->attempt.key.len > 0 || program->attempt.kept.key.len > 0)
        r = program_connect(program, err);
    else /* a page may connect it much later */
        session_state_close(&program->state);
    if (r < 0)
        return r;
    program_tell(program);
    loop_run(program->loop);
    return 0;
}

static void close_all(struct program *program)
{
    if (program->loop != NULL) {
        program_connect_close(program);
        program_outside_close(program);
    }
    asker_free(program->asker);
    asking_socket_close(&program->asking_socket);
    noticeboard_close(&program->board);
    console_free(program->console);
    program->console = NULL;
    terminallog_free(program->terminal_log);
    program->log.fd = STDERR_FILENO;
    if (program->queue != NULL)
        question_queue_free(program->queue);
    for (size_t i = 0; i < array_size(signals); i++)
        signal_watch_free(program->watches[i]);
    if (program->loop != NULL)
        loop_free(program->loop);
}

static int work(struct program *program, struct arena *arena, struct err *err)
{
    bool is_done = false;
    int r = read_url(program, err);

    if (r == 0)
        r = read_key(program, err);
    if (r == 0)
        r = read_origins(program, err);
    if (r == 0)
        r = read_authorities(program, err);
    if (r == 0)
        r = check_globs(program, err);
    if (r == 0)
        r = connect_options_read(program->values, &program->state, arena, &program->choices, err);
    if (r == 0) /* it is one of the terms of a session from before */
        r = choose_asker(program, err);
    if (r == 0)
        r = check_shell(program, err);
    if (r == 0)
        program_look_for_session(program);
    if (r == 0)
        r = check_agreement(program, err);
    if (r < 0)
        return r;
    log_init(&program->log, STDERR_FILENO, program->choices.log_level, &clock_system);
    r = program_hand_over(program, &is_done, err);
    if (r < 0 || is_done)
        return r;
    r = serve(program, err);
    if (r == 0 && program->has_failed) {
        *err = program->err;
        r = err->code < 0 ? err->code : ERR_IO;
    }
    if (r < 0)
        program_keep_reason(program, err);
    close_all(program);
    return r;
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    struct program program = {.values = values,
                              .authorities = BUF_INIT(TLS_MAX_PEM_BYTES),
                              .state = SESSION_STATE_INIT,
                              .attempt.kept_lock_fd = -1,
                              .board = NOTICEBOARD_INIT,
                              .asking_socket = ASKING_SOCKET_INIT};
    int r = work(&program, arena, err);

    session_state_close(&program.state);
    secret_done(&program.attempt.key);
    secret_done(&program.attempt.kept.key);
    buf_done(&program.authorities);
    return r;
}

static const struct runner runner = {
    .program = CONNECT_PROGRAM,
    .title = "gatehouse connect",
    .see = "'gatehouse connect --help'",
    .command = CONNECT_COMMAND,
    .checks_options_late = true,
    .keeps_input = true,
    .run = run,
};

int main(int argc, char **argv)
{
    return runner_main(&runner, argc, argv);
}
