/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/revival.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ipc/packet.h"
#include "isolate/companion.h"
#include "isolate/confine.h"
#include "loop/timer.h"

enum {
    AGAIN_MS = 1000,  /* between two starts */
    GIVEN_MS = 15000, /* a starter that was killed meanwhile does not answer */
    LOOK_MS = 50,     /* between two looks at what was started */
    BY_SIGNAL = 128,  /* see companion_run_in_child() */
};

/* ---- the starter ---- */

struct starter {
    workspace_revival_start *start;
    void *data;
    int fd;
};

static int start_again(const struct starter *starter, enum workspace_provider provider)
{
    struct workspace_client *client = NULL;
    struct err err = ERR_INIT;

    if (starter->start(starter->data, provider, &client, &err) == 0 && client != NULL)
        return workspace_client_hand_over(client);
    fprintf(stderr, "gatehouse: %s\n", err.message);
    return -1;
}

/* Until the program closes. Its children end by themselves, and nobody asks how. */
static int serve(void *data)
{
    const struct starter *starter = data;
    uint32_t provider;

    (void)signal(SIGCHLD, SIG_IGN);
    while (packet_receive(starter->fd, &provider, sizeof(provider), NULL, 0, 0) ==
           sizeof(provider)) {
        const struct str bytes = {(const char *)&provider, sizeof(provider)};
        cleanup_fd int fd = -1;

        if (provider >= WORKSPACE_PROVIDERS)
            return EXIT_FAILURE;
        fd = start_again(starter, provider);
        if (packet_send(starter->fd, bytes, &fd, fd >= 0 ? 1 : 0, 0) < 0)
            break;
    }
    return EXIT_SUCCESS;
}

/* In the copy. It has no work of its own, so it is the one that stays. */
static int guard(void *data)
{
    const struct starter *starter = data;
    const int kept[] = {STDERR_FILENO, starter->fd};
    int r;

    if (confine_close_fds(kept, array_size(kept), NULL) < 0)
        return EXIT_FAILURE;
    do
        r = companion_run_in_child(serve, data, -1);
    while (r > BY_SIGNAL);
    return r < 0 ? serve(data) : r;
}

int workspace_revival_fork(workspace_revival_start *start, void *data, int *out_fd, struct err *err)
{
    struct starter starter = {.start = start, .data = data};
    int ends[2];
    int r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set(err, err_from_errno(errno), "cannot create sockets: %s",
                       err_errno_text(errno));
    starter.fd = ends[1];
    r = companion_fork(guard, &starter, err);
    close(ends[1]);
    if (r < 0)
        close(ends[0]);
    else
        *out_fd = ends[0];
    return r;
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
    const struct str bytes = {(const char *)&provider, sizeof(provider)};
    int64_t now_ms = loop_now_ms(revival->loop);

    if (!watched->is_lost)
        watched->lost(watched->data);
    watched->is_lost = true;
    if (revival->is_stopped ||
        (watched->since_ms != 0 &&
         now_ms - watched->since_ms < (watched->is_asked ? GIVEN_MS : AGAIN_MS)))
        return;
    watched->is_asked = packet_send(revival->fd, bytes, NULL, 0, MSG_DONTWAIT) == 0;
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
    int fd = -1;

    while (packet_receive(revival->fd, &provider, sizeof(provider), &fd, 1, MSG_DONTWAIT) ==
           sizeof(provider))
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
