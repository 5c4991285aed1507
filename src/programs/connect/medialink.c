/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/medialink.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "isolate/companion.h"
#include "isolate/errand.h"
#include "loop/child.h"
#include "loop/reader.h"

struct medialink {
    struct medialink_config config;
    int fd;                    /* our end, until gatehouse-media has it; else -1 */
    struct ready_watch *watch; /* as long as we have it */
    pid_t pid;
    struct child *child; /* gatehouse-media, while it runs */
    struct errand_refusal refusal;
    int64_t again_ms; /* not started before; 0: it was not tried */
};

static void drop_socket(struct medialink *link)
{
    ready_watch_free(steal_ptr(&link->watch));
    cleanup_fd_(&link->fd);
    link->fd = -1;
}

static void on_exit_of_it(void *data, struct child_exit exit)
{
    struct medialink *link = data;

    (void)exit;
    child_free(steal_ptr(&link->child));
}

static int start(struct medialink *link, struct err *err)
{
    static const char *const argv[] = {"gatehouse-media", "--job", "serve", NULL};
    const int sockets[] = {link->fd, -1};
    int r = companion_start_with(argv[0], link->config.libexec, argv, sockets, link->config.log->fd,
                                 &link->pid, err);

    if (r == 0 && child_watch(link->config.loop, link->pid, on_exit_of_it, link, &link->child) < 0)
        leftovers_add(link->config.leftovers, link->pid, false);
    return r;
}

static bool may_start(const struct medialink *link)
{
    return errand_refusal_is_between(&link->refusal) &&
           (link->again_ms == 0 || loop_now_ms(link->config.loop) >= link->again_ms);
}

/* Or the toolhost has ended. */
static void on_ready(void *data)
{
    struct medialink *link = data;
    struct err err = ERR_INIT;
    char byte;
    ssize_t n = recv(link->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0 && may_start(link)) {
        if (start(link, &err) == 0) {
            drop_socket(link);
            return;
        }
        log_error(link->config.log, "images and documents cannot be made smaller", &err);
        link->again_ms = loop_now_ms(link->config.loop) + MEDIALINK_AGAIN_MS;
    }
    if (n <= 0 || errand_refuse(link->fd, &link->refusal) < 0)
        drop_socket(link);
}

int medialink_new(const struct medialink_config *config, struct medialink **out_link, int *out_fd)
{
    struct medialink *link = calloc(1, sizeof(*link));
    cleanup_fd int theirs = -1;
    int ends[2];
    int r;

    if (link == NULL)
        return ERR_NO_MEMORY;
    link->config = *config;
    link->fd = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        r = err_from_errno(errno);
        free(link);
        return r;
    }
    link->fd = ends[0];
    theirs = ends[1];
    r = ready_watch_new(config->loop, link->fd, on_ready, link, &link->watch);
    if (r < 0) {
        medialink_free(link);
        return r;
    }
    *out_link = link;
    *out_fd = steal_fd(&theirs);
    return 0;
}

void medialink_free(struct medialink *link)
{
    if (link == NULL)
        return;
    drop_socket(link);
    if (link->child != NULL) {
        child_free(link->child);
        leftovers_add(link->config.leftovers, link->pid, false);
    }
    free(link);
}
