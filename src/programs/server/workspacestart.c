/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/workspacestart.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/serve.h"
#include "workspace/revival.h"

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

/* In the starter. */
static int start_again(void *data, enum workspace_provider provider,
                       struct workspace_client **out_client, struct err *err)
{
    struct workspace_client *clients[WORKSPACE_PROVIDERS] = {NULL};
    int r = start(workspace_provider_name(provider), data, clients, err);

    *out_client = clients[provider];
    return r;
}

/* ---- all ---- */

int workspacestart_open(const struct option_values *values, const char *state_path,
                        struct workspace_offer *out_offer, struct err *err)
{
    const struct option_list names = options_list(values, SERVE_OPTION_WORKSPACE);
    char state_dir[PATH_MAX];
    int r = 0;

    *out_offer = (struct workspace_offer){
        .idle_ms = options_int(values, SERVE_OPTION_WORKSPACE_IDLE), .starter_fd = -1};
    /* The user's, which has the sandbox service's state beside the server's. */
    snprintf(state_dir, sizeof(state_dir), "%s", state_path);
    *strrchr(state_dir, '/') = '\0';
    if (names.count == 0)
        r = start(NULL, state_dir, out_offer->clients, err);
    for (size_t i = 0; i < names.count && r == 0; i++)
        r = start(names.items[i], state_dir, out_offer->clients, err);
    return r == 0 && workspacestart_has_any(out_offer)
               ? workspace_revival_fork(start_again, state_dir, &out_offer->starter_fd, err)
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
    if (workspacestart_has_any(offer) && offer->starter_fd >= 0)
        close(offer->starter_fd);
    for (size_t i = 0; i < WORKSPACE_PROVIDERS; i++)
        workspace_client_free(offer->clients[i]);
    *offer = (struct workspace_offer){.starter_fd = -1};
}
