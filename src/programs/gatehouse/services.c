/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/gatehouse/services.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/jsonwrite.h"
#include "base/printable.h"
#include "cli/servicefile.h"

enum {
    WAIT_MS = 1000, /* for all of an answer */
    READ_BYTES = 4096,
    ANSWER_BYTES = 64 << 10,
    REQUEST_BYTES = 512,
    HOST_BYTES = 64,
};

/* ---- how many sandboxes there are ---- */

struct counts {
    int64_t running; /* -1: they are not known */
    int64_t stopped;
};

/* "127.0.0.1:7656", "[::1]:7656": as a service writes where it listens. */
static bool read_address(struct str text, struct sockaddr_storage *out, socklen_t *out_len)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    char host[HOST_BYTES];
    int64_t port;
    size_t colon = text.len;

    while (colon > 0 && text.ptr[colon - 1] != ':')
        colon--;
    if (colon == 0 || !str_to_int64(str_slice(text, colon, text.len), &port) || port < 1 ||
        port > UINT16_MAX)
        return false;
    text = str_slice(text, 0, colon - 1);
    if (str_starts_with(text, STR("[")) && str_ends_with(text, STR("]")))
        text = str_slice(text, 1, text.len - 1);
    if (snprintf(host, sizeof(host), "%.*s", STR_ARG(text)) >= (int)sizeof(host))
        return false;
    v4.sin_port = v6.sin6_port = htons((uint16_t)port);
    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
        memcpy(out, &v4, sizeof(v4));
        *out_len = sizeof(v4);
        return true;
    }
    memcpy(out, &v6, sizeof(v6));
    *out_len = sizeof(v6);
    return inet_pton(AF_INET6, host, &((struct sockaddr_in6 *)out)->sin6_addr) == 1;
}

/* False: not in time. */
static bool wait_for(int fd, short events, int64_t end_ms)
{
    struct pollfd wanted = {.fd = fd, .events = events};
    int64_t left_ms = end_ms - clock_monotonic_ms(&clock_system);

    return left_ms > 0 && poll(&wanted, 1, (int)left_ms) == 1;
}

static bool send_request(int fd, struct str host, int64_t end_ms)
{
    char request[REQUEST_BYTES];
    int len =
        snprintf(request, sizeof(request),
                 "GET /metrics HTTP/1.1\r\nHost: %.*s\r\nConnection: close\r\n\r\n", STR_ARG(host));
    int error = 0;
    socklen_t size = sizeof(error);

    return len < (int)sizeof(request) && wait_for(fd, POLLOUT, end_ms) &&
           getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0 &&
           send(fd, request, (size_t)len, MSG_NOSIGNAL) == len;
}

/* Up to its end, or to the limit: what is wanted comes first. */
static bool read_answer(int fd, struct buf *out, int64_t end_ms)
{
    while (out->len < ANSWER_BYTES - READ_BYTES && buf_reserve(out, READ_BYTES) == 0) {
        ssize_t got;

        if (!wait_for(fd, POLLIN, end_ms))
            return false;
        got = recv(fd, out->data + out->len, READ_BYTES, 0);
        if (got <= 0)
            return got == 0;
        out->len += (size_t)got;
    }
    return true;
}

static bool read_number(struct str text, struct str name, int64_t *out_number)
{
    size_t at = str_find(text, name);
    struct str number;

    if (at == SIZE_MAX)
        return false;
    text = str_slice(text, at + name.len, text.len);
    return str_cut(&text, '\n', &number) && str_to_int64(number, out_number);
}

/* What everybody may ask; nothing of the service's file is sent. Not over TLS. */
static void ask(const char *url, struct counts *out_counts)
{
    cleanup_buf struct buf answer = BUF_INIT(ANSWER_BYTES);
    int64_t end_ms = clock_monotonic_ms(&clock_system) + WAIT_MS;
    struct sockaddr_storage address = {0};
    struct counts counts;
    struct str host = str_from(url);
    cleanup_fd int fd = -1;
    socklen_t len;

    if (!str_starts_with(host, STR("http://")))
        return;
    host = str_slice(host, strlen("http://"), host.len);
    if (!read_address(host, &address, &len))
        return;
    fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || (connect(fd, (const struct sockaddr *)&address, len) < 0 && errno != EINPROGRESS))
        return;
    if (!send_request(fd, host, end_ms) || !read_answer(fd, &answer, end_ms))
        return;
    if (read_number(buf_view(&answer), STR("\ngatehouse_sandboxes{status=\"running\"} "),
                    &counts.running) &&
        read_number(buf_view(&answer), STR("\ngatehouse_sandboxes{status=\"stopped\"} "),
                    &counts.stopped))
        *out_counts = counts;
}

/* ---- telling ---- */

/* A sandbox service that another command has started has no terminal. */
static int tell_stop(const struct servicefile_service *service, bool has_terminal, struct buf *out)
{
    if (service->pid == 0)
        return has_terminal ? buf_append_str(out, STR("Ctrl-C in its terminal stops it.\n")) : 0;
    return buf_printf(out, "%s'kill %d'%s.\n",
                      has_terminal ? "Ctrl-C in its terminal stops it, and so does " : "",
                      (int)service->pid, has_terminal ? "" : " stops it");
}

static int tell_person(const char *title, const struct servicefile_service *service,
                       const struct counts *counts, struct buf *out)
{
    int r = out->len > 0 ? buf_append_char(out, '\n') : 0;

    if (r == 0)
        r = buf_printf(out, "%s is running at ", title);
    if (r == 0)
        r = printable_append(out, str_from(service->url), PRINTABLE_LINE);
    if (r == 0)
        r = buf_append_str(out, STR(".\n"));
    if (r == 0 && counts != NULL && counts->running >= 0)
        r = buf_printf(out, "Sandboxes: %" PRId64 ", of which %" PRId64 " are running\n",
                       counts->running + counts->stopped, counts->running);
    else if (r == 0 && counts != NULL)
        r = buf_append_str(out, STR("How many sandboxes it has is not known.\n"));
    return r == 0 ? tell_stop(service, counts == NULL, out) : r;
}

static void put_number(struct json_writer *writer, struct str name, int64_t number, bool is_known)
{
    json_key(writer, name);
    if (is_known)
        json_write_int(writer, number);
    else
        json_write_null(writer);
}

static int tell_program(const char *command, const struct servicefile_service *service,
                        const struct counts *counts, struct buf *out)
{
    struct json_writer writer;
    int r;

    json_writer_init(&writer, out);
    json_begin_object(&writer);
    json_put_str(&writer, STR("command"), str_from(command));
    json_put_str_lossy(&writer, STR("url"), str_from(service->url));
    put_number(&writer, STR("pid"), service->pid, service->pid > 0);
    if (counts != NULL) {
        put_number(&writer, STR("sandboxes"), counts->running + counts->stopped,
                   counts->running >= 0);
        put_number(&writer, STR("running"), counts->running, counts->running >= 0);
    }
    json_end_object(&writer);
    r = json_writer_finish(&writer);
    return r == 0 ? buf_append_char(out, '\n') : r;
}

int services_tell(const char *state_dir, bool as_json, struct buf *out)
{
    static const struct {
        const char *place; /* in the state directory */
        const char *command;
        const char *title;
        bool has_sandboxes;
    } rows[] = {
        {"server", "serve", "'gatehouse serve'", false},
        {"sandboxes", "sandbox serve", "A sandbox service", true},
    };
    int r = 0;

    for (size_t i = 0; i < array_size(rows) && r == 0; i++) {
        struct counts counts = {-1, 0};
        struct servicefile_service service;
        char directory[PATH_MAX];

        if (snprintf(directory, sizeof(directory), "%s/%s", state_dir, rows[i].place) >=
                (int)sizeof(directory) ||
            servicefile_find(directory, &service) < 0)
            continue;
        if (rows[i].has_sandboxes)
            ask(service.url, &counts);
        r = as_json
                ? tell_program(rows[i].command, &service, rows[i].has_sandboxes ? &counts : NULL,
                               out)
                : tell_person(rows[i].title, &service, rows[i].has_sandboxes ? &counts : NULL, out);
    }
    return r;
}
