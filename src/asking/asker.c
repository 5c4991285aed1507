/* SPDX-License-Identifier: Apache-2.0 */
#include "asking/asker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "asking/message.h"
#include "asking/wire.h"
#include "base/list.h"
#include "loop/reader.h"
#include "loop/timer.h"

enum {
    SURFACE_BYTES = 24,
    ARENA_BYTES = 16 << 10, /* for an answer */
    /* Of questions that a stopped terminal has not taken; more than a queue holds. */
    KEPT_BYTES = 4 * QUESTION_QUEUE_MAX_BYTES,
    AGAIN_MS = 1000,
};

struct terminal {
    struct list link;
    struct asker *asker;
    char name[SURFACE_BYTES]; /* of the surface */
    struct wire *wire;
};

struct asker {
    struct asker_config config;
    struct list terminals;
    uint64_t count; /* of all that ever connected */
    struct ready_watch *watch;
    struct timer again;
};

static void drop(void *data)
{
    struct terminal *terminal = data;

    list_remove(&terminal->link);
    question_queue_remove(terminal->asker->config.queue, terminal->name);
    wire_free(terminal->wire);
    free(terminal);
}

/* ---- the surface ---- */

static void on_show(void *data, uint64_t id, const struct question *question)
{
    struct terminal *terminal = data;
    const struct asker_config *config = &terminal->asker->config;
    cleanup_buf struct buf name = BUF_INIT(ASKER_NAME_BYTES);
    cleanup_buf struct buf line = BUF_INIT(ASKING_QUESTION_BYTES);
    int r = config->describe(config->data, &name);

    if (r == 0)
        r = asking_write_question(id, buf_view(&name), question, &line);
    wire_send(terminal->wire, r, &line);
}

static void on_withdraw(void *data, uint64_t id, enum question_queue_end end, const char *by)
{
    struct terminal *terminal = data;
    cleanup_buf struct buf line = BUF_INIT(ASKING_ANSWER_BYTES);
    int r = asking_write_withdrawal(id, end, &line);

    (void)by;
    wire_send(terminal->wire, r, &line);
}

/* ---- from the terminal ---- */

static int on_line(void *data, struct str line)
{
    struct terminal *terminal = data;
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct asking_message message;
    int r = asking_parse(&arena, line, &message);

    if (r < 0)
        return r;
    if (message.kind != ASKING_ANSWER)
        return ERR_INVALID_ARGUMENT;
    /* An answer may come too late; one that was not offered is none. */
    r = question_queue_answer(terminal->asker->config.queue, message.id, message.choice,
                              terminal->name);
    return r == ERR_NOT_FOUND ? 0 : r;
}

/* ---- connecting ---- */

static void greet(struct terminal *terminal)
{
    const struct asker_config *config = &terminal->asker->config;
    cleanup_buf struct buf name = BUF_INIT(ASKER_NAME_BYTES);
    cleanup_buf struct buf line = BUF_INIT(ASKING_QUESTION_BYTES);
    int r = config->describe(config->data, &name);

    if (r == 0)
        r = asking_write_hello(buf_view(&name), &line);
    wire_send(terminal->wire, r, &line);
}

/* Owns the descriptor, also if it fails. */
static void welcome(struct asker *asker, int fd)
{
    struct terminal *terminal = asking_socket_is_ours(fd) ? calloc(1, sizeof(*terminal)) : NULL;
    const struct wire_config config = {.loop = asker->config.loop,
                                       .max_line_bytes = ASKING_ANSWER_BYTES,
                                       .max_kept_bytes = KEPT_BYTES,
                                       .on_line = on_line,
                                       .on_end = drop,
                                       .data = terminal};
    struct question_queue_surface surface = {
        .show = on_show, .withdraw = on_withdraw, .data = terminal};

    if (terminal == NULL) {
        close(fd);
        return;
    }
    terminal->asker = asker;
    snprintf(terminal->name, sizeof(terminal->name), "ask-%llu",
             (unsigned long long)++asker->count);
    surface.name = terminal->name;
    list_append(&asker->terminals, &terminal->link);
    if (wire_new(&config, fd, &terminal->wire) < 0) {
        drop(terminal);
        return;
    }
    greet(terminal);
    if (question_queue_add(asker->config.queue, &surface) < 0)
        drop(terminal);
}

static void on_ready(void *data)
{
    struct asker *asker = data;
    int fd = accept4(asker->config.listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0) {
        welcome(asker, fd);
    } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        /* Without descriptors the connection stays in line, and would be reported all the time. */
        ready_watch_free(asker->watch);
        asker->watch = NULL;
        timer_start(&asker->again, AGAIN_MS);
    }
}

static void watch(void *data)
{
    struct asker *asker = data;

    if (ready_watch_new(asker->config.loop, asker->config.listen_fd, on_ready, asker,
                        &asker->watch) < 0)
        timer_start(&asker->again, AGAIN_MS);
}

int asker_new(const struct asker_config *config, struct asker **out_asker)
{
    struct asker *asker = calloc(1, sizeof(*asker));

    if (asker == NULL)
        return ERR_NO_MEMORY;
    asker->config = *config;
    list_init(&asker->terminals);
    timer_init(&asker->again, config->loop, watch, asker);
    watch(asker);
    *out_asker = asker;
    return 0;
}

void asker_free(struct asker *asker)
{
    if (asker == NULL)
        return;
    timer_stop(&asker->again);
    ready_watch_free(asker->watch);
    while (!list_is_empty(&asker->terminals))
        drop(list_entry(asker->terminals.next, struct terminal, link));
    free(asker);
}
