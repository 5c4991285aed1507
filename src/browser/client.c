/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/client.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/list.h"
#include "browser/installed.h"
#include "browser/jsonf.h"
#include "browser/wire.h"
#include "isolate/companion.h"
#include "isolate/reviver.h"
#include "loop/reader.h"
#include "loop/writer.h"

enum { MAX_PAGES = 64, ARENA_BYTES = 1 << 30, MESSAGE_BYTES = 256 << 20 };
enum { END_MS = 8000, START_MS = 5000 };

struct waiting {
    struct list node;
    uint64_t id;
    browser_client_done_fn *done;
    void *data;
};

struct browser_client {
    struct browser_client_config config;
    int fd;
    int write_fd;   /* a copy: the loop watches a descriptor for one thing only */
    int starter_fd; /* of reviver_fork(); or -1 */
    pid_t pid;      /* of what we have started ourselves; or 0 */
    struct browser_client_events events;
    struct loop *loop;
    struct reader *reader;
    struct writer *writer;
    struct loop_task fail;
    struct browser_wire wire;
    struct list calls;
    uint64_t last_id;
    uint64_t run;    /* of the program; counts those that have ended */
    bool is_broken;  /* it has ended */
    bool is_failing; /* its calls are about to be told */
    bool is_untold;  /* there were none: the next one is */
    /* The pages are read by workers, which prepare calls. */
    pthread_mutex_t mutex;
    size_t page_count;
    size_t active;
    struct browser_client_page *pages;
};

/* ---- pages ---- */

static void take_pages(struct browser_client *client, const struct json_value *pages)
{
    const size_t most = pages->type != JSON_ARRAY ? 0
                        : pages->size < MAX_PAGES ? pages->size
                                                  : MAX_PAGES;
    struct browser_client_page *room = calloc(most + 1, sizeof(*room));

    pthread_mutex_lock(&client->mutex);
    client->page_count = 0;
    client->active = SIZE_MAX;
    free(client->pages);
    client->pages = room;
    json_each_item (item, pages) {
        struct browser_client_page *page;
        struct str text = STR_EMPTY;
        bool is_active = false;

        if (room == NULL || client->page_count == most)
            break;
        page = &room[client->page_count];
        (void)json_get_str(item, STR("id"), &text);
        snprintf(page->id, sizeof(page->id), "%.*s", STR_ARG(text));
        text = STR_EMPTY;
        (void)json_get_str(item, STR("url"), &text);
        snprintf(page->url, sizeof(page->url), "%.*s", STR_ARG(text));
        if (json_get_bool(item, STR("active"), &is_active) && is_active)
            client->active = client->page_count;
        page->is_users = false;
        (void)json_get_bool(item, STR("users"), &page->is_users);
        client->page_count++;
    }
    pthread_mutex_unlock(&client->mutex);
}

bool browser_client_page(struct browser_client *client, struct str id,
                         struct browser_client_page *out_page)
{
    bool is_found = false;

    pthread_mutex_lock(&client->mutex);
    for (size_t i = 0; i < client->page_count && !is_found; i++) {
        is_found = id.len > 0 ? str_eq_c(id, client->pages[i].id) : i == client->active;
        if (is_found)
            *out_page = client->pages[i];
    }
    pthread_mutex_unlock(&client->mutex);
    return is_found;
}

/* ---- messages ---- */

static int send_message(struct browser_client *client, struct str message)
{
    char length[BROWSER_LENGTH_BYTES];
    const struct str parts[] = {{length, sizeof(length)}, message};

    if (client->is_broken || client->writer == NULL)
        return ERR_CONNECTION_LOST;
    browser_wire_length(message.len, length);
    return writer_send(client->writer, parts, array_size(parts));
}

static void finish(struct browser_client *client, uint64_t id, const struct json_value *message)
{
    list_each_safe (node, &client->calls) {
        struct waiting *waiting = list_entry(node, struct waiting, node);

        if (waiting->id != id)
            continue;
        list_remove(node);
        waiting->done(waiting->data, message);
        free(waiting);
        return;
    }
}

static void fail_all(void *data)
{
    struct browser_client *client = data;

    client->is_untold = list_is_empty(&client->calls);
    while (!list_is_empty(&client->calls))
        finish(client, list_entry(client->calls.next, struct waiting, node)->id, NULL);
    client->is_failing = false;
}

static void forget_pages(struct browser_client *client)
{
    pthread_mutex_lock(&client->mutex);
    client->page_count = 0;
    client->active = SIZE_MAX;
    pthread_mutex_unlock(&client->mutex);
}

static void break_down(struct browser_client *client)
{
    client->is_broken = true;
    client->is_failing = true;
    client->run++;
    forget_pages(client);
    if (client->reader != NULL)
        reader_pause(client->reader);
    loop_defer(client->loop, &client->fail);
}

void browser_client_give_file(struct browser_client *client, const struct browser_client_want *want,
                              const struct browser_client_file *file)
{
    cleanup_buf struct buf text = BUF_INIT(MESSAGE_BYTES);
    int64_t id = want->check;
    int r;

    if (want->run != client->run)
        return;
    r = file->is_allowed
            ? jsonf(&text, "{\"verdict\":%d,\"allowed\":true,\"type\":%s,\"data\":%s}", id,
                    file->type, file->data)
            : jsonf(&text, "{\"verdict\":%d,\"allowed\":false,\"why\":%s}", id, file->why);

    if (r == 0)
        (void)send_message(client, buf_view(&text));
}

static void answer_check(struct browser_client *client, int64_t id,
                         const struct json_value *message)
{
    cleanup_buf struct buf text = BUF_INIT(256);
    struct str host = STR_EMPTY;
    int64_t port = 0;
    bool is_agreed = false;
    bool is_allowed;
    bool is_named;

    if (json_get_str(message, STR("file"), &host)) {
        client->events.want_file(client->events.data,
                                 &(struct browser_client_want){client->run, id}, host);
        return;
    }
    (void)json_get_str(message, STR("host"), &host);
    (void)json_get_int(message, STR("port"), &port);
    (void)json_get_bool(message, STR("agreed"), &is_agreed);
    is_allowed =
        client->events.may_go(client->events.data, host, (uint16_t)port, is_agreed, &is_named);
    if (jsonf(&text, "{\"verdict\":%d,\"allowed\":%b,\"named\":%b}", id, is_allowed, is_named) == 0)
        (void)send_message(client, buf_view(&text));
}

static int take_message(struct browser_client *client, struct str text)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_limits limits = {BROWSER_MAX_MESSAGE, JSON_LARGEST_MAX_DEPTH};
    const struct json_value *message;
    const struct json_value *pages;
    int64_t id;
    int r = json_parse(&arena, text, limits, &message, NULL);

    if (r < 0)
        return r;
    pages = json_get(message, STR("pages"));
    if (json_get_int(message, STR("done"), &id))
        finish(client, (uint64_t)id, message);
    else if (json_get_int(message, STR("check"), &id))
        answer_check(client, id, message);
    else if (pages != NULL)
        take_pages(client, pages);
    return 0;
}

static void on_bytes(void *data, struct str bytes)
{
    struct browser_client *client = data;
    struct str message;
    int r = browser_wire_feed(&client->wire, bytes);

    while (r == 0) {
        r = browser_wire_next(&client->wire, &message);
        if (r == 0 && message.len == 0)
            return;
        if (r == 0)
            r = take_message(client, message);
    }
    break_down(client);
}

static void on_end(void *data, int error)
{
    (void)error;
    break_down(data);
}

static void on_drained(void *data)
{
    (void)data;
}

/* ---- calls ---- */

static int launch(struct browser_client *client, struct err *err);
static int watch(struct browser_client *client);

static void close_sockets(struct browser_client *client)
{
    reader_free(steal_ptr(&client->reader));
    writer_free(steal_ptr(&client->writer));
    cleanup_fd_(&client->write_fd);
    cleanup_fd_(&client->fd);
    client->fd = client->write_fd = -1;
}

/* What has died is forgotten, so that another one can be started. */
static void forget(struct browser_client *client)
{
    client->run++;
    close_sockets(client);
    if (client->pid > 0)
        (void)waitpid(client->pid, NULL, WNOHANG);
    client->pid = 0;
    browser_wire_done(&client->wire);
    client->wire = (struct browser_wire)BROWSER_WIRE_INIT;
    client->is_broken = false;
}

/* The loop may not have told yet. */
static bool has_hung_up(const struct browser_client *client)
{
    struct pollfd ready = {.fd = client->fd, .events = POLLRDHUP};

    return client->fd >= 0 && list_is_empty(&client->calls) && poll(&ready, 1, 0) > 0;
}

static int begin(struct browser_client *client, bool asks_for_new, struct err *err)
{
    int r;

    if (client->is_untold && !asks_for_new) {
        client->is_failing = true;
        loop_defer(client->loop, &client->fail);
    }
    client->is_untold = false;
    if (client->is_failing)
        return 0; /* this call fails with the others */
    if (client->is_broken || (asks_for_new && has_hung_up(client))) {
        forget_pages(client);
        forget(client);
    }
    if (client->fd >= 0)
        return 0;
    r = launch(client, err);
    if (r == 0)
        r = watch(client);
    if (r < 0) {
        close_sockets(client);
        return err != NULL && err->code == r ? r : err_set_plain(err, r);
    }
    return 0;
}

int browser_client_call(struct browser_client *client, struct str members, bool asks_for_new,
                        browser_client_done_fn *done, void *data, uint64_t *out_id, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(MESSAGE_BYTES);
    struct waiting *waiting = calloc(1, sizeof(*waiting));
    int r = waiting != NULL ? begin(client, asks_for_new, err) : ERR_NO_MEMORY;

    if (r == 0)
        r = jsonf(&text, "{\"call\":%d,%r}", (int64_t)client->last_id + 1, members);
    if (r < 0) {
        free(waiting);
        return r;
    }
    *waiting = (struct waiting){.id = ++client->last_id, .done = done, .data = data};
    list_append(&client->calls, &waiting->node);
    *out_id = waiting->id;
    if (!client->is_failing && send_message(client, buf_view(&text)) < 0)
        break_down(client);
    return 0;
}

void browser_client_cancel(struct browser_client *client, uint64_t id)
{
    cleanup_buf struct buf text = BUF_INIT(64);

    if (jsonf(&text, "{\"cancel\":%d}", (int64_t)id) == 0)
        (void)send_message(client, buf_view(&text));
}

/* ---- making ---- */

static int start_companion(const struct browser_client *client, struct companion *out_companion,
                           struct err *err)
{
    const char *staging = client->config.staging_dir;
    bool has_staging = staging != NULL && staging[0] != '\0';
    const char *argv[8] = {"gatehouse-browser", "--state-dir", client->config.state_dir};
    size_t count = 3;

    if (has_staging) {
        argv[count++] = "--staging-dir";
        argv[count++] = staging;
    }
    if (client->config.is_headless)
        argv[count++] = "--headless";
    return companion_start("gatehouse-browser", client->config.libexec, argv,
                           client->config.error_fd, out_companion, err);
}

/* In the process that can still do so. */
static int start_for_other(void *data, uint32_t which, struct err *err)
{
    struct companion companion;
    int r = start_companion(data, &companion, err);

    (void)which;
    return r < 0 ? r : companion.fd;
}

static int launch(struct browser_client *client, struct err *err)
{
    struct companion companion = {.pid = 0};
    int r = client->starter_fd >= 0
                ? reviver_get(client->starter_fd, 0, START_MS, &companion.fd, err)
                : start_companion(client, &companion, err);

    if (r < 0)
        return r;
    client->fd = companion.fd;
    client->pid = companion.pid;
    client->write_fd = fcntl(companion.fd, F_DUPFD_CLOEXEC, 0);
    return client->write_fd >= 0 ? 0 : err_set_plain(err, ERR_TOO_MANY_FILES);
}

int browser_client_start(const struct browser_client_config *config,
                         struct browser_client **out_client, struct err *err)
{
    struct browser_client *client;
    int r;

    if (browser_installed(STR_EMPTY) == NULL)
        return err_set(err, ERR_UNSUPPORTED,
                       "no browser is installed; install one, for example the package chromium");
    client = calloc(1, sizeof(*client));
    if (client == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    client->config = *config;
    client->fd = -1;
    client->write_fd = -1;
    client->starter_fd = -1;
    client->wire = (struct browser_wire)BROWSER_WIRE_INIT;
    list_init(&client->calls);
    pthread_mutex_init(&client->mutex, NULL);
    r = config->is_confined ? reviver_fork(start_for_other, client, &client->starter_fd, err) : 0;
    if (r < 0) {
        browser_client_free(client);
        return r;
    }
    *out_client = client;
    return 0;
}

static int watch(struct browser_client *client)
{
    const struct reader_events reading = {.on_bytes = on_bytes, .on_end = on_end, .data = client};
    const struct writer_events writing = {
        .on_drained = on_drained, .on_broken = on_end, .data = client};
    int r = reader_new(client->loop, client->fd, &reading, &client->reader);

    return r == 0 ? writer_new(client->loop, client->write_fd, MESSAGE_BYTES, &writing,
                               &client->writer)
                  : r;
}

int browser_client_attach(struct browser_client *client, struct loop *loop,
                          const struct browser_client_events *events)
{
    client->events = *events;
    client->loop = loop;
    loop_task_init(&client->fail, fail_all, client);
    return 0;
}

void browser_client_detach(struct browser_client *client)
{
    if (client == NULL || client->loop == NULL)
        return;
    client->is_broken = true;
    fail_all(client);
    loop_task_cancel(&client->fail);
    reader_free(client->reader);
    writer_free(client->writer);
    client->reader = NULL;
    client->writer = NULL;
    client->loop = NULL;
}

void browser_client_free(struct browser_client *client)
{
    if (client == NULL)
        return;
    if (client->write_fd >= 0)
        close(client->write_fd);
    /* It ends its browser, and closes its end of the socket when that has gone. */
    if (client->fd >= 0)
        companion_close(client->fd, END_MS);
    if (client->starter_fd >= 0)
        close(client->starter_fd);
    browser_wire_done(&client->wire);
    pthread_mutex_destroy(&client->mutex);
    free(client->pages);
    free(client);
}
