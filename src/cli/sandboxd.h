/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `gatehouse sandbox serve`: for the front door, and for gatehouse-sandboxd. */
#ifndef CLI_SANDBOXD_H
#define CLI_SANDBOXD_H

#include "base/options/options.h"
#include "cli/programs.h"

enum {
    SANDBOXD_OPTION_LISTEN,
    SANDBOXD_OPTION_PUBLIC_URL,
    SANDBOXD_OPTION_TLS_CERT,
    SANDBOXD_OPTION_TLS_KEY,
    SANDBOXD_OPTION_BEHIND_PROXY,
    SANDBOXD_OPTION_MAX_SANDBOXES,
    SANDBOXD_OPTION_DISK_SIZE,
    SANDBOXD_OPTION_DISK_IN_MEMORY,
    SANDBOXD_OPTION_KEEP_FREE,
    SANDBOXD_OPTION_TOTAL_MEMORY,
    SANDBOXD_OPTION_TOTAL_PIDS,
    SANDBOXD_OPTION_IDLE_STOP,
    SANDBOXD_OPTION_IDLE_DELETE,
    SANDBOXD_OPTION_EXIT_IDLE,
    SANDBOXD_OPTION_BUILD_NET,
    SANDBOXD_OPTION_PREVIEW_URL,
    SANDBOXD_OPTION_ALLOW_WEAKER,
    SANDBOXD_OPTION_STATE_DIR,
    SANDBOXD_OPTION_LOG_LEVEL,
    SANDBOXD_OPTIONS
};

/* In the order of the choices of --build-net. */
enum sandboxd_net { SANDBOXD_NET_NONE, SANDBOXD_NET_HOST };

extern const struct option sandboxd_options[SANDBOXD_OPTIONS];

/* The administrator's key; without it the service makes one. */
#define SANDBOXD_KEY_ENV "GATEHOUSE_SANDBOX_ADMIN_KEY"

/* As a row of a table. */
#define SANDBOXD_COMMAND                                                                           \
    {                                                                                              \
        .name = "serve", .summary = SANDBOXD_SUMMARY, .options = sandboxd_options,                 \
        .option_count = SANDBOXD_OPTIONS                                                           \
    }

#endif
