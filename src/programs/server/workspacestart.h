/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts gatehouse-workspacehost for each provider of workspaces, before the server is confined,
 * because it can start none afterwards; and what starts those again that have died
 * (workspace/revival.h).
 */
#ifndef PROGRAMS_SERVER_WORKSPACESTART_H
#define PROGRAMS_SERVER_WORKSPACESTART_H

#include "base/err.h"
#include "base/log.h"
#include "base/options/options.h"
#include "workspace/client.h"

struct workspace_offer {
    struct workspace_client *clients[WORKSPACE_PROVIDERS]; /* NULL: not offered */
    int64_t idle_ms; /* a workspace that is not used for so long ends */
    int starter_fd;  /* of workspace_revival_fork(); or -1 */
};

/* `state_path` is that of session_state_server_dir(). Call workspacestart_close() even on failure.
 */
int workspacestart_open(const struct option_values *values, const char *state_path, struct log *log,
                        struct workspace_offer *out_offer, struct err *err);
bool workspacestart_has_any(const struct workspace_offer *offer);
/* Waits until all workspaces have ended, but not long. */
void workspacestart_close(struct workspace_offer *offer);

#endif
