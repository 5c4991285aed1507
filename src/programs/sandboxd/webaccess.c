/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/webaccess.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "isolate/reviver.h"
#include "isolate/webproxy.h"
#include "loop/timer.h"

struct webaccess {
    struct loop *loop;
    int starter;                       /* starts proxies */
    struct ready_watch *starter_watch; /* NULL: it was killed */
    struct timer asked;                /* for one, and the answer may still come */
    int proxy;                         /* or -1 */
    struct timer again;
    struct list grants;
};

enum {
    AGAIN_MS = 10,
    MAX_TRIES = 5,
    ASK_AGAIN_MS = 10 * 1000, /* a starter that was killed meanwhile has forgotten it */
    RETRY_MS = 10 * 1000,     /* for sandboxes that run */
    PATIENCE_MS = 60 * 1000,  /* with a proxy that hangs; so may the disk that it is started from */
};

/* ---- the starter ---- */

struct starter {
    const char *libexec;
};

/* Of reviver_fork(). */
static int start_proxy(void *data, uint32_t which, struct err *err)
{
    static const char *const no_hosts[] = {NULL}; /* each sandbox brings its own */
    struct webproxy proxy = WEBPROXY_INIT;
    int r = webproxy_start(&proxy, ((const struct starter *)data)->libexec, no_hosts, err);

    (void)which;
    return r < 0 ? r : proxy.fd;
}

int webaccess_fork(const char *libexec, int *out_fd, struct err *err)
{
    struct starter starter = {.libexec = libexec};

    return reviver_fork(start_proxy, &starter, out_fd, err);
}

/* ---- one sandbox ---- */

static void tell(struct webgrant *grant, const struct err *err)
{
    void (*done)(void *, const struct err *) = grant->done;

    grant->done = NULL;
    timer_stop(&grant->patience);
    if (err != NULL)
        webgrant_close(grant);
    if (done != NULL)
        done(grant->data, err);
}

/* Later, for the sandboxes that run: what they wait for may be possible then. */
static void retry(struct webaccess *access)
{
    if (access->starter_watch != NULL && !access->again.is_started)
        timer_start(&access->again, RETRY_MS);
}

static void fail(struct webgrant *grant, int code, const char *words)
{
    struct err err = ERR_INIT;

    if (grant->done == NULL) {
        retry(grant->access);
        return;
    }
    err_set(&err, code, "the sandbox cannot be connected with the web: %s", words);
    tell(grant, &err);
}

static void on_patience_end(void *data)
{
    fail(data, ERR_BUSY, "its web proxy does not answer; try again later");
}

static void forget_proxys_end(struct webgrant *grant)
{
    ready_watch_free(grant->watch);
    grant->watch = NULL;
    if (grant->life >= 0)
        close(steal_fd(&grant->life));
}

/* The proxy has taken the sandbox; or it has refused it, or has died. */
static void on_life(void *data)
{
    struct webgrant *grant = data;
    struct webaccess *access = grant->access;
    char byte;
    ssize_t got = recv(grant->life, &byte, 1, MSG_DONTWAIT);

    if (got > 0) {
        grant->tries = 0;
        tell(grant, NULL);
        return;
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    forget_proxys_end(grant);
    /* A proxy that is killed may still seem to be there for a moment. */
    if (grant->tries++ < MAX_TRIES)
        timer_start(&access->again, AGAIN_MS);
    else
        fail(grant, ERR_BUSY, "its web proxy has too many; try again later");
}

/* 0 or an errno value. */
static int hand_over(const struct webaccess *access, struct webgrant *grant)
{
    int ends[2];
    int r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return errno;
    grant->life = ends[0];
    r = ready_watch_new(access->loop, grant->life, on_life, grant, &grant->watch) == 0
            ? webproxy_hand_over(access->proxy, grant->hosts, grant->owner, grant->listener,
                                 ends[1])
            : ENOMEM;
    close(ends[1]);
    if (r != 0)
        forget_proxys_end(grant);
    return r;
}

static struct webgrant *find_waiting(const struct webaccess *access, bool is_new)
{
    list_each (node, &access->grants) {
        struct webgrant *grant = list_entry(node, struct webgrant, node);

        if (grant->listener >= 0 && grant->life < 0 && (!is_new || grant->done != NULL))
            return grant;
    }
    return NULL;
}

static void fail_waiting(struct webaccess *access, int code, const char *words)
{
    struct webgrant *grant;

    while ((grant = find_waiting(access, true)) != NULL)
        fail(grant, code, words);
    if (find_waiting(access, false) != NULL)
        retry(access);
}

/* Gives them to the proxy, or asks for one. */
static void serve_waiting(struct webaccess *access)
{
    struct webgrant *grant;

    while ((grant = find_waiting(access, false)) != NULL) {
        const bool is_new = grant->done != NULL;
        int r = access->proxy < 0 ? EPIPE : hand_over(access, grant);

        if (r == EAGAIN) { /* it has not taken the others yet */
            timer_start(&access->again, AGAIN_MS);
            return;
        }
        if (r == EPIPE || r == ECONNRESET) {
            if (access->proxy >= 0)
                close(steal_fd(&access->proxy));
            if (access->asked.is_started)
                return;
            if (reviver_ask(access->starter, 0) < 0)
                fail_waiting(access, ERR_CONNECTION_LOST, "restart the service");
            else
                timer_start(&access->asked, ASK_AGAIN_MS);
            return;
        }
        if (r != 0)
            fail(grant, err_from_errno(r), err_errno_text(r));
        if (r != 0 && !is_new)
            return;
    }
}

/* Of both timers. */
static void on_again(void *data)
{
    serve_waiting(data);
}

/* From the starter. */
static void on_started(void *data)
{
    struct webaccess *access = data;
    uint32_t which;
    char byte;
    int fd;

    while (reviver_take(access->starter, &which, &fd)) {
        timer_stop(&access->asked);
        if (access->proxy < 0) {
            access->proxy = fd;
            if (fd < 0)
                fail_waiting(access, ERR_UNSUPPORTED, "gatehouse-webproxy could not be started");
            else
                serve_waiting(access);
        } else if (fd >= 0) { /* it was asked twice */
            close(fd);
        }
    }
    if (recv(access->starter, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0) { /* it was killed */
        ready_watch_free(access->starter_watch);
        access->starter_watch = NULL;
        timer_stop(&access->asked);
        fail_waiting(access, ERR_CONNECTION_LOST, "restart the service");
    }
}

static void on_listening(void *data, const struct err *err, int fd)
{
    struct webgrant *grant = data;

    if (grant->access == NULL) { /* closed meanwhile */
        if (fd >= 0)
            close(fd);
        return;
    }
    if (err != NULL) {
        tell(grant, err);
        return;
    }
    grant->listener = fd;
    timer_start(&grant->patience, PATIENCE_MS);
    serve_waiting(grant->access);
}

int webgrant_open(struct webgrant *grant, struct webaccess *access, struct room *room,
                  const struct domainlist *hosts, const char *owner,
                  void (*done)(void *data, const struct err *err), void *data)
{
    int r;

    *grant = (struct webgrant){.access = access,
                               .hosts = hosts,
                               .owner = owner,
                               .listener = -1,
                               .life = -1,
                               .done = done,
                               .data = data};
    timer_init(&grant->patience, access->loop, on_patience_end, grant);
    r = room_listen(room, WEBPROXY_PORT, on_listening, grant);
    if (r < 0)
        grant->access = NULL;
    else
        list_append(&access->grants, &grant->node);
    return r;
}

bool webgrant_is_awaited(const struct webgrant *grant)
{
    return grant->access != NULL && grant->done != NULL;
}

void webgrant_close(struct webgrant *grant)
{
    if (grant->access == NULL)
        return;
    list_remove(&grant->node);
    timer_stop(&grant->patience);
    forget_proxys_end(grant);
    if (grant->listener >= 0)
        close(steal_fd(&grant->listener));
    grant->access = NULL;
    grant->done = NULL;
}

/* ---- all of them ---- */

int webaccess_new(struct loop *loop, int fd, struct webaccess **out_access)
{
    struct webaccess *access = calloc(1, sizeof(*access));
    int r = access != NULL ? ready_watch_new(loop, fd, on_started, access, &access->starter_watch)
                           : ERR_NO_MEMORY;

    if (r < 0) {
        free(access);
        return r;
    }
    access->loop = loop;
    access->starter = fd;
    access->proxy = -1;
    list_init(&access->grants);
    timer_init(&access->again, loop, on_again, access);
    timer_init(&access->asked, loop, on_again, access);
    *out_access = access;
    return 0;
}

void webaccess_free(struct webaccess *access)
{
    timer_stop(&access->again);
    timer_stop(&access->asked);
    ready_watch_free(access->starter_watch);
    if (access->proxy >= 0)
        close(access->proxy);
    close(access->starter);
    free(access);
}
