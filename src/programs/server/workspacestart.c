/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/workspacestart.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/serve.h"

/* `name` may be NULL: as the environment says. */
static int start(const char *name, const char *state_dir, struct workspace_offer *offer,
                 struct err *err)
{
    struct workspace_settings settings;
    const struct workspace_client_config config = {.libexec = GATEHOUSE_LIBEXECDIR,
                                                   .state_dir = state_dir,
                                                   .error_fd = STDERR_FILENO,
                                                   .settings = &settings};
    int r = workspace_settings_read(&settings, name, err);

    if (r < 0)
        return r;
    if (settings.is_enabled && offer->clients[settings.provider] == NULL)
        r = workspace_client_start(&config, &offer->clients[settings.provider], err);
    workspace_settings_done(&settings);
    return r;
}

int workspacestart_open(const struct option_values *values, const char *state_path,
                        struct workspace_offer *out_offer, struct err *err)
{
    const struct option_list names = options_list(values, SERVE_OPTION_WORKSPACE);
    char state_dir[PATH_MAX];
    int r = 0;

    *out_offer =
        (struct workspace_offer){.idle_ms = options_int(values, SERVE_OPTION_WORKSPACE_IDLE)};
    /* The user's, which has the sandbox service's state beside the server's. */
    snprintf(state_dir, sizeof(state_dir), "%s", state_path);
    *strrchr(state_dir, '/') = '\0';
    if (names.count == 0)
        return start(NULL, state_dir, out_offer, err);
    for (size_t i = 0; i < names.count && r == 0; i++)
        r = start(names.items[i], state_dir, out_offer, err);
    return r;
}

void workspacestart_close(struct workspace_offer *offer)
{
    for (size_t i = 0; i < WORKSPACE_PROVIDERS; i++)
        workspace_client_free(offer->clients[i]);
    *offer = (struct workspace_offer){.idle_ms = 0};
}
