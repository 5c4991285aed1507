/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/authority.h"

#include "cli/shared.h"

const struct option authority_options[AUTHORITY_OPTIONS] = {
    [AUTHORITY_OPTION_MEMORY] = {.name = "memory",
                                 .help = "keep the files in memory; they are lost when it ends"},
    [AUTHORITY_OPTION_STATE_DIR] = {SHARED_STATE_DIR},
    [AUTHORITY_OPTION_AUDIT_SYNC] = {SHARED_AUDIT_SYNC},
    [AUTHORITY_OPTION_LOG_LEVEL] = {.name = "log-level",
                                    .type = OPTION_CHOICE,
                                    .choices = shared_levels,
                                    .env = "GATEHOUSE_LOG_LEVEL",
                                    .fallback = "warn",
                                    .help = "how much to log to stderr"},
};

const struct option_argument authority_arguments[AUTHORITY_ARGUMENTS] = {
    [AUTHORITY_ARGUMENT_DIRECTORY] = {.name = "DIRECTORY",
                                      .type = OPTION_DIR,
                                      .is_rest = true,
                                      .instead = "memory",
                                      .help = "the directories in which roots may be granted"},
};
