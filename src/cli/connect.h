/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `gatehouse connect`: for the front door and for gatehouse-daemon. Names and
 * variables are those of the program it replaces, so that a user changes only the name.
 */
#ifndef CLI_CONNECT_H
#define CLI_CONNECT_H

#include "base/options/options.h"
#include "cli/programs.h"

enum {
    CONNECT_OPTION_URL,
    CONNECT_OPTION_API_KEY,
    CONNECT_OPTION_DIR,
    CONNECT_OPTION_RO,
    CONNECT_OPTION_RW,
    CONNECT_OPTION_DENY,
    CONNECT_OPTION_ALLOW,
    CONNECT_OPTION_HARD_LINKS,
    CONNECT_OPTION_MAX_FILE_SIZE,
    CONNECT_OPTION_MAX_LINES,
    CONNECT_OPTION_STATE_DIR,
    CONNECT_OPTION_AUDIT_SYNC,
    CONNECT_OPTION_SETTINGS_DIR,
    CONNECT_OPTION_LOG_LEVEL,
    CONNECT_OPTION_KEEP_SESSION,
    CONNECT_OPTION_LOG_FILE,
    CONNECT_OPTION_NOTIFICATIONS,
    CONNECT_OPTION_CA_FILE,
    CONNECT_OPTION_PORT,
    CONNECT_OPTION_ALLOWED_ORIGINS,
    CONNECT_OPTION_WRITE_ACCESS,
    CONNECT_OPTION_PERMISSION_READ,
    CONNECT_OPTION_PERMISSION_WRITE,
    CONNECT_OPTION_PERMISSION_SHELL,
    CONNECT_OPTION_SENSITIVE,
    CONNECT_OPTION_AUTORUN,
    CONNECT_OPTION_PERMISSION_COMPUTER,
    CONNECT_OPTION_PERMISSION_BROWSER,
    CONNECT_OPTION_BROWSER,
    CONNECT_OPTION_BROWSER_DEFAULT,
    CONNECT_OPTION_BROWSER_HEADLESS,
    CONNECT_OPTION_CONFIRMATION,
    CONNECT_OPTION_REMOTE_ALWAYS,
    CONNECT_OPTION_AUTO_CONFIRM,
    CONNECT_OPTION_NON_INTERACTIVE,
    CONNECT_OPTION_SHELL_NETWORK,
    CONNECT_OPTION_SHELL_DOMAIN,
    CONNECT_OPTION_SHELL_WRITABLE,
    CONNECT_OPTION_SHELL_READABLE,
    CONNECT_OPTION_SHELL_ENV,
    CONNECT_OPTION_SHELL_TIMEOUT,
    CONNECT_OPTION_SHELL_OPEN,
    CONNECT_OPTIONS
};

enum { CONNECT_ARGUMENT_URL, CONNECT_ARGUMENT_TOKEN, CONNECT_ARGUMENT_DIR, CONNECT_ARGUMENTS };

/* In the order of the choices of --permission-confirmation. */
enum connect_confirmation { CONNECT_CONFIRM_CLIENT, CONNECT_CONFIRM_INSTANCE };

extern const struct option connect_options[CONNECT_OPTIONS];
extern const struct option_argument connect_arguments[CONNECT_ARGUMENTS];

/* From the arguments, or without any from the options of the same meaning; or NULL. */
const char *connect_url(const struct option_values *values);
const char *connect_token(const struct option_values *values);

/* A pre-shared key, instead of a token. */
#define CONNECT_KEY_ENV "N8N_INSTANCE_AI_GATEWAY_API_KEY"

/* As a row of a table. */
#define CONNECT_COMMAND                                                                            \
    {                                                                                              \
        .name = "connect", .summary = CONNECT_SUMMARY, .options = connect_options,                 \
        .option_count = CONNECT_OPTIONS, .arguments = connect_arguments,                           \
        .argument_count = CONNECT_ARGUMENTS                                                        \
    }

#endif
