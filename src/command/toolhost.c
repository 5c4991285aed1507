/* SPDX-License-Identifier: Apache-2.0 */
#include "command/toolhost.h"

#define LARGEST_FILE (INT64_C(64) << 20)

static const char *const levels[] = {"silent", "error", "warn", "info", "debug", NULL};

const struct option toolhost_options[TOOLHOST_OPTIONS] = {
    [TOOLHOST_OPTION_FD] = {.name = "fd",
                            .type = OPTION_INT,
                            .min = 3,
                            .max = 65535,
                            .fallback = "3",
                            .help = "the descriptor of the socket to the front"},
    [TOOLHOST_OPTION_WRITE] = {.name = "write",
                               .letter = 'w',
                               .help = "offer the tools that change files"},
    [TOOLHOST_OPTION_DENY] = {.name = "deny",
                              .type = OPTION_LIST,
                              .placeholder = "GLOB",
                              .help = "names that do not exist; repeatable, wins over --allow"},
    [TOOLHOST_OPTION_ALLOW] = {.name = "allow",
                               .type = OPTION_LIST,
                               .placeholder = "GLOB",
                               .help = "the only names that exist; repeatable"},
    [TOOLHOST_OPTION_MAX_FILE_SIZE] = {.name = "max-file-size",
                                       .type = OPTION_BYTES,
                                       .min = 1,
                                       .max = LARGEST_FILE,
                                       .fallback = "512KiB",
                                       .help =
                                           "largest file that is read whole, written or edited"},
    [TOOLHOST_OPTION_MAX_LINES] = {.name = "max-lines",
                                   .type = OPTION_INT,
                                   .min = 1,
                                   .max = 1000000,
                                   .fallback = "500",
                                   .help = "most lines that one read answers"},
    [TOOLHOST_OPTION_MAX_MATCHES] = {.name = "max-matches",
                                     .type = OPTION_INT,
                                     .min = 1,
                                     .max = INT64_C(1000000000),
                                     .fallback = "1000000",
                                     .help = "matches that a search counts before it ends"},
    [TOOLHOST_OPTION_STATE_DIR] = {.name = "state-dir",
                                   .type = OPTION_DIR,
                                   .help = "where the journal and what undo needs are kept"},
    [TOOLHOST_OPTION_SETTINGS_DIR] = {.name = "settings-dir",
                                      .type = OPTION_DIR,
                                      .help = "where the front has its settings: nothing here "
                                              "reaches them"},
    [TOOLHOST_OPTION_RECORD_DIR] = {.name = "record-dir",
                                    .type = OPTION_DIR,
                                    .help = "the same for its record"},
    [TOOLHOST_OPTION_LOG_LEVEL] = {.name = "log-level",
                                   .type = OPTION_CHOICE,
                                   .choices = levels,
                                   .fallback = "warn",
                                   .help = "how much is told on standard error"},
};

const struct option_argument toolhost_arguments[TOOLHOST_ARGUMENTS] = {
    [TOOLHOST_ARGUMENT_DIR] = {.name = "DIR", .type = OPTION_DIR, .help = "the folder"},
};
