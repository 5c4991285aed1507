/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/workspacehost.h"

const struct option workspacehost_options[WORKSPACEHOST_OPTIONS] = {
    [WORKSPACEHOST_OPTION_STATE_DIR] = {.name = "state-dir",
                                        .type = OPTION_DIR,
                                        .help = "where the user's sandbox service is found"},
};
