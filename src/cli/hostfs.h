/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of gatehouse-hostfs: for the server that starts it, and for itself. Users do not call
 * it, so nothing comes from the environment.
 */
#ifndef CLI_HOSTFS_H
#define CLI_HOSTFS_H

#include "base/options/options.h"
#include "cli/programs.h"

enum {
    HOSTFS_OPTION_FD,
    HOSTFS_OPTION_ROOT,
    HOSTFS_OPTION_MEMORY,
    HOSTFS_OPTION_TENANT,
    HOSTFS_OPTION_MAX_FILE_SIZE,
    HOSTFS_OPTION_STATE_DIR,
    HOSTFS_OPTION_AUDIT_SYNC,
    HOSTFS_OPTION_SERVER_DIR,
    HOSTFS_OPTION_FEATURES,
    HOSTFS_OPTION_TRANSPORT_HOST,
    HOSTFS_OPTION_TRANSPORT_KNOWN_HOSTS,
    HOSTFS_OPTION_TRANSPORT_CREDENTIALS,
    HOSTFS_OPTION_TRANSPORT_TENANT,
    HOSTFS_OPTION_LOG_LEVEL,
    HOSTFS_OPTIONS
};

extern const struct option hostfs_options[HOSTFS_OPTIONS];

/* Size limit of files, for the server's option as well. */
#define HOSTFS_LARGEST_FILE  (INT64_C(64) << 20)
#define HOSTFS_DEFAULT_LIMIT "10MiB"

/* As a row of a table. */
#define HOSTFS_COMMAND                                                                             \
    {                                                                                              \
        .name = "hostfs", .summary = HOSTFS_SUMMARY, .options = hostfs_options,                    \
        .option_count = HOSTFS_OPTIONS                                                             \
    }

#endif
