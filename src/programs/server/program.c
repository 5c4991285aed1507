/* SPDX-License-Identifier: Apache-2.0 */
/* gatehouse-server: reads the command line, opens its state and its port, confines itself, serves.
 */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options/options.h"
#include "base/printable.h"
#include "base/secret.h"
#include "cli/certificate.h"
#include "cli/runner.h"
#include "cli/serve.h"
#include "cli/servicefile.h"
#include "cli/shared.h"
#include "cli/status.h"
#include "gatehouse/audit.h"
#include "isolate/confine.h"
#include "loop/signal.h"
#include "programs/server/front.h"
#include "programs/server/hostfsstart.h"
#include "programs/server/workspacestart.h"
#include "session/state.h"

enum {
    PRIVATE_UMASK = 077,
    STATIC_KEY_MIN = 16,
};

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

struct program {
    struct log log;
    struct loop *loop;
    struct store *store;
    struct front *front;
    int listen_fd;
    bool is_for_all; /* listens for other machines, too */
    int state_fd;    /* the directory, private to us, locked */
    int file_fd;     /* the file with our address, locked: so others know that it is ours */
    char state_path[PATH_MAX];
    struct secret metrics_token;
    int64_t key_user; /* whose machine connects with the key of the environment */
    struct serveraudit audit;
    struct trusted_proxies proxies;
    struct certificate certificate;
    struct hostfs_tenants tenants;
    struct workspace_offer workspaces;
    struct errand *copies; /* or NULL */
    struct signal_watch *watches[array_size(signals)];
};

static void on_signal(void *data, int signum)
{
    struct program *program = data;

    log_write(&program->log, LOG_INFO, "stopping", LOG_TEXT("signal", strsignal(signum)));
    front_stop(program->front);
}

static void on_end(void *data)
{
    loop_stop(((struct program *)data)->loop);
}

/* ---- what is opened before the walls are up ---- */

static int open_state(struct program *program, const struct option_values *values, struct err *err)
{
    int r = session_state_server_dir(options_text(values, SERVE_OPTION_STATE_DIR),
                                     program->state_path, err);

    if (r == 0)
        r = audit_dir_open(program->state_path, &program->state_fd, err);
    /* Two servers would each believe that they alone know who is connected. */
    if (r == 0 && flock(program->state_fd, LOCK_EX | LOCK_NB) < 0)
        r = err_set(err, ERR_BUSY, "another server uses '%s': stop it, or use --state-dir",
                    program->state_path);
    if (r == 0)
        r = serveraudit_open(&program->audit, program->state_path,
                             (enum audit_sync)options_choice(values, SERVE_OPTION_AUDIT_SYNC), err);
    return r == 0 ? store_open(program->state_path, &program->store, err) : r;
}

static int read_proxies(struct program *program, const struct option_values *values,
                        struct err *err)
{
    const struct option_list list = options_list(values, SERVE_OPTION_TRUSTED_PROXY);
    const char *header = options_text(values, SERVE_OPTION_TRUSTED_HEADER);
    int r = 0;

    for (size_t i = 0; i < list.count && r == 0; i++)
        r = proxies_add(&program->proxies, list.items[i], err);
    if (r < 0)
        return r;
    if (header != NULL)
        program->proxies.header = str_from(header);
    program->proxies.creates_users = options_is_on(values, SERVE_OPTION_CREATE_USERS);
    if (header != NULL && !http_is_token(program->proxies.header))
        return err_set(err, ERR_INVALID_OPTION,
                       "--trusted-header is the name of a header, like X-Forwarded-User");
    if (header != NULL && program->proxies.count == 0)
        return err_set(err, ERR_INVALID_OPTION,
                       "--trusted-header needs --trusted-proxy: everybody could write that header");
    if (program->proxies.creates_users && header == NULL)
        return err_set(err, ERR_INVALID_OPTION, "--create-users needs --trusted-header");
    return 0;
}

static void raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* the present limit will do */
}

static int open_port(struct program *program, const struct option_values *values, struct err *err)
{
    struct address address;
    int r;

    if (address_parse(str_from(options_text(values, SERVE_OPTION_LISTEN)), &address) < 0)
        return err_set(err, ERR_INVALID_OPTION,
                       "--listen needs an address and a port, like 127.0.0.1:7654 or [::1]:0");
    program->is_for_all = !address_is_loopback(&address);
    r = certificate_check_address(&program->certificate, &address,
                                  options_is_on(values, SERVE_OPTION_BEHIND_PROXY), err);
    if (r < 0)
        return r;
    /* It is also the host that requests must name, which stops DNS rebinding. */
    if (program->is_for_all && options_text(values, SERVE_OPTION_PUBLIC_URL) == NULL)
        return err_set(err, ERR_INVALID_OPTION,
                       "--listen: to serve other machines, say how they reach this one with "
                       "--public-url, like https://gate.example");
    raise_descriptors();
    return address_listen(&address, err, &program->listen_fd);
}

static int confine(struct program *program, struct err *err)
{
    struct landlock_place places[1 + CERTIFICATE_PLACES] = {
        {.path = program->state_path, .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE},
    };
    size_t count = certificate_places(&program->certificate, places + 1);
    const struct confine_plan plan = {
        .places = places,
        .place_count = 1 + count,
        .changes_files = true,
        .answers_connections = true,
        /* the keepers' sockets */
        .passes_messages =
            program->tenants.count > 0 || workspacestart_has_any(&program->workspaces),
        .has_closed_fds = true,
    };
    struct confine_report report;
    int r = confine_process(&plan, &report, err);

    if (r == 0)
        confine_log(&report, &program->log);
    return r;
}

/* ---- serving ---- */

/* One owner, who uses this machine; otherwise there are accounts. */
static int tell_owner(struct program *program, struct err *err)
{
    cleanup_secret struct secret login = SECRET_INIT;
    const char *url = front_url(program->front);
    struct hub_link link;
    int r = front_login_link(program->front, &login);

    if (r < 0)
        return err_set(err, r, "cannot save a login link: %s", err_text(r));
    printf("Open its page (this link works once, within 15 minutes):\n    %s/login?token=%.*s\n",
           url, STR_ARG(secret_reveal(&login))); /* to the user who started us */
    /* A machine with the key of the environment needs no token. */
    if (!front_has_machine(program->front) &&
        (getenv(SERVE_STATIC_KEY_ENV) == NULL || program->key_user != STORE_OWNER)) {
        r = front_link(program->front, &link, err);
        if (r == 0)
            printf("Connect a folder (within 5 minutes):\n    gatehouse connect %s %s DIR\n", url,
                   link.token);
        secret_wipe(&link, sizeof(link));
    }
    return r;
}

/* The command that finds this server's keys. */
static void tell_keys(const struct option_values *values)
{
    const char *state = options_text(values, SERVE_OPTION_STATE_DIR);
    char shown[PATH_MAX + PRINTABLE_CUT_BYTES];

    if (state == NULL || options_source(values, SERVE_OPTION_STATE_DIR) != OPTION_FLAG) {
        printf("Each agent needs a key, from the page or from 'gatehouse agent add NAME'.\n");
        return;
    }
    printable_cut(str_from(state), PRINTABLE_LINE, shown, PATH_MAX);
    printf("Each agent needs a key, from the page or from\n"
           "    gatehouse agent --state-dir \"%s\" add NAME\n",
           shown);
}

static int tell(struct program *program, const struct option_values *values, struct err *err)
{
    const char *url = front_url(program->front);
    bool has_header = program->proxies.header.len > 0;
    int r = 0;

    printf("Gatehouse is running at %s (listening on %s)\n", url, front_address(program->front));
    if (store_has_passwords(program->store) || has_header)
        printf("Sign in at %s\n", url);
    else if (program->is_for_all)
        printf("Nobody can sign in yet. Add an account: gatehouse user add NAME\n");
    else
        r = tell_owner(program, err);
    tell_keys(values);
    printf("Agents use %s/mcp\n", url);
    return r == 0 && fflush(stdout) != 0 ? err_set(err, ERR_IO, "cannot print the address") : r;
}

/* That of 'gatehouse up' is found by its daemon. */
static void tell_status(struct program *program)
{
    struct err err = ERR_INIT;

    if (strcmp(program_invocation_name, STATUS_NAME_OF_UP) != 0 &&
        servicefile_write(program->state_fd, front_url(program->front), STR_EMPTY,
                          &program->file_fd, &err) < 0)
        log_error(&program->log, "'gatehouse status' will not show this server", &err);
}

static int serve(struct program *program, const struct option_values *values, struct err *err)
{
    const char *key = getenv(SERVE_STATIC_KEY_ENV);
    const struct server_front_config config = {
        .loop = program->loop,
        .clock = &clock_system,
        .log = &program->log,
        .store = program->store,
        .audit = &program->audit,
        .proxies = &program->proxies,
        .certificate = program->certificate.context != NULL ? &program->certificate : NULL,
        .tenants = &program->tenants,
        .workspaces = &program->workspaces,
        .copies = program->copies,
        .public_url = options_text(values, SERVE_OPTION_PUBLIC_URL),
        .static_key = key != NULL ? str_from(key) : STR_EMPTY,
        .static_user = program->key_user,
        .metrics_token = program->metrics_token.len > 0 ? &program->metrics_token : NULL,
        .timeout_ms = options_source(values, SERVE_OPTION_TIMEOUT) != OPTION_UNSET
                          ? options_int(values, SERVE_OPTION_TIMEOUT)
                          : 0,
        .on_end = on_end,
        .data = program,
    };
    int fd = program->listen_fd;
    int r;

    program->listen_fd = -1;
    r = front_new(&config, fd, &program->front, err);
    if (r == 0)
        tell_status(program);
    if (r == 0)
        r = tell(program, values, err);
    for (size_t i = 0; r == 0 && i < array_size(signals); i++) {
        r = signal_watch_new(program->loop, signals[i], on_signal, program, &program->watches[i]);
        if (r < 0)
            err_set_plain(err, r);
    }
    if (r == 0)
        loop_run(program->loop);
    return r;
}

static int read_metrics_token(struct program *program, struct err *err)
{
    const char *token = getenv(SERVE_METRICS_TOKEN_ENV);

    if (token == NULL || token[0] == '\0')
        return 0;
    if (strlen(token) < STATIC_KEY_MIN || strlen(token) > SECRET_MAX_BYTES)
        return err_set(err, ERR_INVALID_OPTION,
                       SERVE_METRICS_TOKEN_ENV " needs %d to %d characters", STATIC_KEY_MIN,
                       SECRET_MAX_BYTES);
    return secret_set(&program->metrics_token, str_from(token));
}

/* Whose machine connects with the key of the environment. */
static int find_key_user(struct program *program, const struct option_values *values,
                         struct err *err)
{
    const char *name = options_text(values, SERVE_OPTION_GATEWAY_KEY_USER);
    const char *key = getenv(SERVE_STATIC_KEY_ENV);
    struct store_user user = {.id = STORE_OWNER};
    int r = 0;

    if (name != NULL && (key == NULL || key[0] == '\0'))
        return err_set(err, ERR_INVALID_OPTION,
                       "--gateway-key-user is for a key in " SERVE_STATIC_KEY_ENV);
    if (name != NULL)
        r = store_find_user(program->store, str_from(name), &user);
    if (r == ERR_NOT_FOUND)
        return err_set(err, ERR_INVALID_OPTION,
                       "--gateway-key-user: there is no user of that name; 'gatehouse user add' "
                       "adds one");
    program->key_user = user.id;
    return r < 0 ? err_set_plain(err, r) : 0;
}

static int work(struct program *program, const struct option_values *values, struct err *err)
{
    const char *key = getenv(SERVE_STATIC_KEY_ENV);
    int r;

    if (key != NULL && key[0] != '\0' &&
        (strlen(key) < STATIC_KEY_MIN || strlen(key) > HUB_MAX_KEY_BYTES))
        return err_set(err, ERR_INVALID_OPTION,
                       SERVE_STATIC_KEY_ENV " needs %d to %d characters; unset it to use pairing",
                       STATIC_KEY_MIN, HUB_MAX_KEY_BYTES);
    r = read_metrics_token(program, err);
    if (r < 0)
        return r;
    umask(PRIVATE_UMASK);
    r = read_proxies(program, values, err);
    if (r == 0)
        r = certificate_open(&program->certificate, options_text(values, SERVE_OPTION_TLS_CERT),
                             options_text(values, SERVE_OPTION_TLS_KEY), &program->log, err);
    if (r == 0)
        r = open_port(program, values, err);
    if (r == 0)
        r = open_state(program, values, err);
    if (r == 0)
        r = find_key_user(program, values, err);
    if (r == 0)
        r = hostfsstart_open(values, program->state_path, &program->tenants, err);
    if (r == 0)
        r = workspacestart_open(values, program->state_path, &program->log, &program->workspaces,
                                err);
    if (r == 0)
        r = copiesapi_start(values, program->is_for_all, program->state_path, &program->copies,
                            err);
    if (r == 0)
        r = confine(program, err);
    if (r < 0)
        return r;
    r = loop_new(&clock_system, &program->loop);
    if (r == 0)
        r = store_start(program->store, program->loop);
    if (r == 0)
        certificate_watch(&program->certificate, program->loop);
    return r < 0 ? err_set_plain(err, r) : serve(program, values, err);
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    struct program program = {
        .listen_fd = -1, .state_fd = -1, .file_fd = -1, .audit = SERVERAUDIT_INIT};
    int r;

    (void)arena;
    mallopt(M_ARENA_MAX, 1);
    log_init(&program.log, STDERR_FILENO, shared_log_level(values, SERVE_OPTION_LOG_LEVEL),
             &clock_system);
    program.log.is_json = shared_log_is_json(values, SERVE_OPTION_LOG_FORMAT);
    r = work(&program, values, err);
    for (size_t i = 0; i < array_size(signals); i++)
        signal_watch_free(program.watches[i]);
    front_free(program.front);
    errand_free(program.copies);
    hostfsstart_close(&program.tenants);
    secret_done(&program.metrics_token);
    certificate_close(&program.certificate);
    store_close(program.store);
    serveraudit_close(&program.audit);
    if (program.loop != NULL)
        loop_free(program.loop);
    workspacestart_close(&program.workspaces);
    if (program.listen_fd >= 0)
        close(program.listen_fd);
    if (program.file_fd >= 0)
        close(program.file_fd);
    if (program.state_fd >= 0)
        close(program.state_fd);
    return r;
}

static const struct runner runner = {
    .program = SERVE_PROGRAM,
    .title = "gatehouse serve",
    .see = "'gatehouse serve --help'",
    .command = SERVE_COMMAND,
    .checks_options_late = true,
    .run = run,
};

int main(int argc, char **argv)
{
    return runner_main(&runner, argc, argv);
}
