/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/plain.h"
#include "loop/timer.h"

enum {
    MESSAGE_BYTES = NOTIFY_STATUS_BYTES + 64,
    USEC_A_MS = 1000,
    LONGEST_WATCH_MS = 24 * 3600 * 1000,
};

struct notify {
    int fd; /* -1: no service manager */
    /* Pending messages. */
    bool owes_ready;
    bool owes_stopping;
    bool owes_status;
    char status[NOTIFY_STATUS_BYTES + 1];
    struct timer again;
    int64_t sign_ms; /* 0: no signs of life are wanted */
    struct timer sign;
};

/* ---- telling ---- */

/* One message with everything pending: the manager reads a datagram as one. */
static int tell(struct notify *notify)
{
    cleanup_buf struct buf message = BUF_INIT(MESSAGE_BYTES);
    int r = 0;

    if (notify->owes_ready)
        r = buf_append_str(&message, STR("READY=1\n"));
    if (r == 0 && notify->owes_stopping)
        r = buf_append_str(&message, STR("STOPPING=1\n"));
    if (r == 0 && notify->owes_status)
        r = buf_printf(&message, "STATUS=%s\n", notify->status);
    if (r < 0)
        return r;
    /* write() and not send(), which a confined process may not have. */
    if (message.len > 0 && write(notify->fd, message.data, message.len) < 0 &&
        (errno == EAGAIN || errno == ENOBUFS || errno == EINTR))
        return ERR_BUSY;
    /* Otherwise it was sent, or never can be. */
    notify->owes_ready = false;
    notify->owes_stopping = false;
    notify->owes_status = false;
    return 0;
}

static void tell_or_owe(void *data)
{
    struct notify *notify = data;

    if (notify->fd >= 0 && tell(notify) < 0)
        timer_start(&notify->again, NOTIFY_AGAIN_MS);
}

static void give_sign(void *data)
{
    const struct notify *notify = data;

    /* A lost one is followed by another in time. */
    (void)!write(notify->fd, "WATCHDOG=1\n", strlen("WATCHDOG=1\n"));
}

void notify_ready(struct notify *notify)
{
    if (notify->fd < 0)
        return;
    notify->owes_ready = true;
    tell_or_owe(notify);
    if (notify->sign_ms > 0)
        timer_start_repeating(&notify->sign, notify->sign_ms);
}

void notify_status(struct notify *notify, struct str text)
{
    cleanup_buf struct buf line = BUF_INIT(NOTIFY_STATUS_BYTES);

    if (notify->fd < 0 || plain_line(text, NOTIFY_STATUS_BYTES, &line) < 0)
        return;
    snprintf(notify->status, sizeof(notify->status), "%.*s", STR_ARG(buf_view(&line)));
    notify->owes_status = true;
    tell_or_owe(notify);
}

void notify_stopping(struct notify *notify)
{
    if (notify->fd < 0)
        return;
    timer_stop(&notify->sign);
    notify->owes_stopping = true;
    tell_or_owe(notify);
}

/* ---- opening ---- */

struct notify_environment notify_environment(void)
{
    return (struct notify_environment){.socket = getenv("NOTIFY_SOCKET"),
                                       .watchdog_usec = getenv("WATCHDOG_USEC"),
                                       .watchdog_pid = getenv("WATCHDOG_PID")};
}

static int connect_to(const char *text, int *out_fd, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct str name = str_from(text);
    cleanup_fd int fd = -1;

    if (name.len < 2 || name.len >= sizeof(address.sun_path))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "NOTIFY_SOCKET",
                             "NOTIFY_SOCKET is not a socket path");
    if (text[0] != '/' && text[0] != '@')
        return err_set_field(err, ERR_UNSUPPORTED, "NOTIFY_SOCKET",
                             "NOTIFY_SOCKET has an unsupported socket type");
    memcpy(address.sun_path, name.ptr, name.len);
    /* A name that is no file begins with a NUL, and its length is a part of it. */
    if (text[0] == '@')
        address.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + name.len +
                                      (text[0] == '/' ? 1 : 0))) < 0)
        return err_set_field(err, err_from_errno(errno), "NOTIFY_SOCKET",
                             "cannot reach the service manager: %s", err_errno_text(errno));
    *out_fd = steal_fd(&fd);
    return 0;
}

/* 0 if the watchdog is off, or meant for another process. */
static int64_t sign_of(const struct notify_environment *environment)
{
    int64_t usec;
    int64_t pid;

    if (environment->watchdog_usec == NULL ||
        !str_to_int64(str_from(environment->watchdog_usec), &usec) || usec <= 0)
        return 0;
    if (environment->watchdog_pid != NULL &&
        (!str_to_int64(str_from(environment->watchdog_pid), &pid) || pid != getpid()))
        return 0;
    usec /= 2 * (int64_t)USEC_A_MS;
    if (usec < 1)
        return 1;
    return usec < LONGEST_WATCH_MS ? usec : LONGEST_WATCH_MS;
}

int notify_new(struct loop *loop, const struct notify_environment *environment,
               struct notify **out_notify, struct err *err)
{
    struct notify *notify = calloc(1, sizeof(*notify));
    int r = 0;

    if (notify == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    notify->fd = -1;
    timer_init(&notify->again, loop, tell_or_owe, notify);
    timer_init(&notify->sign, loop, give_sign, notify);
    if (environment->socket != NULL && environment->socket[0] != '\0') {
        r = connect_to(environment->socket, &notify->fd, err);
        notify->sign_ms = sign_of(environment);
    }
    if (r < 0) {
        notify_free(notify);
        return r;
    }
    *out_notify = notify;
    return 0;
}

void notify_free(struct notify *notify)
{
    if (notify == NULL)
        return;
    if (notify->fd >= 0)
        (void)tell(notify);
    timer_stop(&notify->again);
    timer_stop(&notify->sign);
    cleanup_fd_(&notify->fd);
    free(notify);
}
