/* SPDX-License-Identifier: Apache-2.0 */
/* gatehouse-mcp: reads the command line, serves clients, and cleans up. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/options/options.h"
#include "base/rand.h"
#include "base/secret.h"
#include "browser/client.h"
#include "browser/installed.h"
#include "cli/mcp.h"
#include "cli/output.h"
#include "cli/runner.h"
#include "cli/shared.h"
#include "cli/status.h"
#include "cli/stop.h"
#include "isolate/environment.h"
#include "loop/signal.h"
#include "loop/timer.h"
#include "media/client.h"
#include "net/address.h"
#include "programs/mcp/clients.h"
#include "programs/mcp/consent.h"
#include "programs/mcp/httpfront.h"
#include "programs/mcp/install.h"
#include "programs/mcp/stdiofront.h"
#include "screen/client.h"
#include "session/commands.h"
#include "session/session.h"
#include "session/sweeper.h"
#include "workspace/client.h"
#include "workspace/firstfiles.h"
#include "workspace/revival.h"
#include "workspace/wire.h"

enum {
    SESSION_BYTES = 24,
    KEY_CHARS = 32, /* 190 bits */
    KEY_MIN_CHARS = 16,
    SANDBOX_ID_BYTES = 64,
    PROVIDER_BYTES = 32,
    /* Reads are recorded at the latest after this. */
    FLUSH_MS = 1000,
    /* Connections, watched directories, and files opened by calls. */
    HTTP_DESCRIPTORS = 4096,
};

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

struct program {
    struct log log;
    struct loop *loop;
    struct media_client *media; /* or NULL */
    struct session *session;
    struct stdiofront *front; /* one of them */
    struct httpfront *http;
    int listen_fd; /* until http has it; -1 without */
    struct address address;
    struct secret key;
    struct consent consent;
    struct commands *commands; /* NULL: none are run */
    struct screen_client *screen;
    struct browser_client *browser;
    struct workspace_settings workspace; /* enabled: instead of folders */
    char adopted[SANDBOX_ID_BYTES];      /* the sandbox that it is; or empty */
    struct workspace_client *workspaces;
    int starter_fd; /* of workspace_revival_fork(); or -1 */
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

/* The first is where relative names are looked up: of those named without a mode, if any. */
static int list_folders(const struct program *program, const struct option_values *values,
                        struct session_folders *folders, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < values->argument_count && r == 0; i++)
        r = session_folders_add(folders, options_argument(values, i),
                                program->consent.writes_unmarked, err);
    if (r == 0)
        r = session_folders_add_marked(folders, options_list(values, MCP_OPTION_RW),
                                       options_list(values, MCP_OPTION_RO), err);
    return r < 0 || folders->count > 0
               ? r
               : session_folders_add(
                     folders, ".",
                     program->consent.writes_unmarked && !program->workspace.is_enabled, err);
}

static int open_session(struct program *program, const struct option_values *values,
                        struct err *err)
{
    struct session_folders folders = {.count = 0};
    const char *state = options_text(values, MCP_OPTION_STATE_DIR);
    char default_state[PATH_MAX];
    char session[SESSION_BYTES];
    struct session_config config;
    uint64_t number;
    int r = list_folders(program, values, &folders, err);

    if (r < 0)
        return r;
    if (state == NULL) {
        r = session_state_default_dir(default_state, err);
        if (r < 0)
            return r;
        state = default_state;
    }
    rand_bytes(&number, sizeof(number));
    snprintf(session, sizeof(session), "mcp-%016llx", (unsigned long long)number);
    config = (struct session_config){
        .folders = folders.items,
        .folder_count = folders.count,
        .state_dir = state,
        .audit_sync = (enum audit_sync)options_choice(values, MCP_OPTION_AUDIT_SYNC),
        .session = session,
        .has_staging = program->consent.session.modes.of[CATALOG_BROWSER] != PERMISSION_DENY &&
                       browser_installed(STR_EMPTY) != NULL,
        .heeds_client_roots = options_is_on(values, MCP_OPTION_ROOTS),
        .consent = &program->consent.session,
        .media = program->media,
        .denied = options_list(values, MCP_OPTION_DENY).items,
        .allowed = options_list(values, MCP_OPTION_ALLOW).items,
        .reads_hardlinks = options_choice(values, MCP_OPTION_HARD_LINKS) == SHARED_HARD_LINKS_ALLOW,
        .max_file_bytes = (uint64_t)options_int(values, MCP_OPTION_MAX_FILE_SIZE),
        .max_lines = (uint64_t)options_int(values, MCP_OPTION_MAX_LINES),
        .max_matches = (uint64_t)options_int(values, MCP_OPTION_MAX_MATCHES),
        .result_form = options_choice(values, MCP_OPTION_RESULTS) == MCP_RESULTS_TEXT
                           ? TOOLRESULT_TEXT
                           : TOOLRESULT_BOTH,
    };
    return session_open(&config, &program->session, err);
}

static void warn_of_folder(const struct program *program, const struct session_folder *folder)
{
    const char *warning = session_folder_warning(folder);

    if (warning != NULL)
        log_write(&program->log, LOG_WARN, warning);
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

static int check_door(const char *text, struct address *out_address, struct err *err)
{
    if (address_parse(str_from(text), out_address) < 0)
        return err_set(err, ERR_INVALID_OPTION,
                       "--http needs an address and a port, like 127.0.0.1:7650 or [::1]:0");
    if (!address_is_loopback(out_address))
        return err_set(err, ERR_INVALID_OPTION,
                       "--http serves this machine only: use 127.0.0.1, localhost or [::1]");
    return 0;
}

/* With `is_tried` only what the user gave is checked: the server may run already. */
static int open_door(struct program *program, const struct option_values *values, bool is_tried,
                     struct err *err)
{
    const char *text = options_text(values, MCP_OPTION_HTTP);
    struct address address;
    int r;

    if (text == NULL)
        return 0;
    if (program->session->client_roots != NULL)
        return err_set(err, ERR_INVALID_OPTION,
                       "--roots cannot be combined with --http, where several clients share the "
                       "folders");
    r = check_door(text, &address, err);
    if (r == 0)
        r = choose_key(&program->key, err);
    if (r < 0 || is_tried)
        return r;
    raise_descriptors();
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
    static const size_t about_commands[] = {MCP_OPTION_SHELL_NETWORK,  MCP_OPTION_SHELL_DOMAIN,
                                            MCP_OPTION_SHELL_WRITABLE, MCP_OPTION_SHELL_READABLE,
                                            MCP_OPTION_SHELL_ENV,      MCP_OPTION_SHELL_TIMEOUT,
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
                                             .domain = MCP_OPTION_SHELL_DOMAIN,
                                             .writable = MCP_OPTION_SHELL_WRITABLE,
                                             .readable = MCP_OPTION_SHELL_READABLE,
                                             .open = MCP_OPTION_SHELL_OPEN};
    char sockets[PATH_MAX];
    const struct commands_config config = {
        .session = program->session,
        .hidden = status_socket_dir(sockets, NULL) == 0 ? sockets : NULL, /* a daemon's */
        .is_open = options_is_on(values, MCP_OPTION_SHELL_OPEN),
        .has_network = options_choice(values, MCP_OPTION_SHELL_NETWORK) == SHARED_NETWORK_ALLOW,
        .domains = options_list(values, MCP_OPTION_SHELL_DOMAIN).items,
        .libexec = GATEHOUSE_LIBEXECDIR,
        .writable = options_list(values, MCP_OPTION_SHELL_WRITABLE).items,
        .readable = options_list(values, MCP_OPTION_SHELL_READABLE).items,
        .env = options_list(values, MCP_OPTION_SHELL_ENV).items,
        .denied = options_list(values, MCP_OPTION_DENY).items,
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
    if (r == 0)
        r = environment_check("--shell-env", config.env, environ, err);
    if (r < 0)
        return r;
    /* What does not exist for the client would be there for its commands. */
    if (program->session->client_roots != NULL)
        return err_set(err, ERR_INVALID_OPTION,
                       "--roots does not apply to commands, which see the whole folders: omit it, "
                       "or --permission-shell");
    if (options_list(values, MCP_OPTION_ALLOW).count > 0)
        return err_set(err, ERR_INVALID_OPTION, SHARED_ALLOW_REFUSAL);
    if (config.is_open && options_list(values, MCP_OPTION_DENY).count > 0)
        return err_set(err, ERR_INVALID_OPTION, SHARED_DENY_REFUSAL);
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

/* ---- images and documents: what is too large is made smaller, by gatehouse-media ---- */

static void open_media(struct program *program)
{
    struct err why = ERR_INIT;

    if (media_client_start(GATEHOUSE_LIBEXECDIR, STDERR_FILENO, 0, &program->media, &why) < 0)
        log_write(&program->log, LOG_WARN, "large images and documents cannot be made smaller",
                  LOG_TEXT("why", why.message));
}

/* ---- the screen: a companion holds it, and is started while that is still allowed ---- */

static void open_screen(struct program *program)
{
    struct err why = ERR_INIT;

    if (program->consent.session.modes.of[CATALOG_COMPUTER] == PERMISSION_DENY)
        return;
    if (screen_client_start(GATEHOUSE_LIBEXECDIR, STDERR_FILENO, &program->screen, &why) < 0)
        log_write(&program->log, LOG_WARN, "screen, mouse and keyboard are disabled",
                  LOG_TEXT("why", why.message));
}

/* ---- the browser: the first call starts it, by a process that can do so later, too ---- */

static void open_browser(struct program *program, bool is_headless)
{
    const struct browser_client_config config = {.libexec = GATEHOUSE_LIBEXECDIR,
                                                 .state_dir = program->session->state.state_path,
                                                 .staging_dir = program->session->staging.path,
                                                 .is_headless = is_headless,
                                                 .error_fd = STDERR_FILENO,
                                                 .is_confined = true};
    struct err why = ERR_INIT;

    if (program->consent.session.modes.of[CATALOG_BROWSER] == PERMISSION_DENY)
        return;
    if (browser_client_start(&config, &program->browser, &why) < 0)
        log_write(&program->log, LOG_WARN, "browser tools are disabled",
                  LOG_TEXT("why", why.message));
}

/* ---- a workspace: its companion has the network, and this process has not ---- */

/* What is about folders, or about several clients. */
static int refuse_folders(const struct option_values *values, struct err *err)
{
    static const size_t idle[] = {MCP_OPTION_RO,
                                  MCP_OPTION_RW,
                                  MCP_OPTION_HARD_LINKS,
                                  MCP_OPTION_ROOTS,
                                  MCP_OPTION_DENY,
                                  MCP_OPTION_ALLOW,
                                  MCP_OPTION_HTTP,
                                  MCP_OPTION_SHELL_NETWORK,
                                  MCP_OPTION_SHELL_DOMAIN,
                                  MCP_OPTION_SHELL_WRITABLE,
                                  MCP_OPTION_SHELL_READABLE,
                                  MCP_OPTION_SHELL_ENV,
                                  MCP_OPTION_SHELL_TIMEOUT,
                                  MCP_OPTION_SHELL_OPEN};

    if (values->argument_count > 0)
        return err_set(err, ERR_INVALID_OPTION,
                       "--workspace gives the client a workspace instead of folders: omit DIR");
    for (size_t i = 0; i < array_size(idle); i++)
        if (options_source(values, idle[i]) == OPTION_FLAG)
            return err_set(err, ERR_INVALID_OPTION,
                           "--workspace gives one client a workspace instead of folders: omit "
                           "--%s",
                           mcp_options[idle[i]].name);
    return 0;
}

static bool names_folders(const struct option_values *values)
{
    return values->argument_count > 0 || options_list(values, MCP_OPTION_RO).count > 0 ||
           options_list(values, MCP_OPTION_RW).count > 0;
}

static int refuse_idle(const struct option_values *values, struct err *err)
{
    static const size_t idle[] = {MCP_OPTION_WORKSPACE_SETUP, MCP_OPTION_WORKSPACE_FILES};

    for (size_t i = 0; i < array_size(idle); i++)
        if (options_source(values, idle[i]) == OPTION_FLAG)
            return err_set(err, ERR_INVALID_OPTION, "--%s is for --workspace",
                           mcp_options[idle[i]].name);
    return 0;
}

/* The variables are for all programs; folders are for this one, and win. */
static void forget_variables(const struct option_values *values)
{
    static const size_t about[] = {MCP_OPTION_WORKSPACE, MCP_OPTION_WORKSPACE_SETUP,
                                   MCP_OPTION_WORKSPACE_FILES};

    for (size_t i = 0; names_folders(values) && i < array_size(about); i++)
        if (options_source(values, about[i]) == OPTION_ENVIRONMENT)
            values->slots[about[i]] = (struct option_value){.source = OPTION_UNSET};
}

/* "isolated", or "isolated:ID" for a sandbox that exists already. */
static int read_workspace(struct program *program, const struct option_values *values,
                          struct err *err)
{
    const char *given = options_text(values, MCP_OPTION_WORKSPACE);
    struct str id = given != NULL ? str_from(given) : STR_EMPTY;
    struct str word = STR_EMPTY;
    char provider[PROVIDER_BYTES];
    int r;

    if (given == NULL && names_folders(values))
        return refuse_idle(values, err);
    if (str_cut(&id, ':', &word) && id.len < sizeof(program->adopted))
        snprintf(program->adopted, sizeof(program->adopted), "%.*s", STR_ARG(id));
    snprintf(provider, sizeof(provider), "%.*s", STR_ARG(word));
    r = workspace_settings_read(&program->workspace, given != NULL ? provider : NULL, err);
    if (r == 0 && program->workspace.is_enabled)
        r = refuse_folders(values, err);
    else if (r == 0)
        r = refuse_idle(values, err);
    return r;
}

/* Local files and commands are this machine's, so they need the permission that those need. */
static bool is_apart(const struct workspace_settings *settings)
{
    return settings->is_enabled && settings->provider != WORKSPACE_LOCAL;
}

static int read_first_files(struct program *program, const struct option_values *values,
                            struct buf *out, struct err *err)
{
    char path[PATH_MAX];
    const struct firstfiles_folder folder = {
        .path = path,
        .given = options_text(values, MCP_OPTION_WORKSPACE_FILES),
        .with_sensitive = options_choice(values, MCP_OPTION_SENSITIVE) == PERMISSION_ALLOW,
    };
    size_t left_out = 0;
    int r = 0;

    if (folder.given != NULL)
        r = session_state_absolute_path(folder.given, path, err);
    if (r == 0 && folder.given != NULL)
        r = firstfiles_read(program->session->state.authority, &folder, out, &left_out, err);
    if (left_out > 0)
        log_write(&program->log, LOG_WARN, "files that may hold secrets stay out of the workspace",
                  LOG_INT("count", (int64_t)left_out));
    return r;
}

/* Also in the starter. */
static int start_workspaces(void *data, enum workspace_provider provider,
                            struct workspace_client **out_client, struct err *err)
{
    (void)provider; /* there is one */
    return workspace_client_start(data, out_client, err);
}

static int open_workspace(struct program *program, const struct option_values *values,
                          struct err *err)
{
    cleanup_buf struct buf files = BUF_INIT(WORKSPACE_WIRE_BYTES);
    const char *setup = options_text(values, MCP_OPTION_WORKSPACE_SETUP);
    struct workspace_client_config config = {
        .libexec = GATEHOUSE_LIBEXECDIR,
        .state_dir = program->session->state.state_path,
        .error_fd = STDERR_FILENO,
        .settings = &program->workspace,
        .setup = setup != NULL ? str_from(setup) : STR_EMPTY,
        .adopted = program->adopted,
    };
    int r;

    if (!program->workspace.is_enabled)
        return 0;
    r = read_first_files(program, values, &files, err);
    config.files = buf_view(&files);
    if (r == 0)
        r = start_workspaces(&config, program->workspace.provider, &program->workspaces, err);
    return r == 0 ? workspace_revival_fork(start_workspaces, &config, &program->starter_fd, err)
                  : r;
}

/* ---- walls, then input ---- */

static int confine(struct program *program, struct err *err)
{
    const struct session_walls walls = {
        .answers_connections = program->listen_fd >= 0 || program->consent.socket.listen_fd >= 0,
        .passes_messages =
            program->commands != NULL || program->workspaces != NULL || program->browser != NULL};
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
        .client_roots = program->session->client_roots,
        .shell = commands_shell(program->commands),
        .variables = options_list(values, MCP_OPTION_SHELL_ENV).items,
        .screen = program->screen,
        .browser = program->browser,
        .default_browser = options_text(values, MCP_OPTION_BROWSER_DEFAULT),
        .first_dir = program->workspace.is_enabled ? NULL : program->session->folders[0].root_path,
        .staging_dir = program->session->staging.path,
        .workspace = program->workspaces,
        .workspace_provider = program->workspace.provider,
        .workspace_starter = program->starter_fd,
        .workspace_outlives = program->adopted[0] != '\0',
        .own_port = program->listen_fd >= 0 ? program->address.port : 0,
        .result_form = program->session->result_form,
        .keeper = program->session->keeper,
        .queue = program->consent.queue,
        .board = &program->consent.board,
        .allows_remote_always = program->consent.allows_remote_always,
        .modes = &program->consent.session.modes,
        .names = program->session->folders[0].names,
        .files = program->session->folders[0].files,
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
        if (isatty(STDIN_FILENO))
            fprintf(
                stderr,
                "This serves %s\nto an MCP client, which would be where you type now.\n"
                "Clients start it themselves: 'gatehouse mcp --install CLIENT DIR' tells yours\n"
                "how, and 'gatehouse help mcp' lists them. Ctrl-D ends it.\n",
                program->workspaces != NULL ? "a workspace"
                                            : program->session->folders[0].given_path);
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
    screen_client_free(program->screen);
    browser_client_free(program->browser);
    if (program->starter_fd >= 0)
        close(program->starter_fd);
    workspace_client_free(program->workspaces);
    workspace_settings_done(&program->workspace);
    if (program->session != NULL)
        write_record(program);
    session_close(program->session);
    media_client_free(program->media);
}

/* ---- for clients that will start us ---- */

static bool is_for_client(const struct option_values *values)
{
    return options_source(values, MCP_OPTION_PRINT_CONFIG) != OPTION_UNSET ||
           options_source(values, MCP_OPTION_INSTALL) != OPTION_UNSET;
}

static int print_entry(const struct client_entry *entry, struct err *err)
{
    cleanup_output struct output output = OUTPUT_INIT(STDOUT_FILENO, &stop_signal);
    cleanup_buf struct buf snippet = BUF_INIT(CLIENTS_TEXT_BYTES);
    cleanup_buf struct buf advice = BUF_INIT(CLIENTS_TEXT_BYTES);
    int r = clients_write_snippet(entry, &snippet, err);

    if (r == 0)
        r = clients_write_advice(entry, &advice, err);
    if (r < 0)
        return r;
    output_str(&output, buf_view(&snippet));
    r = output_finish(&output, err);
    fprintf(stderr, "%.*s", STR_ARG(buf_view(&advice)));
    return r;
}

/* After everything that a start does, so that what is printed can start. */
static int tell_client(const struct program *program, const struct option_values *values,
                       struct arena *arena, struct err *err)
{
    bool is_installed = options_source(values, MCP_OPTION_INSTALL) != OPTION_UNSET;
    size_t option = is_installed ? MCP_OPTION_INSTALL : MCP_OPTION_PRINT_CONFIG;
    struct client_entry entry;
    int r = clients_make(arena, values, (enum mcp_client)options_choice(values, option),
                         program->session->folders[0].root_path, &entry, err);

    if (r < 0)
        return r;
    return is_installed
               ? install_run(program->session, &entry, options_is_on(values, MCP_OPTION_YES), err)
               : print_entry(&entry, err);
}

static int check(const struct option_values *values, struct err *err)
{
    bool is_installed = options_source(values, MCP_OPTION_INSTALL) != OPTION_UNSET;

    bool is_undone = options_source(values, MCP_OPTION_UNINSTALL) != OPTION_UNSET;
    bool is_printed = options_source(values, MCP_OPTION_PRINT_CONFIG) != OPTION_UNSET;

    if (is_installed + is_undone + is_printed > 1)
        return err_set(err, ERR_INVALID_OPTION,
                       "use one of --print-config, --install and --uninstall");
    if (!is_installed && !is_undone && !is_printed &&
        options_source(values, MCP_OPTION_NAME) != OPTION_UNSET)
        return err_set(err, ERR_INVALID_OPTION,
                       "--name is for --print-config, --install and --uninstall");
    if (!is_installed && !is_undone && options_is_on(values, MCP_OPTION_YES))
        return err_set(err, ERR_INVALID_OPTION, "--yes is for --install and --uninstall");
    return 0;
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    struct program program = {.listen_fd = -1,
                              .starter_fd = -1,
                              .consent = {.board = NOTICEBOARD_INIT, .socket = ASKING_SOCKET_INIT}};
    bool is_tried = is_for_client(values);
    int r;

    forget_variables(values);
    if (options_source(values, MCP_OPTION_UNINSTALL) != OPTION_UNSET)
        return install_undo(arena, values, err);
    /* A few threads that seldom allocate: one heap for all is smaller. */
    mallopt(M_ARENA_MAX, 1);
    log_init(&program.log, STDERR_FILENO, shared_log_level(values, MCP_OPTION_LOG_LEVEL),
             &clock_system);
    r = read_workspace(&program, values, err);
    if (r == 0)
        r = consent_init(&program.consent, values, is_apart(&program.workspace), err);
    if (r == 0 && !is_tried)
        open_media(&program);
    if (r == 0)
        r = open_session(&program, values, err);
    for (size_t i = 0; r == 0 && !program.workspace.is_enabled && i < program.session->folder_count;
         i++)
        warn_of_folder(&program, &program.session->folders[i]);
    if (r == 0)
        r = open_door(&program, values, is_tried, err);
    if (r == 0 && !program.workspace.is_enabled)
        r = open_commands(&program, values, err);
    if (r == 0 && !is_tried)
        r = open_workspace(&program, values, err);
    if (r == 0 && !is_tried)
        open_screen(&program);
    if (r == 0 && !is_tried)
        open_browser(&program, options_is_on(values, MCP_OPTION_BROWSER_HEADLESS));
    if (r == 0 && !is_tried)
        consent_listen(&program.consent, &program.log);
    if (r == 0 && is_tried)
        r = tell_client(&program, values, arena, err);
    if (r == 0 && !is_tried)
        r = confine(&program, err);
    if (r == 0 && !is_tried)
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
    .check = check,
    .run = run,
};

int main(int argc, char **argv)
{
    return runner_main(&runner, argc, argv);
}
