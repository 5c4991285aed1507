/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/hostfs.h"

#include "cli/shared.h"

const struct option hostfs_options[HOSTFS_OPTIONS] = {
    [HOSTFS_OPTION_FD] = {.name = "fd",
                          .type = OPTION_INT,
                          .min = 3,
                          .max = 65535,
                          .fallback = "3",
                          .help = "the descriptor of the socket to the server"},
    [HOSTFS_OPTION_ROOT] = {.name = "root", .type = OPTION_DIR, .help = "the tenant's directory"},
    [HOSTFS_OPTION_MEMORY] = {.name = "memory",
                              .help =
                                  "keep the files in memory instead; they end with the process"},
    [HOSTFS_OPTION_TENANT] = {.name = "tenant",
                              .type = OPTION_TEXT,
                              .placeholder = "NAME",
                              .help = "whose files they are, for the audit log"},
    [HOSTFS_OPTION_MAX_FILE_SIZE] = {.name = "max-file-size",
                                     .type = OPTION_BYTES,
                                     .min = 1,
                                     .max = HOSTFS_LARGEST_FILE,
                                     .fallback = HOSTFS_DEFAULT_LIMIT,
                                     .help = "size limit of files to read and write"},
    [HOSTFS_OPTION_STATE_DIR] = {.name = "state-dir",
                                 .type = OPTION_DIR,
                                 .help = "directory of the audit log and the journal"},
    [HOSTFS_OPTION_SERVER_DIR] = {.name = "server-dir",
                                  .type = OPTION_DIR,
                                  .help = "directory of the server's state: no request reaches it"},
    [HOSTFS_OPTION_FEATURES] = {.name = "features",
                                .type = OPTION_INT,
                                .min = 0,
                                .max = UINT16_MAX,
                                .fallback = "0",
                                .help = "what works on this machine, as another process of the "
                                        "server found out"},
    [HOSTFS_OPTION_LOG_LEVEL] = {.name = "log-level",
                                 .type = OPTION_CHOICE,
                                 .choices = shared_levels,
                                 .fallback = "warn",
                                 .help = "how much to log to stderr"},
};
