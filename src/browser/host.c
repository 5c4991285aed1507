/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "browser/internal.h"
#include "browser/relay.h"

enum { READ_BYTES = 256 << 10 };

/* ---- the front end ---- */

/* The reading thread also writes what did not go at once. */
void host_wake(struct host *host)
{
    ssize_t ignored = write(host->wake[1], "", 1);

    (void)ignored; /* full is as good */
}

int host_send(struct host *host, struct str message)
{
    char length[BROWSER_LENGTH_BYTES];
    const struct str parts[] = {{length, sizeof(length)}, message};
    int r;

    browser_wire_length(message.len, length);
    r = outlet_send(&host->front, parts, array_size(parts));
    if (host->front.bytes.len > 0)
        host_wake(host);
    return r;
}

/* ---- the reading thread ---- */

static int take_front(struct host *host, char *room)
{
    ssize_t got = read(host->config.front_fd, room, READ_BYTES);
    struct str message;
    int r;

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got <= 0)
        return ERR_CONNECTION_LOST;
    r = browser_wire_feed(&host->wire, (struct str){room, (size_t)got});
    while (r == 0) {
        r = browser_wire_next(&host->wire, &message);
        if (r < 0 || message.len == 0)
            break;
        r = host_take_message(host, message);
    }
    return r;
}

static void drain_wake(const struct host *host)
{
    char bytes[64];

    while (read(host->wake[0], bytes, sizeof(bytes)) > 0)
        ;
}

/* One round, of `ms` at most; what is to be watched is found out anew each time. */
static int look(struct host *host, char *room, int64_t ms)
{
    enum { FRONT, WAKE, IN, OUT, RELAY, COUNT = RELAY + RELAY_FDS };
    struct pollfd fds[COUNT] = {
        [FRONT] = {.fd = host->config.front_fd, .events = POLLIN},
        [WAKE] = {.fd = host->wake[0], .events = POLLIN},
        [IN] = {.fd = -1, .events = POLLIN},
        [OUT] = {.fd = -1, .events = POLLOUT},
    };
    struct link *link = host->link;
    int timeout_ms = relay_watch(host, &fds[RELAY]);
    int r = 0;

    if (ms >= 0 && (timeout_ms < 0 || ms < timeout_ms))
        timeout_ms = (int)(ms < INT_MAX ? ms : INT_MAX);
    if (host->front.bytes.len > 0)
        fds[FRONT].events |= POLLOUT;
    if (link != NULL) {
        fds[IN].fd = link->in;
        if (link->out.bytes.len > 0)
            fds[OUT].fd = link->out.fd;
    }
    monitor_leave(&host->monitor);
    (void)poll(fds, COUNT, timeout_ms);
    monitor_enter(&host->monitor);
    if (fds[WAKE].revents != 0)
        drain_wake(host);
    if ((fds[FRONT].revents & POLLOUT) != 0)
        outlet_flush(&host->front);
    if ((fds[FRONT].revents & (POLLIN | POLLHUP | POLLERR)) != 0)
        r = take_front(host, room);
    if (link != NULL && link == host->link && fds[OUT].revents != 0)
        outlet_flush(&link->out);
    if (link != NULL && link == host->link && fds[IN].revents != 0)
        host_read_link(host, room, READ_BYTES);
    if (!relay_look(host, &fds[RELAY], room, READ_BYTES) && host->link != NULL &&
        host->link->is_relayed)
        host_lose_link(host);
    host_tell_pages(host);
    return r;
}

static char read_room[READ_BYTES];

/* For a call that runs on the reading thread. */
static bool read_meanwhile(void *data, int64_t ms)
{
    struct host *host = data;

    if (!host->is_gone && look(host, read_room, ms) < 0) {
        host->is_gone = true;
        host->own->is_cancelled = true;
    }
    return !host->is_gone;
}

static void end_calls(struct host *host)
{
    int64_t deadline_ms = monitor_now_ms() + 2000;

    host->is_over = true;
    host_close_link(host);
    relay_close(host);
    list_each (node, &host->calls)
        list_entry(node, struct browser_task, node)->is_cancelled = true;
    monitor_tell(&host->monitor);
    monitor_want_all(&host->monitor);
    host_run_own(host);
    while (host->thread_count > 0 && monitor_wait(&host->monitor, deadline_ms))
        ;
}

static void free_host(struct host *host)
{
    host_drop_checks(host);
    host_free_downloads(host);
    buf_done(&host->front.bytes);
    browser_wire_done(&host->wire);
    close(host->wake[0]);
    close(host->wake[1]);
    monitor_done(&host->monitor);
    free(host);
}

int browser_host_serve(const struct browser_host_config *config, struct err *err)
{
    bool is_alone;
    struct host *host = calloc(1, sizeof(*host));
    int r = host != NULL ? monitor_init(&host->monitor) : ERR_NO_MEMORY;

    if (r < 0) {
        free(host);
        return err_set_plain(err, r);
    }
    host->config = *config;
    host->front.fd = config->front_fd;
    buf_init(&host->front.bytes, OUTLET_MAX_BYTES);
    host->wire = (struct browser_wire)BROWSER_WIRE_INIT;
    list_init(&host->pages);
    list_init(&host->calls);
    list_init(&host->checks);
    if (pipe2(host->wake, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_set(err, err_from_errno(errno), "cannot create a pipe");
    (void)fcntl(config->front_fd, F_SETFL, O_NONBLOCK);
    monitor_enter(&host->monitor);
    monitor_set_reader(&host->monitor, read_meanwhile, host);
    while (!host->is_gone && look(host, read_room, -1) == 0)
        host_run_own(host);
    host->monitor.has_reader = false;
    end_calls(host);
    is_alone = host->thread_count == 0;
    monitor_leave(&host->monitor);
    /* What a thread that hangs may still use stays: the process ends now. */
    if (is_alone)
        free_host(host);
    return 0;
}
