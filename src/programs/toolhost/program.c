/* SPDX-License-Identifier: Apache-2.0 */
/* gatehouse-toolhost: reads the command line, serves the front end, and cleans up. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options/options.h"
#include "cli/runner.h"
#include "cli/shared.h"
#include "cli/toolhost.h"
#include "isolate/companion.h"
#include "loop/signal.h"
#include "media/client.h"
#include "programs/toolhost/answer.h"
#include "programs/toolhost/host.h"
#include "protocol/toolwire.h"
#include "session/session.h"
#include "session/sweeper.h"

enum {
    READY_BYTES = 64 << 10,
    FIRST_OWN_FD = 3,
};

/* Static, since threads may never return. */
static atomic_uint running;
static atomic_uint changing;

struct program {
    struct log log;
    int socket;
    int socket_again; /* for the other direction */
    struct loop *loop;
    struct media_client *media; /* or NULL */
    struct session *session;
    struct host *host;
    struct sweeper *sweeper;
    struct signal_watch *watch;
    int error; /* with which the front's connection ended */
};

static void on_signal(void *data, int signum)
{
    struct program *program = data;

    (void)signum;
    loop_stop(program->loop);
}

static void on_end(void *data, int error)
{
    struct program *program = data;

    program->error = error;
    loop_stop(program->loop);
}

/* ---- from the command line ---- */

static int check_socket(int fd, struct err *err)
{
    int type = 0;
    int domain = 0;
    socklen_t len = sizeof(int);

    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 || type != SOCK_STREAM ||
        domain != AF_UNIX)
        return err_set(err, ERR_INVALID_OPTION, "descriptor %d is no local stream socket", fd);
    return 0;
}

static int check_options(const struct option_values *values, struct err *err)
{
    if (options_text(values, TOOLHOST_OPTION_STATE_DIR) == NULL)
        return err_set(err, ERR_INVALID_OPTION, "--state-dir is missing");
    if (options_source(values, TOOLHOST_OPTION_MEDIA_FD) != OPTION_UNSET &&
        check_socket((int)options_int(values, TOOLHOST_OPTION_MEDIA_FD), err) < 0)
        return ERR_INVALID_OPTION;
    return check_socket((int)options_int(values, TOOLHOST_OPTION_FD), err);
}

static int open_session(struct program *program, const struct option_values *values,
                        struct err *err)
{
    const char *settings = options_text(values, TOOLHOST_OPTION_SETTINGS_DIR);
    const char *record = options_text(values, TOOLHOST_OPTION_RECORD_DIR);
    const char *const protected_dirs[] = {settings != NULL ? settings : record,
                                          settings != NULL ? record : NULL, NULL};
    struct session_folders folders = {.count = 0};
    struct session_config config = {
        .folders = folders.items,
        .state_dir = options_text(values, TOOLHOST_OPTION_STATE_DIR),
        .session = "toolhost",
        .is_recorded_elsewhere = true, /* by the front */
        .searches_sensitive = options_is_on(values, TOOLHOST_OPTION_SEARCH_SENSITIVE),
        .reads_hardlinks = options_is_on(values, TOOLHOST_OPTION_HARD_LINKS),
        .takes_rules = true,
        .has_staging = options_text(values, TOOLHOST_OPTION_STAGING_DIR) != NULL,
        .staging_dir = options_text(values, TOOLHOST_OPTION_STAGING_DIR),
        .protected_dirs = protected_dirs,
        .denied = options_list(values, TOOLHOST_OPTION_DENY).items,
        .allowed = options_list(values, TOOLHOST_OPTION_ALLOW).items,
        .max_file_bytes = (uint64_t)options_int(values, TOOLHOST_OPTION_MAX_FILE_SIZE),
        .max_lines = (uint64_t)options_int(values, TOOLHOST_OPTION_MAX_LINES),
        .max_matches = (uint64_t)options_int(values, TOOLHOST_OPTION_MAX_MATCHES),
        .media = program->media,
    };
    int r = session_folders_add(&folders, options_argument(values, TOOLHOST_ARGUMENT_DIR),
                                options_is_on(values, TOOLHOST_OPTION_WRITE), err);

    if (r == 0)
        r = session_folders_add_marked(&folders, options_list(values, TOOLHOST_OPTION_RW),
                                       options_list(values, TOOLHOST_OPTION_RO), err);
    config.folder_count = folders.count;
    return r == 0 ? session_open(&config, &program->session, err) : r;
}

/* Keeps only the descriptors that the front end passed on. */
static int take_descriptors(struct program *program, const struct option_values *values,
                            struct err *err)
{
    const bool has_media = options_source(values, TOOLHOST_OPTION_MEDIA_FD) != OPTION_UNSET;
    const int kept[] = {STDERR_FILENO, (int)options_int(values, TOOLHOST_OPTION_FD),
                        has_media ? (int)options_int(values, TOOLHOST_OPTION_MEDIA_FD)
                                  : STDERR_FILENO};
    int r = confine_close_fds(kept, array_size(kept), err);

    if (r < 0)
        return r;
    program->socket = kept[1];
    program->socket_again = fcntl(program->socket, F_DUPFD_CLOEXEC, FIRST_OWN_FD);
    if (program->socket_again < 0)
        return err_set(err, err_from_errno(errno), "the socket: %s", err_errno_text(errno));
    /* Without it, images and documents over the limit are refused. */
    return has_media ? media_client_open(kept[2], &program->media, err) : 0;
}

/* ---- walls, then input ---- */

/*
 * The socket is read with read(), which receives no descriptors: the kernel closes any that are
 * sent along. So the system calls for messages are not needed either.
 */
static int confine(struct program *program, struct confine_report *out_report, struct err *err)
{
    int r = session_confine(program->session, &(struct session_walls){0}, out_report, err);

    if (r == 0)
        confine_log(out_report, &program->log);
    return r;
}

/* A failure does not matter for the session; another one will sweep later. */
static void start_sweeper(struct program *program)
{
    int r =
        sweeper_new(program->loop, program->session->state.authority, &running, &program->sweeper);

    if (r < 0)
        log_write(&program->log, LOG_WARN, "cannot remove what earlier sessions left",
                  LOG_TEXT("error", err_text(r)));
}

static int serve(struct program *program, const struct confine_report *walls,
                 uint64_t max_file_bytes, struct err *err)
{
    cleanup_buf struct buf body = BUF_INIT(READY_BYTES);
    const struct answer_ready ready = {
        .root = str_from(program->session->folders[0].root_path),
        .box = program->session->box,
        .walls = walls,
        .max_request_bytes = toolwire_max_request(max_file_bytes),
        .max_answer_bytes = toolwire_max_answer(max_file_bytes),
    };
    struct host_config config = {
        .log = &program->log,
        .box = program->session->box,
        .keeper = program->session->keeper,
        .running = &running,
        .changing = &changing,
        .input_fd = program->socket,
        .output_fd = program->socket_again,
        .max_request_bytes = ready.max_request_bytes,
        .max_answer_bytes = ready.max_answer_bytes,
        .on_end = on_end,
        .data = program,
    };
    int r = answer_write_ready(&ready, &body);

    if (r == ERR_INVALID_UTF8)
        return err_set(err, r, "the name of the folder is not valid UTF-8");
    if (r == 0)
        r = loop_new(&clock_system, &program->loop);
    if (r < 0)
        return err_set_plain(err, r);
    r = signal_watch_new(program->loop, SIGTERM, on_signal, program, &program->watch);
    if (r < 0)
        return err_set_plain(err, r);
    config.loop = program->loop;
    config.ready = buf_view(&body);
    r = host_new(&config, &program->host, err);
    if (r < 0)
        return r;
    start_sweeper(program);
    host_run(program->host);
    return program->error < 0 ? err_set(err, program->error, "protocol error from the front end")
                              : 0;
}

static void close_all(struct program *program)
{
    companion_end_by_itself();
    host_free(program->host);
    sweeper_free(program->sweeper);
    if (atomic_load(&changing) > 0)
        log_write(&program->log, LOG_INFO, "waiting for a change to finish");
    signal(SIGTERM, SIG_DFL); /* another one ends the waiting */
    session_wait_for_changes(&changing);
    if (program->loop != NULL) {
        signal_watch_free(program->watch);
        loop_free(program->loop);
    }
    /*
     * A worker that has not returned by now hangs in the kernel, and still uses the session. The
     * next start sweeps the leftovers.
     */
    if (atomic_load(&running) > 0) {
        log_write(&program->log, LOG_WARN, "exiting although workers still hang in the kernel",
                  LOG_INT("workers", atomic_load(&running)));
        _exit(EXIT_FAILURE);
    }
    session_close(program->session);
    media_client_free(program->media);
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    uint64_t max_file_bytes = (uint64_t)options_int(values, TOOLHOST_OPTION_MAX_FILE_SIZE);
    struct program program = {0};
    struct confine_report walls;
    int r;

    (void)arena;
    /* A few threads that seldom allocate: one heap for all is smaller. */
    mallopt(M_ARENA_MAX, 1);
    log_init(&program.log, STDERR_FILENO, shared_log_level(values, TOOLHOST_OPTION_LOG_LEVEL),
             &clock_system);
    r = take_descriptors(&program, values, err);
    if (r == 0)
        r = open_session(&program, values, err);
    if (r == 0)
        r = confine(&program, &walls, err);
    if (r == 0)
        r = serve(&program, &walls, max_file_bytes, err);
    close_all(&program);
    return r;
}

static const struct runner runner = {
    .program = TOOLHOST_PROGRAM,
    .title = TOOLHOST_PROGRAM,
    .see = "gatehouse-toolhost(8)",
    .command = TOOLHOST_COMMAND,
    .closes_descriptors = true,
    .check = check_options,
    .run = run,
};

int main(int argc, char **argv)
{
    companion_follow_parent();
    return runner_main(&runner, argc, argv);
}
