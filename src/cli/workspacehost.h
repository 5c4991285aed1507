/* SPDX-License-Identifier: Apache-2.0 */
/* The options of gatehouse-workspacehost: for the front ends that start it, and for itself. */
#ifndef CLI_WORKSPACEHOST_H
#define CLI_WORKSPACEHOST_H

#include "base/options/options.h"
#include "cli/programs.h"

enum { WORKSPACEHOST_OPTION_STATE_DIR, WORKSPACEHOST_OPTIONS };

extern const struct option workspacehost_options[WORKSPACEHOST_OPTIONS];

/* As a row of a table. */
#define WORKSPACEHOST_COMMAND                                                                      \
    {                                                                                              \
        .name = "workspacehost", .summary = WORKSPACEHOST_SUMMARY,                                 \
        .options = workspacehost_options, .option_count = WORKSPACEHOST_OPTIONS                    \
    }

#endif
