/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `gatehouse serve`: for the front door, and for gatehouse-server. */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include "base/options/options.h"
#include "cli/programs.h"

enum {
    SERVE_OPTION_LISTEN,
    SERVE_OPTION_PUBLIC_URL,
    SERVE_OPTION_TLS_CERT,
    SERVE_OPTION_TLS_KEY,
    SERVE_OPTION_BEHIND_PROXY,
    SERVE_OPTION_TRUSTED_PROXY,
    SERVE_OPTION_TRUSTED_HEADER,
    SERVE_OPTION_CREATE_USERS,
    SERVE_OPTION_GATEWAY_KEY_USER,
    SERVE_OPTION_TIMEOUT,
    SERVE_OPTION_FS,
    SERVE_OPTION_FS_TENANT,
    SERVE_OPTION_FS_MEMORY,
    SERVE_OPTION_FS_MAX_FILE,
    SERVE_OPTION_FS_TRANSPORT_HOST,
    SERVE_OPTION_FS_TRANSPORT_KNOWN_HOSTS,
    SERVE_OPTION_FS_TRANSPORT_CREDENTIALS,
    SERVE_OPTION_NO_FS,
    SERVE_OPTION_WORKSPACE,
    SERVE_OPTION_WORKSPACE_SETUP,
    SERVE_OPTION_WORKSPACE_FILES,
    SERVE_OPTION_WORKSPACE_IDLE,
    SERVE_OPTION_COPIES,
    SERVE_OPTION_STATE_DIR,
    SERVE_OPTION_AUDIT_SYNC,
    SERVE_OPTION_LOG_LEVEL,
    SERVE_OPTION_LOG_FORMAT,
    SERVE_OPTION_CONFIG,
    SERVE_OPTIONS
};

extern const struct option serve_options[SERVE_OPTIONS];

/* A key that connects a machine without pairing; the daemon has the same variable. */
#define SERVE_STATIC_KEY_ENV "N8N_INSTANCE_AI_GATEWAY_API_KEY"

/* Set by `gatehouse up`: the state directory whose copies --copies shows, if not the server's. */
#define SERVE_COPIES_STATE_ENV "GATEHOUSE_COPIES_STATE_DIR"

/* Whoever has it may read /metrics. */
#define SERVE_METRICS_TOKEN_ENV "GATEHOUSE_METRICS_TOKEN"

/* As a row of a table. */
#define SERVE_COMMAND                                                                              \
    {                                                                                              \
        .name = "serve", .summary = SERVE_SUMMARY, .options = serve_options,                       \
        .option_count = SERVE_OPTIONS                                                              \
    }

#endif
