/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side; launcher/serve.c answers, which launcher/guard.c forks. */
#include "isolate/launcher/launcher.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ipc/packet.h"
#include "isolate/confine.h"
#include "isolate/launcher/internal.h"
#include "isolate/threads.h"

/* For a fork, on an overloaded machine; a guard that needs longer is given up. */
enum { GUARD_SECONDS = 10 };

struct launcher {
    int fd;       /* -1: none is there */
    int guard_fd; /* -1: and there will be none */
    pid_t guard;
    char message[LAUNCHER_MAX_MESSAGE];
};

static void free_launcher(struct launcher **launcher)
{
    launcher_free(*launcher);
}

static struct launcher *empty_launcher(void)
{
    struct launcher *launcher = malloc(sizeof(*launcher));

    if (launcher != NULL)
        launcher->fd = launcher->guard_fd = launcher->guard = -1;
    return launcher;
}

/* ---- the guard ---- */

static int fork_guard(struct launcher *launcher, const struct launcher_service *service,
                      int held_fd, struct err *err)
{
    const struct timeval patience = {.tv_sec = GUARD_SECONDS};
    int ends[2];
    int why;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set(err, err_from_errno(errno), "cannot start the launcher of commands: %s",
                       err_errno_text(errno));
    launcher->guard_fd = ends[0];
    (void)setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    launcher->guard = fork();
    if (launcher->guard == 0) {
        const int kept[] = {ends[1], held_fd};

        /* Ctrl-C is for the client, which then closes its end. */
        if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
            prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
            confine_close_fds(kept, held_fd > 0 ? 2 : 1, NULL) < 0)
            _exit(EXIT_FAILURE);
        launcher_guard(ends[1], service);
    }
    why = errno;
    close(ends[1]);
    return launcher->guard < 0
               ? err_set(err, err_from_errno(why), "cannot start the launcher of commands: %s",
                         err_errno_text(why))
               : 0;
}

int launcher_renew(struct launcher *launcher, struct err *err)
{
    char byte = 0;
    ssize_t got = -1;
    int fd = -1;

    if (launcher->fd >= 0)
        close(steal_fd(&launcher->fd));
    if (launcher->guard_fd >= 0 && send(launcher->guard_fd, &byte, 1, MSG_NOSIGNAL) == 1)
        got = packet_receive(launcher->guard_fd, &byte, 1, &fd, 1, 0);
    if (got != 1) {
        /* An answer that comes too late would be taken for the next one's. */
        if (launcher->guard_fd >= 0)
            close(steal_fd(&launcher->guard_fd));
        return err_set(err, ERR_IO,
                       "the launcher of commands has died: restart gatehouse to run commands");
    }
    launcher->fd = fd;
    return launcher->fd >= 0 ? 0 : err_set(err, ERR_BUSY, "cannot create the launcher of commands");
}

bool launcher_is_final(const struct launcher *launcher)
{
    char byte;

    /* It sends nothing unasked, so only its end could be read. */
    return launcher->guard_fd < 0 ||
           recv(launcher->guard_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* ---- life ---- */

int launcher_new(const struct launcher_envelope *envelope, struct launcher **out_launcher,
                 struct err *err)
{
    cleanup_with(free_launcher) struct launcher *launcher = empty_launcher();
    cleanup_box struct box *box = NULL;
    struct launcher_service service = {.is_open = envelope->plan->is_open,
                                       .places = envelope->plan->places,
                                       .place_count = envelope->plan->place_count,
                                       .env = envelope->env,
                                       .denials = envelope->denials,
                                       .denial_count = envelope->denial_count,
                                       .kinds = envelope->kinds,
                                       .leaves_processes = !envelope->plan->is_open};
    int r = threads_check_alone(err);

    if (envelope->denial_count > BOX_MAX_DENIALS)
        return err_set(err, ERR_TOO_LARGE, "a sandbox cannot deny more than %d paths",
                       BOX_MAX_DENIALS);

    if (launcher == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (r == 0)
        r = box_new(envelope->plan, &box, err);
    service.box = box;
    if (r == 0)
        r = fork_guard(launcher, &service, envelope->held_fd, err);
    if (r == 0)
        r = launcher_renew(launcher, err);
    if (r == 0)
        *out_launcher = steal_ptr(&launcher);
    return r;
}

void launcher_free(struct launcher *launcher)
{
    if (launcher == NULL)
        return;
    if (launcher->fd >= 0)
        close(launcher->fd);
    if (launcher->guard_fd >= 0)
        close(launcher->guard_fd);
    /* Both exit when their sockets close; a confined process may not wait for them. */
    if (launcher->guard > 0)
        while (waitpid(launcher->guard, NULL, 0) < 0 && errno == EINTR)
            ;
    free(launcher);
}

int launcher_fd(const struct launcher *launcher)
{
    return launcher->fd;
}

static int send_request(struct launcher *launcher, const struct launcher_request *request)
{
    cleanup_buf struct buf message = BUF_INIT(LAUNCHER_MAX_MESSAGE);
    ssize_t sent;
    int r = launcher_wire_write_request(request, &message);

    if (r < 0)
        return r;
    do
        sent = send(launcher->fd, message.data, message.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    if (sent < 0)
        return errno == EAGAIN ? ERR_BUSY : errno == EMSGSIZE ? ERR_TOO_LARGE : ERR_IO;
    return 0;
}

static int list(const char *const *from, const char **out_to, size_t *out_count)
{
    size_t count = 0;

    for (; from != NULL && from[count] != NULL; count++) {
        if (count == LAUNCHER_MAX_WORDS)
            return ERR_TOO_LARGE;
        out_to[count] = from[count];
    }
    out_to[count] = NULL;
    *out_count = count;
    return 0;
}

int launcher_start(struct launcher *launcher, uint32_t number,
                   const struct launcher_command *command, struct err *err)
{
    struct launcher_request request = {
        .kind = LAUNCHER_START,
        .number = number,
        .wants_stdin = command->wants_stdin && !command->wants_pty,
        .wants_pty = command->wants_pty,
        .rows = command->rows,
        .columns = command->columns,
        .cwd = command->cwd,
        .at_most_count = command->at_most != NULL ? command->at_most_count : 0,
    };
    int r = command->at_most_count > BOX_MAX_PLACES || command->denial_count > LAUNCHER_MAX_DENIALS
                ? ERR_TOO_LARGE
                : list(command->argv, request.words, &request.word_count);

    if (r == 0)
        r = list(command->variables, request.variables, &request.variable_count);
    if (r == 0) {
        if (command->at_most != NULL)
            memcpy(request.at_most, command->at_most,
                   request.at_most_count * sizeof(request.at_most[0]));
        request.denial_count = command->denial_count;
        for (size_t i = 0; i < command->denial_count; i++)
            request.denials[i] = command->denials[i];
        r = send_request(launcher, &request);
    }
    return r < 0 ? err_set_plain(err, r) : 0;
}

int launcher_signal(struct launcher *launcher, uint32_t number, int signal_number)
{
    const struct launcher_request request = {
        .kind = LAUNCHER_SIGNAL, .number = number, .signal = signal_number};

    return send_request(launcher, &request);
}

static void close_fds(struct launcher_fds *fds)
{
    for (int i = 0; i < LAUNCHER_MAX_FDS; i++)
        if (fds->fds[i] >= 0)
            close(steal_fd(&fds->fds[i]));
}

int launcher_read(struct launcher *launcher, struct launcher_notice *out_notice,
                  struct launcher_fds *out_fds)
{
    struct launcher_notice notice;
    ssize_t got = packet_receive(launcher->fd, launcher->message, sizeof(launcher->message),
                                 out_fds->fds, LAUNCHER_MAX_FDS, MSG_DONTWAIT);

    if (got < 0 && errno == EAGAIN)
        return ERR_NOT_FOUND;
    if (got <= 0)
        return ERR_IO;
    if (launcher_wire_read_notice((struct str){launcher->message, (size_t)got}, &notice) < 0) {
        close_fds(out_fds);
        return ERR_IO;
    }
    /* Only the descriptors that belong there come in their places: stdin may be missing. */
    if (notice.kind == LAUNCHER_STARTED && notice.value == 0 && out_fds->fds[2] < 0) {
        out_fds->fds[2] = out_fds->fds[1];
        out_fds->fds[1] = out_fds->fds[0];
        out_fds->fds[0] = -1;
    }
    *out_notice = notice;
    return 0;
}
