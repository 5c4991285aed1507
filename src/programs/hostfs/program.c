/* SPDX-License-Identifier: Apache-2.0 */
/* gatehouse-hostfs: reads the command line, opens one tenant's files, confines itself, serves. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options/options.h"
#include "cli/hostfs.h"
#include "cli/runner.h"
#include "cli/shared.h"
#include "isolate/companion.h"
#include "isolate/confine.h"
#include "loop/signal.h"
#include "loop/timer.h"
#include "media/client.h"
#include "programs/hostfs/host.h"
#include "session/session.h"
#include "session/state.h"
#include "transfer/client.h"

enum { FIRST_OWN_FD = 3, FLUSH_MS = 1000 };

/* Static, since threads may never return. */
static atomic_uint running;
static atomic_uint changing;

struct program {
    struct log log;
    int socket;
    int socket_again; /* for the other direction */
    struct loop *loop;
    struct session_state state;
    struct authority_scope *scope;
    char root_path[PATH_MAX]; /* empty for files in memory */
    struct media_client *media;
    struct transfer_client *transfer;
    struct hostfs hostfs;
    struct host *host;
    struct timer flush;
    struct signal_watch *watch;
    int error; /* with which the connection ended */
};

static void on_signal(void *data, int signum)
{
    (void)signum;
    loop_stop(((struct program *)data)->loop);
}

static void on_end(void *data, int error)
{
    struct program *program = data;

    program->error = error;
    loop_stop(program->loop);
}

/* Files in memory are worth more than a helper: they would be gone with us. */
static bool has_lost_helper(const struct program *program)
{
    return program->root_path[0] != '\0' &&
           (media_client_is_lost(program->media) ||
            (program->transfer != NULL && transfer_client_is_lost(program->transfer)));
}

static void on_answered(void *data)
{
    struct program *program = data;

    if (!program->flush.is_started)
        timer_start(&program->flush, FLUSH_MS);
    if (!has_lost_helper(program) || !host_is_idle(program->host))
        return;
    /* Confined, we start nothing; the server starts another one of us. */
    log_write(&program->log, LOG_WARN, "a process that starts helpers has ended: starting anew");
    loop_stop(program->loop);
}

static void flush_record(void *data)
{
    struct program *program = data;
    const char *words = session_state_flush(&program->state);

    if (words != NULL)
        log_write(&program->log, LOG_WARN, words, LOG_TEXT("directory", program->state.state_path));
}

/* ---- what is opened before the walls are up ---- */

static int check_options(const struct option_values *values, struct err *err)
{
    if (options_text(values, HOSTFS_OPTION_STATE_DIR) == NULL)
        return err_set(err, ERR_INVALID_OPTION, "--state-dir is missing");
    if ((options_text(values, HOSTFS_OPTION_ROOT) == NULL) ==
        !options_is_on(values, HOSTFS_OPTION_MEMORY))
        return err_set(err, ERR_INVALID_OPTION, "either --root or --memory is needed");
    return 0;
}

static int take_descriptors(struct program *program, const struct option_values *values,
                            struct err *err)
{
    const int kept[] = {STDERR_FILENO, (int)options_int(values, HOSTFS_OPTION_FD)};
    int r = confine_close_fds(kept, array_size(kept), err);

    if (r < 0)
        return r;
    program->socket = kept[1];
    program->socket_again = fcntl(program->socket, F_DUPFD_CLOEXEC, FIRST_OWN_FD);
    if (program->socket_again < 0)
        return err_set(err, err_from_errno(errno), "the socket: %s", err_errno_text(errno));
    return 0;
}

static int open_root(struct program *program, const struct option_values *values, struct err *err)
{
    const char *tenant = options_text(values, HOSTFS_OPTION_TENANT);
    const char *root = options_text(values, HOSTFS_OPTION_ROOT);
    char given[PATH_MAX];
    struct authority_request request = {
        .subject = {.type = AUTHORITY_AUTOMATION, .id = tenant != NULL ? tenant : "owner"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "host.fs", .path = HOSTFS_ROOT},
        .access = AUTHORITY_ALL_ACCESS,
        .reason = "host.fs",
        .source = AUTHORITY_FROM_USER_APPROVAL, /* the operator named it */
        .limits = {.symlinks = AUTHORITY_SYMLINKS_IN_ROOT,
                   .hardlinks = AUTHORITY_HARDLINKS_REJECT,
                   .max_file_bytes = program->hostfs.max_file_bytes},
    };
    struct err why = ERR_INIT;
    int r = 0;

    if (root != NULL) {
        r = session_state_absolute_path(root, given, err);
        if (r < 0)
            return r;
        request.root.path = request.root.display_name = given;
    }
    r = authority_request_root(program->state.authority, &request, &program->scope, &why);
    if (r == 0 && root != NULL)
        r = authority_scope_path(program->scope, program->root_path);
    if (r < 0)
        return err_set(err, r, "cannot serve '%s': %s", root != NULL ? root : HOSTFS_ROOT,
                       why.code != 0 ? why.message : err_text(r));
    return 0;
}

/* Not for tenants, even if it is in a directory that is offered to one. */
static int protect(struct program *program, const char *path, struct err *err)
{
    char real[PATH_MAX];

    if (path == NULL)
        return 0;
    /* The last name may be a link, which authority would take for the file. */
    return authority_protect(program->state.authority, realpath(path, real) != NULL ? real : path,
                             err);
}

static int protect_all(struct program *program, const struct option_values *values, struct err *err)
{
    static const size_t secret[] = {HOSTFS_OPTION_SERVER_DIR, HOSTFS_OPTION_TRANSPORT_CREDENTIALS,
                                    HOSTFS_OPTION_TRANSPORT_KNOWN_HOSTS};
    int r = 0;

    for (size_t i = 0; i < array_size(secret) && r == 0; i++)
        r = protect(program, options_text(values, secret[i]), err);
    return r;
}

static int open_files(struct program *program, const struct option_values *values, struct err *err)
{
    bool in_memory = options_is_on(values, HOSTFS_OPTION_MEMORY);
    const struct session_state_config config = {
        .state_dir = options_text(values, HOSTFS_OPTION_STATE_DIR),
        .audit_sync = (enum audit_sync)options_choice(values, HOSTFS_OPTION_AUDIT_SYNC),
        .backend = in_memory ? AUTHORITY_MEMORY : AUTHORITY_LINUX};
    int r = session_state_open(&config, &program->state, err);

    if (r == 0 && !in_memory)
        r = protect_all(program, values, err);
    return r == 0 ? open_root(program, values, err) : r;
}

/* ---- helpers, which are asked what they can do here ---- */

/* A protocol needs a server that may be asked, and its library. */
static unsigned find_protocols(struct transfer_client *transfer, const struct option_list *hosts)
{
    static const unsigned features[TRANSFER_PROTOCOL_END] = {[TRANSFER_FTP] = HOSTFS_HAS_FTP,
                                                             [TRANSFER_SFTP] = HOSTFS_HAS_SFTP,
                                                             [TRANSFER_SSH] = HOSTFS_HAS_SSH};
    struct transfer_place place;
    unsigned asked = 0;
    unsigned found = 0;

    for (size_t i = 0; i < hosts->count; i++) {
        if (transfer_read_place(str_from(hosts->items[i]), &place, NULL) < 0 ||
            (asked & features[place.protocol]) != 0)
            continue;
        asked |= features[place.protocol];
        if (transfer_probe(transfer, place.protocol))
            found |= features[place.protocol];
    }
    return found;
}

static unsigned find_features(struct media_client *media)
{
    struct media_abilities found;
    unsigned features = HOSTFS_HAS_ARCHIVE;

    media_probe(media, &found);
    if (found.formats != 0)
        features |= HOSTFS_HAS_IMAGE | found.formats << HOSTFS_FORMAT_SHIFT;
    if (found.has_documents)
        features |= HOSTFS_HAS_PDF;
    return features;
}

static int start_transfer(struct program *program, const struct option_values *values,
                          struct err *err)
{
    const struct option_list hosts = options_list(values, HOSTFS_OPTION_TRANSPORT_HOST);
    const struct transfer_config config = {
        .libexec = GATEHOUSE_LIBEXECDIR,
        .error_fd = STDERR_FILENO,
        .hosts = hosts.items,
        .host_count = hosts.count,
        .known_hosts = options_text(values, HOSTFS_OPTION_TRANSPORT_KNOWN_HOSTS),
        .credentials = options_text(values, HOSTFS_OPTION_TRANSPORT_CREDENTIALS),
        .tenant = options_text(values, HOSTFS_OPTION_TRANSPORT_TENANT),
    };
    int r = hosts.count > 0 ? transfer_client_start(&config, &program->transfer, err) : 0;

    program->hostfs.transfer = program->transfer;
    return r;
}

static int open_helpers(struct program *program, const struct option_values *values,
                        struct err *err)
{
    const struct option_list hosts = options_list(values, HOSTFS_OPTION_TRANSPORT_HOST);
    int r = media_client_start(GATEHOUSE_LIBEXECDIR, STDERR_FILENO, 0, &program->media, err);

    if (r == 0)
        r = start_transfer(program, values, err);
    if (r < 0)
        return r;
    program->hostfs.media = program->media;
    program->hostfs.features = (unsigned)options_int(values, HOSTFS_OPTION_FEATURES);
    if (program->hostfs.features == 0)
        program->hostfs.features =
            find_features(program->media) |
            (program->transfer != NULL ? find_protocols(program->transfer, &hosts) : 0);
    return 0;
}

static int confine(struct program *program, struct err *err)
{
    struct landlock_place places[2] = {
        {.path = program->state.state_path, .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE},
        {.path = program->root_path, .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE},
    };
    const struct confine_plan plan = {
        .places = places,
        .place_count = program->root_path[0] != '\0' ? 2 : 1,
        .changes_files = true,
        .has_closed_fds = true,
    };
    struct confine_report report;
    int r = confine_process(&plan, &report, err);

    if (r == 0)
        confine_log(&report, &program->log);
    return r;
}

/* ---- serving ---- */

static int serve(struct program *program, struct err *err)
{
    struct hostfs_host_config config = {
        .log = &program->log,
        .hostfs = &program->hostfs,
        .running = &running,
        .changing = &changing,
        .input_fd = program->socket,
        .output_fd = program->socket_again,
        .on_answered = on_answered,
        .on_end = on_end,
        .data = program,
    };
    int r = loop_new(&clock_system, &program->loop);

    if (r == 0) {
        timer_init(&program->flush, program->loop, flush_record, program);
        r = signal_watch_new(program->loop, SIGTERM, on_signal, program, &program->watch);
    }
    config.loop = program->loop;
    if (r == 0)
        r = host_new(&config, &program->host);
    if (r < 0)
        return err_set_plain(err, r);
    host_run(program->host);
    return program->error < 0 ? err_set(err, program->error, "protocol error from the server") : 0;
}

static void close_all(struct program *program)
{
    companion_end_by_itself();
    host_free(program->host);
    signal(SIGTERM, SIG_DFL); /* another one ends the waiting */
    session_wait_for_changes(&changing);
    if (program->loop != NULL) {
        timer_stop(&program->flush);
        signal_watch_free(program->watch);
        loop_free(program->loop);
    }
    /* A thread that has not returned by now hangs in the kernel, and still uses the files. */
    if (atomic_load(&running) > 0) {
        log_write(&program->log, LOG_WARN, "exiting although threads still hang in the kernel",
                  LOG_INT("threads", atomic_load(&running)));
        _exit(EXIT_FAILURE);
    }
    media_client_free(program->media);
    transfer_client_free(program->transfer);
    authority_scope_free(program->scope);
    session_state_close(&program->state);
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    struct program program = {
        .state = {.audit_dir_fd = -1},
        .hostfs = {.max_file_bytes = (uint64_t)options_int(values, HOSTFS_OPTION_MAX_FILE_SIZE)},
    };
    int r;

    (void)arena;
    /* A few threads that seldom allocate: one heap for all is smaller. */
    mallopt(M_ARENA_MAX, 1);
    log_init(&program.log, STDERR_FILENO, shared_log_level(values, HOSTFS_OPTION_LOG_LEVEL),
             &clock_system);
    r = take_descriptors(&program, values, err);
    if (r == 0)
        r = open_helpers(&program, values, err);
    if (r == 0)
        r = open_files(&program, values, err);
    program.hostfs.scope = program.scope;
    if (r == 0)
        r = confine(&program, err);
    if (r == 0)
        r = serve(&program, err);
    close_all(&program);
    return r;
}

static const struct runner runner = {
    .program = HOSTFS_PROGRAM,
    .title = HOSTFS_PROGRAM,
    .see = "gatehouse-hostfs(8)",
    .command = HOSTFS_COMMAND,
    .closes_descriptors = true,
    .check = check_options,
    .run = run,
};

int main(int argc, char **argv)
{
    companion_follow_parent();
    return runner_main(&runner, argc, argv);
}
