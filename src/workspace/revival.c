/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/revival.h"

#include <stdlib.h>
#include <unistd.h>

#include "isolate/reviver.h"
#include "loop/timer.h"

enum {
    AGAIN_MS = 1000,  /* between two starts */
    GIVEN_MS = 15000, /* a starter that was killed meanwhile does not answer */
    LOOK_MS = 50,     /* between two looks at what was started */
};

/* ---- the starter ---- */

struct starter {
    workspace_revival_start *start;
    void *data;
};

static int start_again(void *data, uint32_t provider, struct err *err)
{
    const struct starter *starter = data;
    struct workspace_client *client = NULL;
    int r = provider < WORKSPACE_PROVIDERS ? starter->start(starter->data, provider, &client, err)
                                           : err_set_plain(err, ERR_INVALID_ARGUMENT);

    if (r < 0)
        return r;
    return client != NULL ? workspace_client_hand_over(client) : err_set_plain(err, ERR_NOT_FOUND);
}

int workspace_revival_fork(workspace_revival_start *start, void *data, int *out_fd, struct err *err)
{
    struct starter starter = {.start = start, .data = data};

    return reviver_fork(start_again, &starter, out_fd, err);
}

/* ---- the program's side ---- */

struct watched {
    struct workspace_revival *revival;
    struct workspace_client *client; /* NULL: none of this provider */
    void (*lost)(void *data);
    void *data;
    bool is_lost;
    bool is_asked;    /* for another one */
    int64_t since_ms; /* when it was asked for last; or 0 */
};

struct workspace_revival {
    struct loop *loop;
    int fd;
    struct timer look;
    bool is_stopped;
    struct watched watched[WORKSPACE_PROVIDERS];
};

/* The client's callback: also for each call that fails, so that one of them tries it again. */
static void on_lost(void *data)
{
    struct watched *watched = data;
    struct workspace_revival *revival = watched->revival;
    uint32_t provider = (uint32_t)(watched - revival->watched);
    int64_t now_ms = loop_now_ms(revival->loop);

    if (!watched->is_lost)
        watched->lost(watched->data);
    watched->is_lost = true;
    if (revival->is_stopped ||
        (watched->since_ms != 0 &&
         now_ms - watched->since_ms < (watched->is_asked ? GIVEN_MS : AGAIN_MS)))
        return;
    watched->is_asked = reviver_ask(revival->fd, provider) == 0;
    watched->since_ms = now_ms;
    if (watched->is_asked && !revival->look.is_started)
        timer_start_repeating(&revival->look, LOOK_MS);
}

static void take(struct workspace_revival *revival, uint32_t provider, int fd)
{
    struct watched *watched = provider < WORKSPACE_PROVIDERS ? &revival->watched[provider] : NULL;

    /* One that comes late, after another was asked for, is not needed. */
    if (watched == NULL || watched->client == NULL || !watched->is_lost || revival->is_stopped) {
        if (fd >= 0)
            close(fd);
        return;
    }
    watched->is_asked = false;
    watched->is_lost = fd < 0 || workspace_client_reopen(watched->client, fd) < 0;
}

/* Timer callback. */
static void look(void *data)
{
    struct workspace_revival *revival = data;
    bool waits = false;
    uint32_t provider;
    int fd;

    while (reviver_take(revival->fd, &provider, &fd))
        take(revival, provider, fd);
    for (size_t i = 0; i < WORKSPACE_PROVIDERS; i++)
        waits = waits || revival->watched[i].is_asked;
    if (!waits)
        timer_stop(&revival->look);
}

int workspace_revival_new(struct loop *loop, int fd, struct workspace_revival **out_revival)
{
    struct workspace_revival *revival = calloc(1, sizeof(*revival));

    if (revival == NULL)
        return ERR_NO_MEMORY;
    revival->loop = loop;
    revival->fd = fd;
    timer_init(&revival->look, loop, look, revival);
    *out_revival = revival;
    return 0;
}

void workspace_revival_watch(struct workspace_revival *revival, enum workspace_provider provider,
                             struct workspace_client *client, void (*lost)(void *data), void *data)
{
    struct watched *watched = &revival->watched[provider];

    *watched = (struct watched){.revival = revival, .client = client, .lost = lost, .data = data};
    workspace_client_on_lost(client, on_lost, watched);
}

void workspace_revival_stop(struct workspace_revival *revival)
{
    if (revival == NULL)
        return;
    revival->is_stopped = true;
    timer_stop(&revival->look);
}

void workspace_revival_free(struct workspace_revival *revival)
{
    if (revival == NULL)
        return;
    workspace_revival_stop(revival);
    for (size_t i = 0; i < WORKSPACE_PROVIDERS; i++)
        if (revival->watched[i].client != NULL)
            workspace_client_on_lost(revival->watched[i].client, NULL, NULL);
    free(revival);
}
