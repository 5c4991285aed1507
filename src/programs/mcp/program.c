/* SPDX-License-Identifier: Apache-2.0 */
/* gatehouse-mcp: reads the command line, serves clients, and cleans up. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options/options.h"
#include "base/rand.h"
#include "base/secret.h"
#include "cli/mcp.h"
#include "cli/runner.h"
#include "cli/shared.h"
#include "cli/status.h"
#include "loop/signal.h"
#include "loop/timer.h"
#include "net/address.h"
#include "programs/mcp/consent.h"
#include "programs/mcp/httpfront.h"
#include "programs/mcp/stdiofront.h"
#include "session/commands.h"
#include "session/session.h"
#include "session/sweeper.h"

enum {
    SESSION_BYTES = 24,
    KEY_CHARS = 32, /* 190 bits */
    KEY_MIN_CHARS = 16,
    /* Reads are recorded at the latest after this. */
    FLUSH_MS = 1000,
    /* Connections, watched directories, and files opened by calls. */
    HTTP_DESCRIPTORS = 4096,
};

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

struct program {
    struct log log;
    struct loop *loop;
    struct session *session;
    struct stdiofront *front; /* one of them */
    struct httpfront *http;
    int listen_fd; /* until http has it; -1 without */
    struct address address;
    struct secret key;
    struct consent consent;
    struct commands *commands; /* NULL: none are run */
    struct sweeper *sweeper;
    struct signal_watch *watches[array_size(signals)];
    struct timer flush;
    atomic_uint running;
    atomic_uint changing;
};

static void on_signal(void *data, int signum)
{
    struct program *program = data;

    log_write(&program->log, LOG_INFO, "stopping", LOG_TEXT("signal", strsignal(signum)));
    if (program->http != NULL) {
        httpfront_stop(program->http);
        return;
    }
    stdiofront_stop(program->front);
    loop_stop(program->loop);
}

static void on_end(void *data)
{
    struct program *program = data;

    loop_stop(program->loop);
}

static void on_answered(void *data)
{
    struct program *program = data;

    if (!program->flush.is_started)
        timer_start(&program->flush, FLUSH_MS);
}

static void write_record(struct program *program)
{
    struct session_state *state = &program->session->state;
    const char *words = session_state_flush(state);

    if (words != NULL)
        log_write(&program->log, LOG_WARN, words, LOG_TEXT("directory", state->state_path));
}

static void flush_record(void *data)
{
    write_record(data);
}

/* ---- from the command line ---- */

static int open_session(struct program *program, const struct option_values *values,
                        struct err *err)
{
    const char *directory = options_argument(values, MCP_ARGUMENT_DIR);
    const char *state = options_text(values, MCP_OPTION_STATE_DIR);
    char default_state[PATH_MAX];
    char session[SESSION_BYTES];
    struct session_config config;
    uint64_t number;
    int r;

    if (state == NULL) {
        r = session_state_default_dir(default_state, err);
        if (r < 0)
            return r;
        state = default_state;
    }
    rand_bytes(&number, sizeof(number));
    snprintf(session, sizeof(session), "mcp-%016llx", (unsigned long long)number);
    config = (struct session_config){
        .directory = directory != NULL ? directory : ".",
        .state_dir = state,
        .session = session,
        .may_write = program->consent.session.modes.of[CATALOG_FILESYSTEM_WRITE] != PERMISSION_DENY,
        .consent = &program->consent.session,
        .denied = options_list(values, MCP_OPTION_DENY).items,
        .allowed = options_list(values, MCP_OPTION_ALLOW).items,
        .max_file_bytes = (uint64_t)options_int(values, MCP_OPTION_MAX_FILE_SIZE),
        .max_lines = (uint64_t)options_int(values, MCP_OPTION_MAX_LINES),
        .max_matches = (uint64_t)options_int(values, MCP_OPTION_MAX_MATCHES),
    };
    return session_open(&config, &program->session, err);
}

/* ---- HTTP: the socket is opened while that is still allowed ---- */

static int choose_key(struct secret *key, struct err *err)
{
    const char *given = getenv(MCP_HTTP_KEY_ENV);
    struct str text = given != NULL ? str_from(given) : STR_EMPTY;

    if (text.len == 0)
        return secret_generate(key, STR("gh_"), KEY_CHARS);
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~')
            return err_set(err, ERR_INVALID_OPTION,
                           MCP_HTTP_KEY_ENV " may only have visible ASCII characters");
    if (text.len < KEY_MIN_CHARS || secret_set(key, text) < 0)
        return err_set(err, ERR_INVALID_OPTION,
                       MCP_HTTP_KEY_ENV " needs %d to %d characters; unset it to have one made",
                       KEY_MIN_CHARS, SECRET_MAX_BYTES);
    return 0;
}

/* Many shells allow so few that one client could use them all up. */
static void raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= HTTP_DESCRIPTORS)
        return;
    limit.rlim_cur = limit.rlim_max < HTTP_DESCRIPTORS ? limit.rlim_max : HTTP_DESCRIPTORS;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* the present limit will do */
}

static int open_door(struct program *program, const struct option_values *values, struct err *err)
{
    const char *text = options_text(values, MCP_OPTION_HTTP);
    struct address address;
    int r;

    if (text == NULL)
        return 0;
    if (address_parse(str_from(text), &address) < 0)
        return err_set(err, ERR_INVALID_OPTION,
                       "--http needs an address and a port, like 127.0.0.1:7650 or [::1]:0");
    if (!address_is_loopback(&address))
        return err_set(err, ERR_INVALID_OPTION,
                       "--http serves this machine only: use 127.0.0.1, localhost or [::1]");
    raise_descriptors();
    r = choose_key(&program->key, err);
    if (r == 0)
        r = address_listen(&address, err, &program->listen_fd);
    if (r == 0 && address_of(program->listen_fd, &program->address) < 0)
        r = err_set(err, ERR_IO, "cannot determine the listening port");
    return r;
}

/* The only place that shows the key: to the user who started us. */
static int tell_door(const struct program *program)
{
    char text[ADDRESS_TEXT_BYTES];
    struct str key = secret_reveal(&program->key);

    address_format(&program->address, text);
    printf("http://%s/mcp\nAuthorization: Bearer %.*s\n", text, STR_ARG(key));
    return fflush(stdout) == 0 ? 0 : ERR_IO;
}

/* ---- commands: the launcher is forked while that is still allowed ---- */

static int refuse_idle_flags(const struct option_values *values, struct err *err)
{
    static const size_t about_commands[] = {MCP_OPTION_SHELL_NETWORK, MCP_OPTION_SHELL_WRITABLE,
                                            MCP_OPTION_SHELL_READABLE, MCP_OPTION_SHELL_TIMEOUT,
                                            MCP_OPTION_SHELL_OPEN};

    for (size_t i = 0; i < array_size(about_commands); i++)
        if (options_source(values, about_commands[i]) == OPTION_FLAG)
            return err_set(err, ERR_INVALID_OPTION,
                           "--%s has no effect without commands: add --permission-shell ask or "
                           "allow",
                           mcp_options[about_commands[i]].name);
    return 0;
}

static void on_no_commands(void *data)
{
    struct program *program = data;

    log_write(&program->log, LOG_ERROR,
              "the process that starts commands has ended, and all commands with it: restart "
              "gatehouse mcp to run more");
}

static int open_commands(struct program *program, const struct option_values *values,
                         struct err *err)
{
    static const struct shared_shell rows = {.network = MCP_OPTION_SHELL_NETWORK,
                                             .writable = MCP_OPTION_SHELL_WRITABLE,
                                             .readable = MCP_OPTION_SHELL_READABLE,
                                             .open = MCP_OPTION_SHELL_OPEN};
    char sockets[PATH_MAX];
    const struct commands_config config = {
        .session = program->session,
        .hidden = status_socket_dir(sockets, NULL) == 0 ? sockets : NULL, /* a daemon's */
        .is_open = options_is_on(values, MCP_OPTION_SHELL_OPEN),
        .has_network = options_choice(values, MCP_OPTION_SHELL_NETWORK) == SHARED_NETWORK_ALLOW,
        .writable = options_list(values, MCP_OPTION_SHELL_WRITABLE).items,
        .readable = options_list(values, MCP_OPTION_SHELL_READABLE).items,
        .timeout_ms = options_int(values, MCP_OPTION_SHELL_TIMEOUT),
        .on_final = on_no_commands,
        .data = program,
    };
    struct err why = ERR_INIT;
    const char *risk;
    int r;

    if (program->consent.session.modes.of[CATALOG_SHELL] == PERMISSION_DENY)
        return refuse_idle_flags(values, err);
    r = shared_check_shell(values, &rows, err);
    if (r < 0)
        return r;
    /* What does not exist for the client would be there for its commands. */
    if (options_list(values, MCP_OPTION_DENY).count + options_list(values, MCP_OPTION_ALLOW).count >
        0)
        return err_set(
            err, ERR_INVALID_OPTION,
            "--deny and --allow do not apply to commands, which see the whole folder: omit "
            "them, or --permission-shell");
    if (config.is_open)
        log_write(&program->log, LOG_WARN, SHARED_OPEN_WARNING);
    r = commands_open(&config, &program->commands, &why);
    if (r == ERR_UNSUPPORTED) {
        log_write(&program->log, LOG_WARN, "commands are disabled", LOG_TEXT("why", why.message));
        return 0;
    }
    if (r < 0)
        return err_set(err, r, "%s", why.message);
    if (commands_warning(program->commands) != NULL)
        log_write(&program->log, LOG_WARN, commands_warning(program->commands));
    risk = commands_risk(program->commands);
    if (risk != NULL)
        log_write(&program->log, LOG_WARN, COMMANDS_RISK_WARNING, LOG_TEXT("place", risk));
    return 0;
}

/* ---- walls, then input ---- */

static int confine(struct program *program, struct err *err)
{
    const struct session_walls walls = {.answers_connections = program->listen_fd >= 0,
                                        .asks_on_terminal = program->consent.terminal_fd >= 0,
                                        .passes_messages = program->commands != NULL};
    struct confine_report report;
    int r = session_confine(program->session, &walls, &report, err);

    if (r == 0)
        confine_log(&report, &program->log);
    return r;
}

/* A failure does not matter for the session; another one will sweep later. */
static void start_sweeper(struct program *program)
{
    int r = sweeper_new(program->loop, program->session->state.authority, &program->running,
                        &program->sweeper);

    if (r < 0)
        log_write(&program->log, LOG_WARN, "cannot remove what earlier sessions left",
                  LOG_TEXT("error", err_text(r)));
}

static int open_front(struct program *program, const struct option_values *values, struct err *err)
{
    const struct front_config config = {
        .loop = program->loop,
        .log = &program->log,
        .box = program->session->box,
        .shell = commands_shell(program->commands),
        .keeper = program->session->keeper,
        .queue = program->consent.queue,
        .allows_remote_always = program->consent.allows_remote_always,
        .modes = &program->consent.session.modes,
        .names = program->session->names,
        .files = program->session->files,
        .running = &program->running,
        .changing = &program->changing,
        .timeout_ms = options_int(values, MCP_OPTION_TIMEOUT),
        .max_file_bytes = (uint64_t)options_int(values, MCP_OPTION_MAX_FILE_SIZE),
        .on_answered = on_answered,
        .on_end = on_end,
        .data = program,
    };
    int fd = program->listen_fd;

    program->listen_fd = -1;
    return fd >= 0 ? httpfront_new(&config, fd, &program->key, &program->http, err)
                   : stdiofront_new(&config, STDIN_FILENO, STDOUT_FILENO, &program->front, err);
}

static int serve(struct program *program, const struct option_values *values, struct err *err)
{
    int r = loop_new(&clock_system, &program->loop);

    if (r < 0)
        return err_set_plain(err, r);
    timer_init(&program->flush, program->loop, flush_record, program);
    r = consent_start(&program->consent, program->loop, &program->log, program->session, err);
    if (r == 0 && program->commands != NULL)
        r = commands_start(program->commands, program->loop, err);
    if (r == 0)
        r = open_front(program, values, err);
    if (r < 0)
        return r;
    start_sweeper(program);
    for (size_t i = 0; i < array_size(signals); i++) {
        r = signal_watch_new(program->loop, signals[i], on_signal, program, &program->watches[i]);
        if (r < 0)
            return err_set_plain(err, r);
    }
    if (program->http == NULL) {
        stdiofront_run(program->front);
        return 0;
    }
    r = tell_door(program);
    if (r < 0)
        return err_set(err, r, "cannot print the address: %s", err_text(r));
    httpfront_run(program->http);
    return 0;
}

static void close_all(struct program *program)
{
    stdiofront_free(program->front);
    httpfront_free(program->http);
    commands_free(program->commands);
    if (program->listen_fd >= 0)
        close(program->listen_fd);
    secret_done(&program->key);
    if (program->loop != NULL)
        consent_done(&program->consent);
    sweeper_free(program->sweeper);
    for (size_t i = 0; i < array_size(signals); i++)
        signal(signals[i], SIG_DFL); /* another one ends the waiting */
    session_wait_for_changes(&program->changing);
    if (atomic_load(&program->running) > 0) {
        /*
         * A worker hangs in the kernel and may come back to what it uses, so nothing is freed.
         * Leftovers are swept at the next start.
         */
        write_record(program);
        if (program->session->state.audit != NULL)
            audit_file_leave(program->session->state.audit);
        _exit(EXIT_SUCCESS);
    }
    if (program->loop != NULL) {
        timer_stop(&program->flush);
        for (size_t i = 0; i < array_size(signals); i++)
            signal_watch_free(program->watches[i]);
        loop_free(program->loop);
    }
    if (program->session != NULL)
        write_record(program);
    session_close(program->session);
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    struct program program = {.listen_fd = -1, .consent.terminal_fd = -1};
    int r;

    (void)arena;
    /* A few threads that seldom allocate: one heap for all is smaller. */
    mallopt(M_ARENA_MAX, 1);
    log_init(&program.log, STDERR_FILENO, shared_log_level(values, MCP_OPTION_LOG_LEVEL),
             &clock_system);
    r = consent_init(&program.consent, values, err);
    if (r == 0)
        r = open_session(&program, values, err);
    if (r == 0)
        r = open_door(&program, values, err);
    if (r == 0)
        r = open_commands(&program, values, err);
    if (r == 0)
        r = confine(&program, err);
    if (r == 0)
        r = serve(&program, values, err);
    close_all(&program);
    return r;
}

static const struct runner runner = {
    .program = MCP_PROGRAM,
    .title = "gatehouse mcp",
    .see = "'gatehouse mcp --help'",
    .command = MCP_COMMAND,
    .keeps_input = true,
    .run = run,
};

int main(int argc, char **argv)
{
    return runner_main(&runner, argc, argv);
}
