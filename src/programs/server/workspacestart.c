/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/workspacestart.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/serve.h"
#include "ipc/packet.h"
#include "isolate/companion.h"
#include "isolate/confine.h"

/* `name` may be NULL: as the environment says. */
static int start(const char *name, const char *state_dir,
                 struct workspace_client *clients[WORKSPACE_PROVIDERS], struct err *err)
{
    struct workspace_settings settings;
    const struct workspace_client_config config = {.libexec = GATEHOUSE_LIBEXECDIR,
                                                   .state_dir = state_dir,
                                                   .error_fd = STDERR_FILENO,
                                                   .settings = &settings};
    int r = workspace_settings_read(&settings, name, err);

    if (r < 0)
        return r;
    if (settings.is_enabled && clients[settings.provider] == NULL)
        r = workspace_client_start(&config, &clients[settings.provider], err);
    workspace_settings_done(&settings);
    return r;
}

/* ---- the keeper ---- */

struct keeper {
    const char *state_dir;
    int fd;
};

static int start_again(const struct keeper *keeper, uint32_t provider)
{
    struct workspace_client *clients[WORKSPACE_PROVIDERS] = {NULL};
    struct err err = ERR_INIT;

    if (start(workspace_provider_name(provider), keeper->state_dir, clients, &err) == 0)
        return workspace_client_hand_over(clients[provider]);
    fprintf(stderr, "gatehouse: %s\n", err.message);
    return -1;
}

/* In the copy, until the server closes. Its children end by themselves, and nobody asks how. */
static int keep(void *data)
{
    const struct keeper *keeper = data;
    const int kept[] = {STDERR_FILENO, keeper->fd};
    uint32_t provider;

    (void)signal(SIGCHLD, SIG_IGN);
    if (confine_close_fds(kept, array_size(kept), NULL) < 0)
        return EXIT_FAILURE;
    while (packet_receive(keeper->fd, &provider, sizeof(provider), NULL, 0, 0) ==
           sizeof(provider)) {
        const struct str bytes = {(const char *)&provider, sizeof(provider)};
        cleanup_fd int fd = -1;

        if (provider >= WORKSPACE_PROVIDERS)
            return EXIT_FAILURE;
        fd = start_again(keeper, provider);
        if (packet_send(keeper->fd, bytes, &fd, fd >= 0 ? 1 : 0, 0) < 0)
            break;
    }
    return EXIT_SUCCESS;
}

static int fork_keeper(const char *state_dir, int *out_fd, struct err *err)
{
    struct keeper keeper = {.state_dir = state_dir};
    int ends[2];
    int r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set(err, err_from_errno(errno), "cannot create sockets: %s",
                       err_errno_text(errno));
    keeper.fd = ends[1];
    r = companion_fork(keep, &keeper, err);
    close(ends[1]);
    if (r < 0)
        close(ends[0]);
    else
        *out_fd = ends[0];
    return r;
}

int workspacestart_ask(const struct workspace_offer *offer, enum workspace_provider provider)
{
    uint32_t number = provider;

    return packet_send(offer->keeper_fd, (struct str){(const char *)&number, sizeof(number)}, NULL,
                       0, MSG_DONTWAIT);
}

bool workspacestart_take(const struct workspace_offer *offer, enum workspace_provider *out_provider,
                         int *out_fd)
{
    uint32_t number;
    int fd = -1;

    if (packet_receive(offer->keeper_fd, &number, sizeof(number), &fd, 1, MSG_DONTWAIT) !=
            sizeof(number) ||
        number >= WORKSPACE_PROVIDERS || offer->clients[number] == NULL) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    *out_provider = number;
    *out_fd = fd;
    return true;
}

/* ---- all ---- */

int workspacestart_open(const struct option_values *values, const char *state_path,
                        struct workspace_offer *out_offer, struct err *err)
{
    const struct option_list names = options_list(values, SERVE_OPTION_WORKSPACE);
    char state_dir[PATH_MAX];
    int r = 0;

    *out_offer = (struct workspace_offer){
        .idle_ms = options_int(values, SERVE_OPTION_WORKSPACE_IDLE), .keeper_fd = -1};
    /* The user's, which has the sandbox service's state beside the server's. */
    snprintf(state_dir, sizeof(state_dir), "%s", state_path);
    *strrchr(state_dir, '/') = '\0';
    if (names.count == 0)
        r = start(NULL, state_dir, out_offer->clients, err);
    for (size_t i = 0; i < names.count && r == 0; i++)
        r = start(names.items[i], state_dir, out_offer->clients, err);
    return r == 0 && workspacestart_has_any(out_offer)
               ? fork_keeper(state_dir, &out_offer->keeper_fd, err)
               : r;
}

bool workspacestart_has_any(const struct workspace_offer *offer)
{
    for (size_t i = 0; i < WORKSPACE_PROVIDERS; i++)
        if (offer->clients[i] != NULL)
            return true;
    return false;
}

void workspacestart_close(struct workspace_offer *offer)
{
    if (workspacestart_has_any(offer) && offer->keeper_fd >= 0)
        close(offer->keeper_fd);
    for (size_t i = 0; i < WORKSPACE_PROVIDERS; i++)
        workspace_client_free(offer->clients[i]);
    *offer = (struct workspace_offer){.keeper_fd = -1};
}
