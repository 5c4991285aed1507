/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher itself: a loop over one socket and its boxes. */
#include "isolate/launcher/internal.h"
#include "isolate/launcher/keptgit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ipc/packet.h"
#include "isolate/box/matches.h"
#include "isolate/box/secondnames.h"
#include "isolate/launcher/launcher.h"

enum { MAX_ENV = 2 * LAUNCHER_MAX_WORDS, MATCHES_BYTES = 32 << 20 };

/* A command, from its start until no process of it is left. */
struct running {
    bool is_used;
    uint32_t number;
    struct box_process process;
    struct kept_gits gits;
};

struct server {
    int fd;
    const struct launcher_service *service;
    struct running running[LAUNCHER_MAX_RUNNING];
    char message[LAUNCHER_MAX_MESSAGE + 1];
    struct box_denial denials[BOX_MAX_DENIALS + LAUNCHER_MAX_DENIALS]; /* of one start */
};

/* Everything dies with us: the sandboxes are tied to this process. */
static _Noreturn void give_up(void)
{
    _exit(EXIT_FAILURE);
}

/* A client that does not read notices is not served any more. */
static void tell(const struct server *server, const struct launcher_notice *notice, const int *fds,
                 size_t fd_count)
{
    cleanup_buf struct buf text = BUF_INIT(LAUNCHER_MAX_MESSAGE);

    if (launcher_wire_write_notice(notice, &text) < 0 ||
        packet_send(server->fd, buf_view(&text), fds, fd_count, MSG_DONTWAIT) < 0)
        give_up();
}

static void refuse(const struct server *server, uint32_t number, const struct err *err)
{
    tell(server, &(struct launcher_notice){.kind = LAUNCHER_REFUSED, .number = number, .err = *err},
         NULL, 0);
}

/* ---- Starting ---- */

static size_t name_length(const char *variable)
{
    return (size_t)(strchrnul(variable, '=') - variable);
}

static bool is_given(const struct launcher_request *request, const char *variable)
{
    size_t len = name_length(variable);

    for (size_t i = 0; i < request->variable_count; i++)
        if (name_length(request->variables[i]) == len &&
            strncmp(request->variables[i], variable, len) == 0)
            return true;
    return false;
}

static void make_env(const struct server *server, const struct launcher_request *request,
                     const char *out_env[MAX_ENV + 1])
{
    size_t count = 0;

    for (size_t i = 0; server->service->env[i] != NULL && count < LAUNCHER_MAX_WORDS; i++)
        if (!is_given(request, server->service->env[i]))
            out_env[count++] = server->service->env[i];
    for (size_t i = 0; i < request->variable_count; i++)
        out_env[count++] = request->variables[i];
    out_env[count] = NULL;
}

/* Both ends of the command's streams; closed unless passed on. */
struct streams {
    int ours[LAUNCHER_MAX_FDS];
    int theirs[LAUNCHER_MAX_FDS];
};

static void close_streams(const struct streams *streams)
{
    for (int i = 0; i < LAUNCHER_MAX_FDS; i++) {
        if (streams->ours[i] >= 0)
            close(streams->ours[i]);
        if (streams->theirs[i] >= 0)
            close(streams->theirs[i]);
    }
}

static int open_streams(const struct launcher_request *request, struct streams *streams,
                        struct err *err)
{
    for (int i = 0; i < LAUNCHER_MAX_FDS; i++) {
        int ends[2];
        int ours = i == 0 ? 1 : 0;

        if (request->wants_pty || (i == 0 && !request->wants_stdin))
            continue;
        if (pipe2(ends, O_CLOEXEC) < 0)
            return err_set(err, err_from_errno(errno), "a pipe: %s", err_errno_text(errno));
        streams->ours[i] = ends[ours];
        streams->theirs[i] = ends[1 - ours];
        if (fcntl(ends[ours], F_SETFL, O_NONBLOCK) < 0)
            return err_set(err, err_from_errno(errno), "a pipe: %s", err_errno_text(errno));
    }
    return 0;
}

static struct running *find(struct server *server, uint32_t number)
{
    for (size_t i = 0; i < LAUNCHER_MAX_RUNNING; i++)
        if (server->running[i].is_used && server->running[i].number == number)
            return &server->running[i];
    return NULL;
}

static struct running *find_free(struct server *server)
{
    for (size_t i = 0; i < LAUNCHER_MAX_RUNNING; i++)
        if (!server->running[i].is_used)
            return &server->running[i];
    return NULL;
}

static void tell_started(const struct server *server, const struct launcher_request *request,
                         const struct streams *streams, int pty)
{
    struct launcher_notice notice = {
        .kind = LAUNCHER_STARTED, .number = request->number, .value = request->wants_pty ? 1 : 0};
    int fds[LAUNCHER_MAX_FDS];
    size_t count = 0;

    if (request->wants_pty)
        fds[count++] = pty;
    for (int i = 0; i < LAUNCHER_MAX_FDS; i++)
        if (streams->ours[i] >= 0)
            fds[count++] = streams->ours[i];
    tell(server, &notice, fds, count);
}

/*
 * The denials of the envelope and of the request, the matches of the patterns among them, files
 * that are denied by what they are, and the other names of all these files.
 */
static int gather_denials(struct server *server, const struct launcher_request *request,
                          struct arena *arena, size_t *out_count, struct err *err)
{
    const struct launcher_service *service = server->service;
    struct matches matches = {.items = server->denials, .room = array_size(server->denials)};
    const struct box_denial *const lists[] = {service->denials, request->denials};
    const size_t counts[] = {service->denial_count, request->denial_count};
    int r = 0;

    for (size_t list = 0; list < array_size(lists); list++)
        for (size_t i = 0; i < counts[list]; i++)
            if (!lists[list][i].is_pattern)
                matches.items[matches.count++] = lists[list][i];
    for (size_t list = 0; list < array_size(lists) && r == 0; list++)
        r = matches_find(arena, lists[list], counts[list], service->places, service->place_count,
                         &matches, err);
    if (r == 0)
        r = matches_find_kinds(arena, service->kinds, service->places, service->place_count,
                               &matches, err);
    if (r == 0 && !service->is_open)
        r = secondnames_find(arena, service->places, service->place_count, &matches, err);
    *out_count = matches.count;
    return r;
}

static int start_in(struct server *server, struct running *running,
                    const struct launcher_request *request, struct err *err)
{
    cleanup_with(close_streams) struct streams streams = {{-1, -1, -1}, {-1, -1, -1}};
    const char *env[MAX_ENV + 1];
    enum box_access at_most[BOX_MAX_PLACES];
    struct box_command command = {.argv = request->words,
                                  .env = env,
                                  .cwd = request->cwd,
                                  .rows = request->rows,
                                  .columns = request->columns,
                                  .at_most = at_most,
                                  .denials = server->denials};
    cleanup_arena struct arena arena = ARENA_INIT(MATCHES_BYTES);
    int r = open_streams(request, &streams, err);

    if (r == 0)
        r = gather_denials(server, request, &arena, &command.denial_count, err);
    if (r < 0)
        return r;
    make_env(server, request, env);
    for (size_t i = 0; i < server->service->place_count; i++)
        at_most[i] = i < request->at_most_count ? request->at_most[i] : BOX_WRITE;
    for (int i = 0; i < LAUNCHER_MAX_FDS; i++)
        command.fds[i] = request->wants_pty ? BOX_FD_PTY : streams.theirs[i];
    r = server->service->kinds.autorun
            ? kept_gits_note(&running->gits, server->denials, command.denial_count)
            : 0;
    if (r < 0)
        return err_set_plain(err, r);
    r = box_start(server->service->box, &command, &running->process, err);
    if (r < 0) {
        kept_gits_end(&running->gits);
        return r;
    }
    running->is_used = true;
    running->number = request->number;
    tell_started(server, request, &streams, running->process.pty);
    if (running->process.pty >= 0)
        close(steal_fd(&running->process.pty));
    return 0;
}

static void start(struct server *server, const struct launcher_request *request)
{
    struct running *running = find_free(server);
    struct err err = ERR_INIT;
    int r;

    if (find(server, request->number) != NULL)
        r = err_set(&err, ERR_ALREADY_EXISTS, "command %u is already running", request->number);
    else if (running == NULL)
        r = err_set(&err, ERR_BUSY, "%d commands are already running", LAUNCHER_MAX_RUNNING);
    else
        r = start_in(server, running, request, &err);
    if (r < 0)
        refuse(server, request->number, &err);
}

/* ---- Serving ---- */

static void serve_request(struct server *server)
{
    struct launcher_request request;
    struct running *running;
    ssize_t got = recv(server->fd, server->message, sizeof(server->message), MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0 ||
        launcher_wire_read_request((struct str){server->message, (size_t)got}, &request) < 0)
        give_up();
    switch (request.kind) {
    case LAUNCHER_START:
        start(server, &request);
        break;
    case LAUNCHER_SIGNAL:
        running = find(server, request.number);
        if (running != NULL)
            (void)box_signal(&running->process, request.signal);
        break;
    }
}

static void finish(const struct server *server, struct running *running)
{
    struct launcher_notice notice = {.kind = LAUNCHER_ENDED, .number = running->number};
    struct box_end end;

    box_finish(&running->process, &end);
    notice.is_signal = end.is_signal;
    notice.value = end.value;
    kept_gits_end(&running->gits);
    running->is_used = false;
    tell(server, &notice, NULL, 0);
}

_Noreturn void launcher_serve(int socket_fd, const struct launcher_service *service)
{
    static struct server server;

    server.fd = socket_fd;
    server.service = service;
    for (;;) {
        struct pollfd waits[LAUNCHER_MAX_RUNNING + 1];

        for (size_t i = 0; i < LAUNCHER_MAX_RUNNING; i++) {
            const struct box_process *process = &server.running[i].process;

            /* First the report of the end, then that all processes are gone. */
            waits[i] = (struct pollfd){.fd = process->has_ended ? process->pidfd : process->channel,
                                       .events = POLLIN};
            if (!server.running[i].is_used)
                waits[i].fd = -1;
        }
        waits[LAUNCHER_MAX_RUNNING] = (struct pollfd){.fd = server.fd, .events = POLLIN};
        if (poll(waits, array_size(waits), -1) < 0 && errno != EINTR)
            give_up();
        for (size_t i = 0; i < LAUNCHER_MAX_RUNNING; i++) {
            struct running *running = &server.running[i];

            if (waits[i].fd < 0 || waits[i].revents == 0)
                continue;
            if (running->process.has_ended)
                finish(&server, running);
            else
                box_read_end(&running->process);
        }
        if (waits[LAUNCHER_MAX_RUNNING].revents != 0)
            serve_request(&server);
    }
}
