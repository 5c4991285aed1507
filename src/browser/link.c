/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to the browser: a pipe, a WebSocket or the relay. */
#include "browser/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "browser/jsonf.h"
#include "browser/relay.h"
#include "browser/socket.h"

enum {
    OUTLET_PARTS = 8, /* in one piece; more follow */
    PARAMS_BYTES = 64 << 20,
};

/* ---- bytes out ---- */

static void write_some(struct outlet *outlet, struct str *bytes)
{
    while (bytes->len > 0) {
        ssize_t sent = write(outlet->fd, bytes->ptr, bytes->len);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0) {
            outlet->is_broken = errno != EAGAIN;
            return;
        }
        *bytes = str_slice(*bytes, (size_t)sent, bytes->len);
    }
}

/* In one piece, so that the reader wakes once; returns how much of it went. */
static size_t write_parts(struct outlet *outlet, const struct str *parts, size_t count)
{
    struct iovec pieces[OUTLET_PARTS];
    ssize_t sent;

    if (count > OUTLET_PARTS)
        count = OUTLET_PARTS;
    for (size_t i = 0; i < count; i++)
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): writev() only reads, but does not say so */
        pieces[i] = (struct iovec){(void *)(uintptr_t)parts[i].ptr, parts[i].len};
    do
        sent = writev(outlet->fd, pieces, (int)count);
    while (sent < 0 && errno == EINTR);
    if (sent < 0)
        outlet->is_broken = errno != EAGAIN;
    return sent > 0 ? (size_t)sent : 0;
}

int outlet_send(struct outlet *outlet, const struct str *parts, size_t count)
{
    size_t sent =
        outlet->bytes.len == 0 && !outlet->is_held ? write_parts(outlet, parts, count) : 0;
    int r = 0;

    if (outlet->is_broken)
        return ERR_CONNECTION_LOST;
    for (size_t i = 0; i < count && r == 0; i++) {
        size_t gone = sent < parts[i].len ? sent : parts[i].len;

        sent -= gone;
        r = buf_append_str(&outlet->bytes, str_slice(parts[i], gone, parts[i].len));
    }
    return r;
}

void outlet_flush(struct outlet *outlet)
{
    struct str rest = buf_view(&outlet->bytes);
    size_t before = rest.len;

    write_some(outlet, &rest);
    buf_drop_front(&outlet->bytes, before - rest.len);
    if (outlet->bytes.len == 0)
        buf_done(&outlet->bytes);
}

/* ---- the connection ---- */

static int send_parts(void *data, const struct str *parts, size_t count)
{
    struct host *host = data;
    int r = outlet_send(&host->link->out, parts, count);

    if (host->link->out.bytes.len > 0 && !host->link->out.is_held)
        host_wake(host);
    return r;
}

static int link_send(void *data, struct str message)
{
    struct host *host = data;
    const struct str parts[] = {message, {"", 1}};

    if (host->link == NULL)
        return ERR_CONNECTION_LOST;
    if (host->link->is_relayed)
        return relay_send(host, message);
    return host->link->socket != NULL ? browser_socket_send(host->link->socket, message)
                                      : send_parts(host, parts, array_size(parts));
}

void call_hold(struct browser_task *call)
{
    call->link->out.is_held = true;
}

void call_release(struct browser_task *call)
{
    struct outlet *out = &call->link->out;

    out->is_held = false;
    if (out->fd >= 0)
        outlet_flush(out);
    if (out->bytes.len > 0)
        host_wake(call->host);
}

void link_unref(struct link *link)
{
    if (link == NULL || --link->refs > 0)
        return;
    cdp_free(link->cdp);
    browser_socket_free(link->socket);
    if (link->in >= 0)
        close(link->in);
    if (link->out.fd >= 0)
        close(link->out.fd);
    buf_done(&link->out.bytes);
    free(link);
}

int host_open_link(struct host *host, int to_browser, int from_browser, struct err *err)
{
    const struct cdp_config config = {.monitor = &host->monitor,
                                      .send = link_send,
                                      .on_event = host_on_event,
                                      .on_answer = host_on_answer,
                                      .data = host};
    struct link *link = calloc(1, sizeof(*link));
    int r = link != NULL ? cdp_new(&config, &link->cdp) : ERR_NO_MEMORY;

    if (r < 0) {
        free(link);
        return err_set_plain(err, r);
    }
    link->refs = 1;
    link->in = from_browser;
    link->out.fd = to_browser;
    buf_init(&link->out.bytes, OUTLET_MAX_BYTES);
    (void)fcntl(to_browser, F_SETFL, O_NONBLOCK);
    (void)fcntl(from_browser, F_SETFL, O_NONBLOCK);
    host->link = link;
    host_wake(host);
    return 0;
}

int host_open_relayed(struct host *host, struct err *err)
{
    int r = host_open_link(host, -1, -1, err);

    if (r < 0)
        return r;
    host->link->is_local = true;
    host->link->is_relayed = true;
    relay_begin(host);
    return 0;
}

static int take_text(void *data, struct str text)
{
    const struct host *host = data;

    return cdp_take(host->link->cdp, text);
}

int host_open_socket(struct host *host, int fd, uint16_t port, const char *path, struct err *err)
{
    const struct browser_socket_config config = {.max_message_bytes = CDP_MAX_MESSAGE,
                                                 .send = send_parts,
                                                 .on_message = take_text,
                                                 .data = host};
    int other = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    int r = other >= 0 ? host_open_link(host, fd, other, err) : err_set_plain(err, ERR_BUSY);

    if (r < 0) {
        close(fd);
        if (other >= 0)
            close(other);
        return r;
    }
    host->link->is_local = true;
    r = browser_socket_dial(&config, port, path, &host->link->socket);
    if (r < 0) {
        host_close_link(host);
        return err_set_plain(err, r);
    }
    return 0;
}

void host_close_link(struct host *host)
{
    struct link *link = host->link;

    if (link == NULL)
        return;
    host->link = NULL;
    link->is_closed = true;
    cdp_end(link->cdp);
    if (link->in != -1)
        close(link->in);
    link->in = -1;
    if (link->out.fd != -1)
        close(link->out.fd);
    link->out.fd = -1;
    pages_clear(host);
    host_end_downloads(host);
    link_unref(link);
    host_wake(host);
}

void host_lose_link(struct host *host)
{
    host_close_link(host);
    host->was_lost = true;
    host->has_news = true;
}

static int receive(struct link *link, struct str bytes)
{
    int r;

    if (link->socket == NULL)
        return cdp_receive(link->cdp, bytes);
    r = browser_socket_receive(link->socket, bytes);
    return r == 0 && browser_socket_is_over(link->socket) ? ERR_CONNECTION_LOST : r;
}

void host_read_link(struct host *host, char *room, size_t size)
{
    struct link *link = host->link;
    ssize_t got = read(link->in, room, size);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0 || receive(link, (struct str){room, (size_t)got}) < 0)
        host_lose_link(host);
}

/* ---- commands that nobody waits for ---- */

static int begin_command(struct host *host, struct str session, const char *method,
                         const char *pattern, va_list values, struct cdp_command **out_command)
{
    cleanup_buf struct buf params = BUF_INIT(PARAMS_BYTES);
    int r = jsonf_list(&params, pattern, values);

    return r < 0
               ? r
               : cdp_begin(host->link->cdp, session, method, buf_view(&params), out_command, NULL);
}

void tell_browser(struct host *host, struct str session, const char *method, const char *pattern,
                  ...)
{
    struct cdp_command *command;
    va_list values;
    int r;

    if (host->link == NULL)
        return;
    va_start(values, pattern);
    r = begin_command(host, session, method, pattern, values, &command);
    va_end(values);
    if (r == 0)
        cdp_forget(host->link->cdp, command);
}

void need_of_browser(struct host *host, struct str session, const char *method, const char *pattern,
                     ...)
{
    struct cdp_command *command;
    va_list values;
    int r;

    if (host->link == NULL)
        return;
    va_start(values, pattern);
    r = begin_command(host, session, method, pattern, values, &command);
    va_end(values);
    if (r == 0)
        cdp_watch(host->link->cdp, command);
    else
        host_on_answer(host, session, method, err_text(r));
}
