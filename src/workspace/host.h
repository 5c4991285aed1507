/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What gatehouse-workspacehost does: keeps the workspaces of a front end, and does its calls in
 * them. When the front end has gone, all of them end.
 */
#ifndef WORKSPACE_HOST_H
#define WORKSPACE_HOST_H

#include "base/err.h"
#include "workspace/workspace.h"

struct workspacehost_config {
    int fd; /* the front end's socket */
    const char *state_dir;
    const char *service_program;
    const char *libexec;
    /* Makes TLS when the first provider needs it; see workspaces_config. */
    int (*make_filter)(void *data, struct str host, struct filter **out_filter, struct err *err);
    void *filter_data;
};

/* Serves until the front end closes, and all workspaces have ended. */
int workspacehost_serve(const struct workspacehost_config *config, struct err *err);

#endif
