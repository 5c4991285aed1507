/* SPDX-License-Identifier: Apache-2.0 */
/* gatehouse-sandboxd: reads the command line, starts the keeper of the sandboxes, confines itself,
 * serves. */
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options/options.h"
#include "base/secret.h"
#include "cli/certificate.h"
#include "cli/runner.h"
#include "cli/sandboxd.h"
#include "cli/servicefile.h"
#include "cli/shared.h"
#include "gatehouse/audit.h"
#include "isolate/confine.h"
#include "loop/signal.h"
#include "loop/timer.h"
#include "net/http/server.h"
#include "net/http/url.h"
#include "programs/sandboxd/api.h"
#include "programs/sandboxd/call.h"
#include "programs/sandboxd/previews.h"
#include "session/state.h"

enum {
    PRIVATE_UMASK = 077,
    KEY_MIN = 16,
    KEY_CHARS = 32,
    MAX_CONNECTIONS = 4096,
    MAX_UNMARKED = 512, /* that have shown no key */
    SHUTDOWN_MS = 2000,
    URL_BYTES = 512,
    KEEPER_TRIES = 200,
    KEEPER_WAIT_MS = 50,
    LOCK_TRIES = 10,
    LOCK_WAIT_MS = 10,
};

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

struct program {
    struct log log;
    struct loop *loop;
    struct sandboxstore *store;
    struct webaccess *web;
    struct room_keeper *keeper;
    struct service service;
    bool has_service;
    struct api api;
    struct httpserver *server;
    struct secret admin_key;
    bool is_key_given;
    bool is_key_new;
    bool has_failed; /* the keeper died */
    int listen_fd;
    int state_fd; /* the directory, private to us, locked */
    int web_fd;   /* what starts the web proxy; see webaccess.h */
    int file_fd;  /* the file with our address, locked: so others know that it is ours */
    char state_path[PATH_MAX];
    char url[URL_BYTES];        /* the address that it listens on */
    char public_url[URL_BYTES]; /* how others reach it; may be empty */
    struct str hosts[2];
    struct certificate certificate;
    struct str preview_url;
    struct signal_watch *watches[array_size(signals)];
    struct timer deadline; /* of the end */
};

/* ---- the end ---- */

static void on_shutdown(void *data)
{
    loop_stop(((struct program *)data)->loop);
}

static void stop(struct program *program)
{
    if (program->service.is_stopping) { /* the second time does not wait */
        loop_stop(program->loop);
        return;
    }
    service_close(&program->service);
    httpserver_shutdown(program->server, SHUTDOWN_MS, on_shutdown, program);
    /* The server waits for answers that a sandbox owes, such as that of a build. */
    timer_start(&program->deadline, SHUTDOWN_MS);
}

static void on_signal(void *data, int signum)
{
    struct program *program = data;

    log_write(&program->log, LOG_INFO, "stopping", LOG_TEXT("signal", strsignal(signum)));
    stop(program);
}

static void on_idle(void *data)
{
    struct program *program = data;

    log_write(&program->log, LOG_INFO, "stopping: nobody needs me");
    stop(program);
}

/* A confined process cannot start another keeper; whoever started us can start us again. */
static void on_keeper_end(void *data)
{
    struct program *program = data;

    log_write(&program->log, LOG_ERROR, "the keeper of the sandboxes has ended; start me again");
    program->has_failed = true;
    if (program->has_service) {
        service_lost_keeper(&program->service);
        stop(program);
    }
}

/* ---- what is opened before the walls are up ---- */

/* A command that looks whether a service runs holds the lock for a moment. */
static bool lock_state(const struct program *program)
{
    for (unsigned i = 0; i < LOCK_TRIES; i++) {
        if (flock(program->state_fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        (void)poll(NULL, 0, LOCK_WAIT_MS);
    }
    return false;
}

static int open_state(struct program *program, const struct option_values *values, struct err *err)
{
    const char *given = options_text(values, SANDBOXD_OPTION_STATE_DIR);
    char parent[PATH_MAX];
    int fd;
    int r = given != NULL ? session_state_absolute_path(given, parent, err)
                          : session_state_default_dir(parent, err);

    if (r < 0)
        return r;
    if (snprintf(program->state_path, sizeof(program->state_path), "%s/sandboxes", parent) >=
        (int)sizeof(program->state_path) - 16)
        return err_set(err, ERR_INVALID_PATH, "the state directory's path is too long");
    r = audit_dir_open(parent, &fd, err);
    if (r == 0) {
        close(fd);
        r = audit_dir_open(program->state_path, &program->state_fd, err);
    }
    if (r == 0 && !lock_state(program))
        r = err_set(err, ERR_BUSY, "another sandbox service uses '%s': stop it, or use --state-dir",
                    parent);
    return r == 0 ? sandboxstore_open(program->state_path, &program->store, err) : r;
}

static void raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* the present limit will do */
}

static struct str host_of(const char *url)
{
    const size_t scheme = str_find(str_from(url), STR("://"));

    return scheme != SIZE_MAX ? str_slice(str_from(url), scheme + 3, URL_BYTES) : STR_EMPTY;
}

static int read_public_url(struct program *program, const struct option_values *values,
                           struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(URL_BYTES - 1);
    const char *given = options_text(values, SANDBOXD_OPTION_PUBLIC_URL);
    struct err why = ERR_INIT;
    struct httpurl url;

    if (given == NULL)
        return 0;
    if (httpurl_parse(str_from(given), &url, &why) < 0)
        return err_set(err, ERR_INVALID_OPTION, "--public-url: %s", why.message);
    if (url.path[0] != '\0' || httpurl_append_origin(&url, &text) < 0)
        return err_set(err, ERR_INVALID_OPTION,
                       "--public-url is a scheme and a host, like https://sandboxes.example");
    snprintf(program->public_url, sizeof(program->public_url), "%.*s", STR_ARG(buf_view(&text)));
    return 0;
}

static int open_port(struct program *program, const struct option_values *values, struct err *err)
{
    const bool has_tls = program->certificate.context != NULL;
    struct address address;
    char text[ADDRESS_TEXT_BYTES];
    int r;

    if (address_parse(str_from(options_text(values, SANDBOXD_OPTION_LISTEN)), &address) < 0)
        return err_set(err, ERR_INVALID_OPTION,
                       "--listen needs an address and a port, like 127.0.0.1:7656 or [::1]:0");
    raise_descriptors();
    r = certificate_check_address(&program->certificate, &address,
                                  options_is_on(values, SANDBOXD_OPTION_BEHIND_PROXY), err);
    if (r == 0)
        r = address_listen(&address, err, &program->listen_fd);
    if (r == 0)
        r = address_of(program->listen_fd, &address);
    if (r < 0)
        return r;
    address_format(&address, text);
    snprintf(program->url, sizeof(program->url), "http%s://%s", has_tls ? "s" : "", text);
    program->hosts[0] = host_of(program->url);
    program->hosts[1] = host_of(program->public_url);
    program->api.has_policy = address_is_loopback(&address) || program->hosts[1].len > 0;
    program->api.policy = (struct origin_policy){.is_loopback = address_is_loopback(&address),
                                                 .port = address.port,
                                                 .hosts = program->hosts,
                                                 .host_count = program->hosts[1].len > 0 ? 2 : 1};
    return 0;
}

/* Where the user's own commands find it: the certificate is for the name that others use. */
static const char *url_for_user(const struct program *program)
{
    return program->certificate.context != NULL && program->public_url[0] != '\0'
               ? program->public_url
               : program->url;
}

static int read_preview_url(struct program *program, const struct option_values *values,
                            struct err *err)
{
    const char *url = options_text(values, SANDBOXD_OPTION_PREVIEW_URL);

    program->preview_url = url != NULL ? str_from(url) : STR_EMPTY;
    return url == NULL || previews_is_url(program->preview_url)
               ? 0
               : err_set(err, ERR_INVALID_OPTION,
                         "--preview-url needs a scheme and a name, like https://preview.example or "
                         "http://localhost:7656");
}

/* By the environment, by an earlier run, or a new one. */
static int open_key(struct program *program, struct err *err)
{
    const char *given = getenv(SANDBOXD_KEY_ENV);
    int r;

    if (given != NULL && given[0] != '\0') {
        program->is_key_given = true;
        if (strlen(given) < KEY_MIN || secret_set(&program->admin_key, str_from(given)) < 0)
            return err_set(err, ERR_INVALID_OPTION, SANDBOXD_KEY_ENV " needs %d to %d characters",
                           KEY_MIN, SECRET_MAX_BYTES);
        return 0;
    }
    r = servicefile_read_key(program->state_fd, &program->admin_key, err);
    if (r != ERR_NOT_FOUND)
        return r;
    program->is_key_new = true;
    r = secret_generate(&program->admin_key, STR("sba_"), KEY_CHARS);
    return r < 0 ? err_set_plain(err, r) : 0;
}

/* 0 is the default for the keeper, and none at all for the operator. */
static uint64_t bytes_to_keep_free(const struct option_values *values)
{
    const int64_t given = options_int(values, SANDBOXD_OPTION_KEEP_FREE);

    if (options_source(values, SANDBOXD_OPTION_KEEP_FREE) == OPTION_UNSET)
        return 0;
    return given > 0 ? (uint64_t)given : ROOM_FILL_DISK;
}

static int start_keeper(struct program *program, const struct option_values *values,
                        struct err *err)
{
    char directory[PATH_MAX];
    const struct room_keeper_config config = {
        .directory = directory,
        .libexec = GATEHOUSE_LIBEXECDIR,
        .error_fd = STDERR_FILENO,
        .is_degraded = options_is_on(values, SANDBOXD_OPTION_ALLOW_WEAKER),
        .memory_bytes = (uint64_t)options_int(values, SANDBOXD_OPTION_TOTAL_MEMORY),
        .processes = (unsigned)options_int(values, SANDBOXD_OPTION_TOTAL_PIDS),
        .free_bytes = bytes_to_keep_free(values),
        .on_end = on_keeper_end,
        .data = program,
    };
    int r;

    if (snprintf(directory, sizeof(directory), "%s/files", program->state_path) >=
        (int)sizeof(directory))
        return err_set(err, ERR_INVALID_PATH, "the state directory's path is too long");
    r = room_keeper_new(&config, &program->keeper, err);
    /* The keeper of a service that was killed ends, but not at once. */
    for (unsigned i = 0; r == ERR_BUSY && i < KEEPER_TRIES; i++) {
        (void)poll(NULL, 0, KEEPER_WAIT_MS);
        r = room_keeper_new(&config, &program->keeper, err);
    }
    if (r == 0 && !config.is_degraded && options_int(values, SANDBOXD_OPTION_DISK_SIZE) > 0 &&
        !options_is_on(values, SANDBOXD_OPTION_DISK_IN_MEMORY) &&
        !room_keeper_abilities(program->keeper)->has_disk_images)
        return err_set(
            err, ERR_UNSUPPORTED,
            "--disk-size needs root, loop devices and mke2fs, or --disk-in-memory; leave "
            "it away, or say --allow-weaker to serve without the limit");
    return r;
}

static int confine(struct program *program, struct err *err)
{
    struct landlock_place places[1 + CERTIFICATE_PLACES] = {
        {.path = program->state_path, .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE},
    };
    const size_t count = certificate_places(&program->certificate, places + 1);
    const struct confine_plan plan = {
        .places = places,
        .place_count = 1 + count,
        .changes_files = true,
        .passes_messages = true,
        .answers_connections = true,
        .keeps_rooms = true,
        .has_closed_fds = true,
    };
    struct confine_report report;
    int r = confine_process(&plan, &report, err);

    if (r == 0)
        confine_log(&report, &program->log);
    return r;
}

/* ---- serving ---- */

static int make_filter(void *data, struct filter **out_filter)
{
    return certificate_make_filter(((struct api *)data)->certificate, out_filter);
}

static void on_access(void *data, const struct http_access *access)
{
    const struct api *api = data;
    struct http_access shown = *access;

    shown.target = previews_shown(access->target);
    http_access_log(&shown, api->service->config.log);
}

/* The only place that shows the key: to the user who started us, when it is new. */
static int tell(struct program *program, struct err *err)
{
    const struct room_abilities *has = room_keeper_abilities(program->keeper);
    struct str key = secret_reveal(&program->admin_key); /* to print it once, and to keep it */
    int r = servicefile_write(program->state_fd, url_for_user(program),
                              program->is_key_given ? STR_EMPTY : key, &program->file_fd, err);

    if (r < 0)
        return r;
    printf("The sandbox service is running at %s\n", program->url);
    if (program->public_url[0] != '\0')
        printf("Others reach it at %s\n", program->public_url);
    if (program->is_key_new)
        printf("The administrator's key, for the header X-Api-Key (shown only now): %.*s\n",
               STR_ARG(key));
    if (has->is_degraded)
        printf("Sandboxes are isolated less well than usual: %s\n", has->words);
    return fflush(stdout) != 0 ? err_set(err, ERR_IO, "cannot print the address") : 0;
}

static int serve(struct program *program, const struct option_values *values, struct err *err)
{
    const struct service_config config = {
        .loop = program->loop,
        .log = &program->log,
        .store = program->store,
        .keeper = program->keeper,
        .web = program->web,
        .idle_stop_ms = options_int(values, SANDBOXD_OPTION_IDLE_STOP),
        .idle_delete_ms = options_int(values, SANDBOXD_OPTION_IDLE_DELETE),
        .disk_bytes = (uint64_t)options_int(values, SANDBOXD_OPTION_DISK_SIZE),
        .is_in_memory = options_is_on(values, SANDBOXD_OPTION_DISK_IN_MEMORY),
        .exit_idle_ms = options_int(values, SANDBOXD_OPTION_EXIT_IDLE),
        .on_idle = on_idle,
        .data = program,
        .max_sandboxes = (unsigned)options_int(values, SANDBOXD_OPTION_MAX_SANDBOXES),
        .build_network = options_choice(values, SANDBOXD_OPTION_BUILD_NET) == SANDBOXD_NET_HOST
                             ? ROOM_NETWORK_HOST
                             : ROOM_NETWORK_NONE,
        .has_tls = program->certificate.context != NULL,
    };
    const struct previews_config previews = {
        .service = &program->service,
        .admin_key = secret_reveal(&program->admin_key), /* to derive another from it */
        .url = program->preview_url,
        .policy = program->api.has_policy ? &program->api.policy : NULL,
        .is_key = api_is_key,
        .data = &program->api,
    };
    const struct httpserver_config server = {
        .on_request = api_handle,
        .data = &program->api,
        .on_access = on_access,
        .write_error = call_write_error,
        .make_filter = config.has_tls ? make_filter : NULL,
        .max_connections = MAX_CONNECTIONS,
        .max_per_address = MAX_CONNECTIONS,
        .max_unmarked = MAX_UNMARKED,
    };
    int fd = program->listen_fd;
    int r = service_init(&program->service, &config, err);

    program->has_service = true;
    if (r < 0)
        return r;
    program->api.service = &program->service;
    program->api.certificate = &program->certificate;
    program->api.admin_key = &program->admin_key;
    r = previews_new(&previews, &program->service.previews);
    if (r < 0)
        return err_set_plain(err, r);
    program->listen_fd = -1;
    r = httpserver_new(program->loop, fd, &server, &program->server);
    if (r < 0)
        return err_set(err, r, "cannot serve HTTP: %s", err_text(r));
    r = tell(program, err);
    for (size_t i = 0; r == 0 && i < array_size(signals); i++) {
        r = signal_watch_new(program->loop, signals[i], on_signal, program, &program->watches[i]);
        if (r < 0)
            err_set_plain(err, r);
    }
    if (r == 0)
        loop_run(program->loop);
    if (r == 0 && program->has_failed)
        r = err_set(err, ERR_INTERNAL, "the keeper of the sandboxes has ended");
    return r;
}

static int work(struct program *program, const struct option_values *values, struct err *err)
{
    int r;

    umask(PRIVATE_UMASK);
    r = webaccess_fork(GATEHOUSE_LIBEXECDIR, &program->web_fd, err); /* before there are secrets */
    if (r == 0)
        r = read_preview_url(program, values, err);
    if (r == 0)
        r = read_public_url(program, values, err);
    if (r == 0)
        r = certificate_open(&program->certificate, options_text(values, SANDBOXD_OPTION_TLS_CERT),
                             options_text(values, SANDBOXD_OPTION_TLS_KEY), &program->log, err);
    if (r == 0)
        r = open_port(program, values, err);
    if (r == 0)
        r = open_state(program, values, err);
    if (r == 0)
        r = open_key(program, err);
    if (r < 0)
        return r;
    r = start_keeper(program, values, err);
    if (r == 0)
        r = confine(program, err);
    if (r < 0)
        return r;
    r = loop_new(&clock_system, &program->loop);
    if (r < 0)
        return err_set_plain(err, r);
    timer_init(&program->deadline, program->loop, on_shutdown, program);
    certificate_watch(&program->certificate, program->loop);
    r = webaccess_new(program->loop, program->web_fd, &program->web);
    if (r == 0)
        r = room_keeper_watch(program->keeper, program->loop);
    return r == 0 ? serve(program, values, err) : err_set_plain(err, r);
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    struct program program = {.listen_fd = -1, .state_fd = -1, .file_fd = -1, .web_fd = -1};
    int r;

    (void)arena;
    mallopt(M_ARENA_MAX, 1);
    log_init(&program.log, STDERR_FILENO, shared_log_level(values, SANDBOXD_OPTION_LOG_LEVEL),
             &clock_system);
    r = work(&program, values, err);
    for (size_t i = 0; i < array_size(signals); i++)
        signal_watch_free(program.watches[i]);
    if (program.loop != NULL)
        timer_stop(&program.deadline);
    if (program.keeper != NULL)
        room_keeper_free(program.keeper);
    if (program.has_service)
        service_done(&program.service);
    if (program.web != NULL)
        webaccess_free(program.web);
    else if (program.web_fd >= 0)
        close(program.web_fd);
    if (program.server != NULL)
        httpserver_free(program.server);
    certificate_close(&program.certificate);
    sandboxstore_close(program.store);
    secret_done(&program.admin_key);
    if (program.loop != NULL)
        loop_free(program.loop);
    previews_free(program.service.previews); /* its connections close on the loop */
    if (program.listen_fd >= 0)
        close(program.listen_fd);
    if (program.file_fd >= 0)
        close(program.file_fd);
    if (program.state_fd >= 0)
        close(program.state_fd);
    return r;
}

static const struct runner runner = {
    .program = SANDBOXD_PROGRAM,
    .title = "gatehouse sandbox serve",
    .see = "'gatehouse sandbox serve --help'",
    .command = SANDBOXD_COMMAND,
    .checks_options_late = true,
    .run = run,
};

int main(int argc, char **argv)
{
    return runner_main(&runner, argc, argv);
}
