/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/client.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "isolate/companion.h"

enum { REPLY_MS = 30000, START_MS = 20000, END_MS = 2000, PART_MS = 5000 };

struct screen_client {
    pthread_mutex_t mutex;
    int fd;
    bool is_broken; /* where a reply begins is not known any more */
    unsigned late;  /* replies that nobody waits for any more */
};

static int read_part(int fd, struct buf *out, size_t len, int64_t deadline_ms)
{
    int r = buf_reserve(out, len);

    if (r == 0)
        r = screen_wire_read(fd, out->data + out->len, len, deadline_ms);
    if (r == 0)
        out->len += len;
    return r;
}

/* Not a byte is read if the time is over before. */
static int wait_for_reply(int fd, int64_t deadline_ms)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int64_t left_ms;

    do {
        left_ms = deadline_ms - clock_monotonic_ms(&clock_system);
        if (poll(&ready, 1, left_ms > 0 ? (int)left_ms : 0) > 0)
            return 0;
    } while (left_ms > 0);
    return ERR_BUSY;
}

static int read_reply(int fd, struct screen_reply *out_reply, struct buf *out_text,
                      struct buf *out_image, int64_t deadline_ms)
{
    int r = screen_wire_read(fd, out_reply, sizeof(*out_reply), deadline_ms);

    if (r == 0 &&
        (out_reply->text_len > SCREEN_MAX_REPLY || out_reply->image_len > SCREEN_MAX_IMAGE))
        r = ERR_TOO_LARGE;
    if (r == 0 && out_reply->text_len > 0)
        r = read_part(fd, out_text, out_reply->text_len, deadline_ms);
    if (r == 0 && out_reply->image_len > 0)
        r = read_part(fd, out_image, out_reply->image_len, deadline_ms);
    return r;
}

/* Of requests that took too long: the display did not answer, and does again. */
static int drop_late(struct screen_client *client, int64_t deadline_ms)
{
    int r = 0;

    while (client->late > 0 && r == 0) {
        cleanup_buf struct buf text = BUF_INIT(SCREEN_MAX_REPLY);
        cleanup_buf struct buf image = BUF_INIT(SCREEN_MAX_IMAGE);
        struct screen_reply reply;

        r = wait_for_reply(client->fd, deadline_ms);
        if (r == 0)
            r = read_reply(client->fd, &reply, &text, &image, deadline_ms + PART_MS);
        client->late -= r == 0;
    }
    return r;
}

/* ERR_BUSY: the display does not answer in time, but may do so later. */
static int ask(struct screen_client *client, const struct screen_request *request, struct str text,
               int64_t deadline_ms, struct screen_reply *out_reply, struct buf *out_text,
               struct buf *out_image)
{
    int r = drop_late(client, deadline_ms);

    if (r == 0)
        r = screen_wire_write(client->fd, request, sizeof(*request), deadline_ms);
    if (r == 0)
        r = screen_wire_write(client->fd, text.ptr, text.len, deadline_ms);
    if (r < 0)
        return r;
    r = wait_for_reply(client->fd, deadline_ms);
    client->late += r < 0;
    return r == 0 ? read_reply(client->fd, out_reply, out_text, out_image, deadline_ms + PART_MS)
                  : r;
}

static int ask_within(struct screen_client *client, struct screen_request *request, struct str text,
                      int64_t ms, struct screen_reply *out_reply, struct buf *out_text,
                      struct buf *out_image, struct err *err)
{
    int64_t deadline_ms = clock_monotonic_ms(&clock_system) + ms;
    int r = ERR_CONNECTION_LOST;

    *out_reply = (struct screen_reply){0};
    request->text_len = (uint32_t)text.len;
    if (request->button == 0)
        request->button = 1;
    pthread_mutex_lock(&client->mutex);
    if (!client->is_broken)
        r = ask(client, request, text, deadline_ms, out_reply, out_text, out_image);
    if (r < 0 && r != ERR_BUSY)
        client->is_broken = true;
    pthread_mutex_unlock(&client->mutex);
    if (r == ERR_BUSY)
        return err_set(err, ERR_TIMED_OUT,
                       "the display does not answer: another program may hold it. What was asked "
                       "for may still be done");
    if (r < 0)
        return err_set(err, r, "gatehouse-screen does not answer: restart Gatehouse");
    if (out_reply->error < 0)
        return err_set(err, out_reply->error, "%.*s", STR_ARG(buf_view(out_text)));
    return 0;
}

int screen_client_ask(struct screen_client *client, struct screen_request *request, struct str text,
                      struct screen_reply *out_reply, struct buf *out_text, struct buf *out_image,
                      struct err *err)
{
    return ask_within(client, request, text, REPLY_MS, out_reply, out_text, out_image, err);
}

int screen_client_start(const char *libexec, int error_fd, struct screen_client **out_client,
                        struct err *err)
{
    static const char *const argv[] = {"gatehouse-screen", NULL};
    cleanup_buf struct buf text = BUF_INIT(SCREEN_MAX_REPLY);
    cleanup_buf struct buf image = BUF_INIT(SCREEN_MAX_IMAGE);
    struct screen_request request = {.action = SCREEN_START};
    struct screen_reply reply = {0};
    struct companion companion;
    struct screen_client *client = calloc(1, sizeof(*client));
    int r;

    if (client == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    client->fd = -1;
    pthread_mutex_init(&client->mutex, NULL);
    r = companion_start("gatehouse-screen", libexec, argv, error_fd, &companion, err);
    if (r == 0) {
        client->fd = companion.fd;
        r = ask_within(client, &request, STR_EMPTY, START_MS, &reply, &text, &image, err);
    }
    if (r < 0) {
        screen_client_free(client);
        return r;
    }
    *out_client = client;
    return 0;
}

/* It releases what is pressed, and closes its end of the socket when it is gone. */
static void wait_for_end(int fd)
{
    int64_t deadline_ms = clock_monotonic_ms(&clock_system) + END_MS;
    char rest[4096];

    shutdown(fd, SHUT_WR);
    while (screen_wire_read(fd, rest, sizeof(rest), deadline_ms) == 0)
        ;
    close(fd);
}

void screen_client_free(struct screen_client *client)
{
    if (client == NULL)
        return;
    if (client->fd >= 0)
        wait_for_end(client->fd);
    pthread_mutex_destroy(&client->mutex);
    free(client);
}
