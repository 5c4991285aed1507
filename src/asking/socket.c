/* SPDX-License-Identifier: Apache-2.0 */
#include "asking/socket.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/status.h"
#include "gatehouse/audit.h"
#include "permission/settings/dir.h"

enum {
    BACKLOG = 16,
    SOCKET_MODE = 0600,
    LONGER_NAME_BYTES = ASKING_NAME_BYTES + 8,
};

/* "asks-12.socket" */
static void put_name(unsigned slot, char out_name[ASKING_NAME_BYTES])
{
    snprintf(out_name, ASKING_NAME_BYTES, "asks-%u.socket", slot);
}

bool asking_socket_is_ours(int fd)
{
    struct ucred peer = {0};
    socklen_t len = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

/* By the directory's descriptor: short enough always, and of that very directory. */
static struct sockaddr_un address_of(int dir_fd, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir_fd, name);
    return address;
}

/*
 * The lock is ours, so a socket of that name is a dead program's. It gets its name when it listens
 * already: whoever sees the name can connect. Returns an errno value.
 */
static int listen_at(int dir_fd, const char *name, int *out_fd)
{
    char fresh[LONGER_NAME_BYTES];
    cleanup_fd int fd = -1;
    struct sockaddr_un address;

    snprintf(fresh, sizeof(fresh), "%s.new", name);
    address = address_of(dir_fd, fresh);
    if (unlinkat(dir_fd, fresh, 0) < 0 && errno != ENOENT)
        return errno;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* The mode of the socket is that of the name: at no moment may others connect. */
    if (fd < 0 || fchmod(fd, SOCKET_MODE) < 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0 ||
        renameat(dir_fd, fresh, dir_fd, name) < 0)
        return errno;
    *out_fd = steal_fd(&fd);
    return 0;
}

static int take_slot(int dir_fd, unsigned slot, struct asking_socket *out_socket, struct err *err)
{
    char name[ASKING_NAME_BYTES];
    char lock_name[LONGER_NAME_BYTES];
    cleanup_fd int lock_fd = -1;
    int fd = -1;
    int r;

    put_name(slot, name);
    snprintf(lock_name, sizeof(lock_name), "%s.lock", name);
    r = settingsdir_lock(dir_fd, lock_name, 0, &lock_fd, err);
    if (r < 0)
        return r;
    r = listen_at(dir_fd, name, &fd);
    if (r != 0)
        return err_set(err, err_from_errno(r), "cannot create a socket: %s", err_errno_text(r));
    *out_socket = (struct asking_socket){.listen_fd = fd, .lock_fd = steal_fd(&lock_fd)};
    return 0;
}

int asking_socket_open(struct asking_socket *out_socket, struct err *err)
{
    char directory[PATH_MAX];
    cleanup_fd int dir_fd = -1;
    int r = status_socket_dir(directory, err);

    if (r == 0)
        r = audit_dir_open(directory, &dir_fd, err);
    if (r < 0)
        return r;
    r = ERR_BUSY;
    for (unsigned slot = 0; slot < ASKING_SLOTS && r == ERR_BUSY; slot++)
        r = take_slot(dir_fd, slot, out_socket, err);
    return r == ERR_BUSY ? err_set(err, r, "%d other programs that ask are running", ASKING_SLOTS)
                         : r;
}

void asking_socket_close(struct asking_socket *socket)
{
    cleanup_fd_(&socket->listen_fd);
    cleanup_fd_(&socket->lock_fd);
    *socket = (struct asking_socket)ASKING_SOCKET_INIT;
}

int asking_socket_connect(int dir_fd, unsigned slot, int *out_fd)
{
    char name[ASKING_NAME_BYTES];
    cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address;

    put_name(slot, name);
    address = address_of(dir_fd, name);
    if (fd < 0)
        return err_from_errno(errno);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return errno == ENOENT || errno == ECONNREFUSED ? ERR_NOT_FOUND : err_from_errno(errno);
    if (!asking_socket_is_ours(fd))
        return ERR_PERMISSION_DENIED;
    *out_fd = steal_fd(&fd);
    return 0;
}
