/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/program.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "command/alone.h"
#include "command/connect.h"
#include "console/confirm.h"
#include "console/console.h"
#include "daemon/kept.h"
#include "daemon/notes.h"
#include "daemon/session.h"
#include "isolate/confine.h"
#include "loop/signal.h"
#include "tools/recorded.h"

enum { EXIT_WRONG_USE = 2, ARGS_MAX_BYTES = 4 << 20 };

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

struct program {
    const struct option_values *values;
    struct log log;
    struct loop *loop;
    struct wishes wishes;
    struct httpurl url;
    struct secret key;  /* empty: none was given */
    bool is_static_key; /* of both sides, and not for a file of ours */
    char terms[KEPT_TERMS_BYTES];
    struct kept kept; /* a session from before; its key is empty without one */
    bool asks_here;   /* about calls; else the instance does */
    struct desk *desk;
    struct console *console;
    struct notes *notes; /* where the log and questions share a terminal */
    struct session *session;
    struct signal_watch *watches[array_size(signals)];
    bool is_leaving;
    int status;
    struct err err;
};

static const struct option_command command = {.name = "gatehouse-daemon",
                                              .summary = CONNECT_SUMMARY,
                                              .options = connect_options,
                                              .option_count = CONNECT_OPTIONS,
                                              .arguments = connect_arguments,
                                              .argument_count = CONNECT_ARGUMENTS};

/* ---- the end ---- */

static void stop(struct program *program, int status)
{
    program->status = status;
    loop_stop(program->loop);
}

static void fail(struct program *program, const struct err *err)
{
    program->err = *err;
    stop(program, EXIT_FAILURE);
}

static void on_over(void *data, int code, const struct err *err)
{
    struct program *program = data;

    if (code < 0)
        fail(program, err);
    else
        stop(program, EXIT_SUCCESS);
}

/* Systemd names every start of a service. */
static bool keeps_session(const struct program *program)
{
    return options_is_on(program->values, CONNECT_OPTION_KEEP_SESSION) ||
           getenv("INVOCATION_ID") != NULL;
}

/* The first one says goodbye to the server, the second does not wait for that. */
static void on_signal(void *data, int signum)
{
    struct program *program = data;

    log_write(&program->log, LOG_INFO, "stopping", LOG_TEXT("signal", strsignal(signum)));
    if (program->session == NULL || program->is_leaving ||
        (signum == SIGTERM && keeps_session(program))) {
        stop(program, EXIT_SUCCESS);
        return;
    }
    program->is_leaving = true;
    session_leave(program->session);
}

/* ---- from the command line ---- */

static int read_key(struct program *program, struct err *err)
{
    const char *token = options_argument(program->values, CONNECT_ARGUMENT_TOKEN);

    if (token == NULL || *token == '\0') {
        token = getenv(CONNECT_KEY_ENV);
        program->is_static_key = token != NULL && *token != '\0';
    }
    if (token == NULL || *token == '\0')
        return 0;
    for (const char *c = token; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~')
            return err_set(err, ERR_INVALID_OPTION,
                           "the token may only have visible ASCII characters");
    if (secret_set(&program->key, str_from(token)) < 0)
        return err_set(err, ERR_INVALID_OPTION, "the token is longer than %d characters",
                       SECRET_MAX_BYTES);
    return 0;
}

static int read_url(struct program *program, struct err *err)
{
    struct err why = ERR_INIT;
    int r = httpurl_parse(str_from(options_argument(program->values, CONNECT_ARGUMENT_URL)),
                          &program->url, &why);

    return r < 0 ? err_set(err, ERR_INVALID_OPTION, "URL: %s", why.message) : 0;
}

static int check_writable(const struct program *program, struct err *err)
{
    const struct option_list writable =
        options_list(program->values, CONNECT_OPTION_SHELL_WRITABLE);

    for (size_t i = 0; i < writable.count; i++)
        if (writable.items[i][0] != '/')
            return err_set(err, ERR_INVALID_OPTION, "--shell-writable: '%s' does not begin with /",
                           writable.items[i]);
    return 0;
}

/* Both sides of it: where one is redirected nobody would see the question, or could answer. */
static bool has_terminal(const struct program *program)
{
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
           !options_is_on(program->values, CONNECT_OPTION_NON_INTERACTIVE);
}

static bool needs_agreement(const struct program *program)
{
    return program->kept.key.len == 0 &&
           !options_is_on(program->values, CONNECT_OPTION_AUTO_CONFIRM) &&
           !options_is_on(program->values, CONNECT_OPTION_NON_INTERACTIVE);
}

static int choose_asker(struct program *program, struct err *err)
{
    bool is_said = options_source(program->values, CONNECT_OPTION_CONFIRMATION) != OPTION_UNSET;
    bool is_client = is_said && options_choice(program->values, CONNECT_OPTION_CONFIRMATION) ==
                                    CONNECT_CONFIRM_CLIENT;

    if (is_client && !has_terminal(program))
        return err_set(err, ERR_INVALID_OPTION,
                       "--permission-confirmation client needs a terminal on standard input and "
                       "output, and no --non-interactive");
    if (needs_agreement(program) && !has_terminal(program))
        return err_set(err, ERR_INVALID_OPTION,
                       "there is no terminal to ask on before connecting: say --auto-confirm or "
                       "--non-interactive if you agree");
    program->asks_here = is_said ? is_client : has_terminal(program);
    return 0;
}

/* Said once, so that nobody wonders where the tools are. */
static void tell_lacks(const struct program *program)
{
    static const enum catalog_group lacking[] = {CATALOG_COMPUTER, CATALOG_BROWSER};

    for (size_t i = 0; i < array_size(lacking); i++)
        if (program->wishes.modes.of[lacking[i]] != PERMISSION_DENY)
            log_write(&program->log, LOG_INFO, "not offered: this version has no tools for it",
                      LOG_TEXT("group", catalog_group_name(lacking[i])));
    if (program->wishes.findings.is_set_aside)
        log_write(&program->log, LOG_WARN,
                  "settings were malformed and lie aside: until you mend and put them back, or "
                  "remove them, everything is asked for",
                  LOG_TEXT("file", program->wishes.findings.set_aside),
                  LOG_TEXT("error", program->wishes.findings.why));
    if (!program->url.is_tls)
        log_write(&program->log, LOG_DEBUG, "the connection is not encrypted");
}

/* ---- agreeing ---- */

static bool has_network(const struct program *program)
{
    return options_choice(program->values, CONNECT_OPTION_SHELL_NETWORK) == CONNECT_NETWORK_ALLOW;
}

static void digest_terms(struct program *program)
{
    const struct kept_terms terms = {
        .url = &program->url,
        .wishes = &program->wishes,
        .shell_has_network = has_network(program),
        .shell_writable = options_list(program->values, CONNECT_OPTION_SHELL_WRITABLE).items,
    };

    kept_digest(&terms, program->terms);
}

/* One that was kept needs no token and no question: nothing is different. */
static int look_for_session(struct program *program, struct err *err)
{
    const struct recorded_config state = {.state_dir = program->wishes.state_dir};
    struct recorded recorded = {.audit_dir_fd = -1};
    int r = recorded_open(&state, &recorded, err);

    digest_terms(program);
    if (r == 0)
        (void)kept_read(recorded.authority, recorded.state_path, &program->url, program->terms,
                        &program->kept);
    recorded_close(&recorded);
    if (r == 0 && program->kept.key.len == 0 && program->key.len == 0)
        r = err_set(err, ERR_INVALID_OPTION,
                    "a pairing token is needed: the server shows it with the command to copy; or "
                    "set " CONNECT_KEY_ENV " as the server has it");
    return r;
}

static int begin(struct program *program, struct err *err)
{
    const struct session_config config = {
        .loop = program->loop,
        .log = &program->log,
        .wishes = &program->wishes,
        .desk = program->asks_here ? program->desk : NULL,
        .url = program->url,
        .key = &program->key,
        .resumed = program->kept.key.len > 0 ? &program->kept : NULL,
        .terms = program->terms,
        .keeps = keeps_session(program) && !program->is_static_key,
        .libexec = GATEHOUSE_LIBEXECDIR,
        .max_file_bytes = (uint64_t)options_int(program->values, CONNECT_OPTION_MAX_FILE_SIZE),
        .max_lines = (uint64_t)options_int(program->values, CONNECT_OPTION_MAX_LINES),
        .shell_has_network = has_network(program),
        .shell_writable = options_list(program->values, CONNECT_OPTION_SHELL_WRITABLE).items,
        .shell_timeout_ms = options_int(program->values, CONNECT_OPTION_SHELL_TIMEOUT),
        .on_over = on_over,
        .data = program,
    };
    int r;

    tell_lacks(program);
    digest_terms(program); /* the user may have edited */
    r = session_new(&config, &program->session, err);
    secret_done(&program->key);
    secret_done(&program->kept.key);
    return r;
}

static void on_confirmed(void *data, const struct confirm_result *result)
{
    struct program *program = data;
    char dir[PATH_MAX];
    struct err err = ERR_INIT;
    int r;

    if (!result->is_accepted) {
        stop(program, EXIT_SUCCESS);
        return;
    }
    program->wishes.modes = result->modes;
    program->wishes.has_write_access = result->has_write_access;
    if (!result->has_write_access)
        program->wishes.modes.of[CATALOG_FILESYSTEM_WRITE] = PERMISSION_DENY;
    if (snprintf(dir, sizeof(dir), "%.*s", STR_ARG(result->dir)) >= (int)sizeof(dir))
        r = err_set(&err, ERR_INVALID_PATH, "the name of the folder is too long");
    else
        r = recorded_absolute(dir, program->wishes.dir, &err);
    if (r == 0)
        r = begin(program, &err);
    if (r < 0)
        fail(program, &err);
}

static int ask_to_connect(struct program *program, struct err *err)
{
    const struct option_list writable =
        options_list(program->values, CONNECT_OPTION_SHELL_WRITABLE);
    struct str shown[CONFIRM_MAX_WRITABLE];
    struct confirm_offer offer = {
        .url = str_from(options_argument(program->values, CONNECT_ARGUMENT_URL)),
        .dir = str_from(program->wishes.dir),
        .modes = program->wishes.modes,
        .has_write_access = program->wishes.has_write_access,
        .shell_has_network = has_network(program),
        .shell_writable = shown,
    };
    int r;

    if (offer.has_write_access)
        shown[offer.shell_writable_count++] = offer.dir;
    if (writable.count > array_size(shown) - offer.shell_writable_count)
        return err_set(err, ERR_INVALID_OPTION, "--shell-writable: more than can be asked about");
    for (size_t i = 0; i < writable.count; i++)
        shown[offer.shell_writable_count++] = str_from(writable.items[i]);
    r = confirm_ask(program->console, &offer, on_confirmed, program);
    return r < 0 ? err_set_plain(err, r) : 0;
}

static void on_gone(void *data)
{
    const struct program *program = data;

    log_write(&program->log, LOG_WARN,
              "the terminal to ask on is gone: what needs consent is refused from now on");
}

static bool is_taken(void *data)
{
    const struct program *program = data;

    return program->console != NULL && console_is_taken(program->console);
}

static int open_notes(struct program *program, struct err *err)
{
    const struct notes_config config = {
        .loop = program->loop, .out_fd = STDERR_FILENO, .is_taken = is_taken, .data = program};
    int r = notes_new(&config, &program->notes, err);

    if (r == 0)
        program->log.fd = notes_fd(program->notes);
    return r;
}

static int open_console(struct program *program, struct err *err)
{
    int r;

    if (!has_terminal(program))
        return 0;
    r = desk_new(&program->desk);
    if (r == 0)
        r = console_new(
            &(struct console_config){
                .loop = program->loop,
                .desk = program->desk,
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
    return isatty(STDERR_FILENO) ? open_notes(program, err) : 0;
}

static int serve(struct program *program, struct err *err)
{
    int r = loop_new(&clock_system, &program->loop);

    if (r < 0)
        return err_set_plain(err, r);
    for (size_t i = 0; i < array_size(signals) && r == 0; i++)
        r = signal_watch_new(program->loop, signals[i], on_signal, program, &program->watches[i]);
    if (r < 0)
        return err_set_plain(err, r);
    r = open_console(program, err);
    if (r == 0)
        r = needs_agreement(program) ? ask_to_connect(program, err) : begin(program, err);
    if (r < 0)
        return r;
    loop_run(program->loop);
    return 0;
}

static void close_all(struct program *program)
{
    session_free(program->session);
    console_free(program->console);
    program->console = NULL;
    notes_free(program->notes);
    program->log.fd = STDERR_FILENO;
    if (program->desk != NULL)
        desk_free(program->desk);
    for (size_t i = 0; i < array_size(signals); i++)
        signal_watch_free(program->watches[i]);
    if (program->loop != NULL)
        loop_free(program->loop);
    secret_done(&program->key);
    secret_done(&program->kept.key);
}

static int run(struct program *program, struct err *err)
{
    static const int kept[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    int r = confine_close_fds(kept, array_size(kept), err);

    if (r == 0)
        r = read_url(program, err);
    if (r == 0)
        r = read_key(program, err);
    if (r == 0)
        r = check_writable(program, err);
    if (r == 0)
        r = wishes_read(program->values, &program->wishes, err);
    if (r == 0)
        r = look_for_session(program, err);
    if (r == 0)
        r = choose_asker(program, err);
    if (r < 0)
        return r;
    log_init(&program->log, STDERR_FILENO, program->wishes.log_level, &clock_system);
    r = serve(program, err);
    close_all(program);
    return r;
}

static int complain(const struct err *err, int status)
{
    fprintf(stderr, "gatehouse connect: %s\n%s", err->message,
            status == EXIT_WRONG_USE ? "See 'gatehouse connect --help'.\n" : "");
    return status;
}

int program_run(int argc, char *const *argv)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARGS_MAX_BYTES);
    struct program program = {.status = EXIT_SUCCESS};
    struct option_values *values;
    struct err err = ERR_INIT;
    int r;

    if (alone_read_options(&arena, &command, argc, argv, &values, &err) < 0)
        return complain(&err, EXIT_WRONG_USE);
    if (alone_is_asked_about_itself(values)) {
        r = alone_tell_about_itself(values, &err);
        return r < 0 ? complain(&err, EXIT_FAILURE) : EXIT_SUCCESS;
    }
    /* A server that goes away is an error of write(), not the end of us. */
    signal(SIGPIPE, SIG_IGN);
    program.values = values;
    r = run(&program, &err);
    if (r < 0)
        return complain(&err, r == ERR_INVALID_OPTION ? EXIT_WRONG_USE : EXIT_FAILURE);
    return program.status != EXIT_SUCCESS ? complain(&program.err, program.status) : EXIT_SUCCESS;
}
