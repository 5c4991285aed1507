/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts gatehouse-workspacehost again when it has died, for a program that can start none because
 * it is confined. A copy of the program that was made before, the starter, does it
 * (isolate/reviver); the client goes on with its socket. Its workspaces are gone: `lost` says so.
 */
#ifndef WORKSPACE_REVIVAL_H
#define WORKSPACE_REVIVAL_H

#include "workspace/client.h"

struct workspace_revival;

/* Starts a companion of this provider; in the starter, after which it hands it over. */
typedef int workspace_revival_start(void *data, enum workspace_provider provider,
                                    struct workspace_client **out_client, struct err *err);

/* Makes the starter, which ends when the socket is closed. */
int workspace_revival_fork(workspace_revival_start *start, void *data, int *out_fd,
                           struct err *err);

/* With the socket, which stays the caller's. */
int workspace_revival_new(struct loop *loop, int fd, struct workspace_revival **out_revival);
/* `lost` is called from the loop, once for each companion that has died. */
void workspace_revival_watch(struct workspace_revival *revival, enum workspace_provider provider,
                             struct workspace_client *client, void (*lost)(void *data), void *data);
/* Nothing is started any more. */
void workspace_revival_stop(struct workspace_revival *revival);
/* Before the loop is freed. */
void workspace_revival_free(struct workspace_revival *revival);

#endif
