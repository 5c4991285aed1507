/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/toolhost.h"

#include "cli/shared.h"

const struct option toolhost_options[TOOLHOST_OPTIONS] = {
    [TOOLHOST_OPTION_FD] = {.name = "fd",
                            .type = OPTION_INT,
                            .min = 3,
                            .max = 65535,
                            .fallback = "3",
                            .help = "the descriptor of the socket to the front"},
    [TOOLHOST_OPTION_MEDIA_FD] = {.name = "media-fd",
                                  .type = OPTION_INT,
                                  .min = 3,
                                  .max = 65535,
                                  .help = "the descriptor of the socket to gatehouse-media, which "
                                          "the front starts when something comes"},
    [TOOLHOST_OPTION_WRITE] = {.name = "write",
                               .letter = 'w',
                               .help = "let calls change files in the first folder"},
    [TOOLHOST_OPTION_RO] = {SHARED_RO},
    [TOOLHOST_OPTION_RW] = {SHARED_RW},
    [TOOLHOST_OPTION_HARD_LINKS] = {.name = "read-hard-links",
                                    .help = "read files that have several names, too"},
    [TOOLHOST_OPTION_SEARCH_SENSITIVE] = {.name = "search-sensitive",
                                          .help = "search in files that usually hold secrets, too"},
    [TOOLHOST_OPTION_DENY] = {.name = "deny",
                              .type = OPTION_LIST,
                              .placeholder = "GLOB",
                              .help = "hide files matching GLOB; repeatable; wins over --allow"},
    [TOOLHOST_OPTION_ALLOW] = {.name = "allow",
                               .type = OPTION_LIST,
                               .placeholder = "GLOB",
                               .help = "the only names that exist; repeatable"},
    [TOOLHOST_OPTION_MAX_FILE_SIZE] = {SHARED_MAX_FILE_SIZE},
    [TOOLHOST_OPTION_MAX_LINES] = {SHARED_MAX_LINES},
    [TOOLHOST_OPTION_MAX_MATCHES] = {SHARED_MAX_MATCHES},
    [TOOLHOST_OPTION_STATE_DIR] = {.name = "state-dir",
                                   .type = OPTION_DIR,
                                   .help = "where the journal and what undo needs are kept"},
    [TOOLHOST_OPTION_SETTINGS_DIR] = {.name = "settings-dir",
                                      .type = OPTION_DIR,
                                      .help = "where the front has its settings: nothing here "
                                              "reaches them"},
    [TOOLHOST_OPTION_RECORD_DIR] = {.name = "record-dir",
                                    .type = OPTION_DIR,
                                    .help = "directory of its audit log: no call reaches it"},
    [TOOLHOST_OPTION_STAGING_DIR] = {.name = "staging-dir",
                                     .type = OPTION_DIR,
                                     .help = "where files wait on their way to and from a "
                                             "browser"},
    [TOOLHOST_OPTION_LOG_LEVEL] = {.name = "log-level",
                                   .type = OPTION_CHOICE,
                                   .choices = shared_levels,
                                   .fallback = "warn",
                                   .help = "how much to log to stderr"},
};

const struct option_argument toolhost_arguments[TOOLHOST_ARGUMENTS] = {
    [TOOLHOST_ARGUMENT_DIR] = {.name = "DIR", .type = OPTION_DIR, .help = "the first folder"},
};
