/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `gatehouse sandbox`. */
#ifndef CLI_SANDBOX_H
#define CLI_SANDBOX_H

#include "base/err.h"
#include "base/options/options.h"
#include "cli/programs.h"

enum {
    SANDBOX_RUN,
    SANDBOX_CHECK,
    SANDBOX_SERVE,
    /* These ask a service, by gatehouse-sandboxctl. */
    SANDBOX_CREATE,
    SANDBOX_EXEC,
    SANDBOX_CP,
    SANDBOX_LS,
    SANDBOX_INSPECT,
    SANDBOX_LOGS,
    SANDBOX_STATS,
    SANDBOX_RM,
    SANDBOX_IMAGE,
    SANDBOX_COMMANDS
};

enum {
    SANDBOX_IMAGE_LS,
    SANDBOX_IMAGE_BUILD,
    SANDBOX_IMAGE_IMPORT,
    SANDBOX_IMAGE_NAME,
    SANDBOX_IMAGE_RM,
    SANDBOX_IMAGE_COMMANDS
};

/* The first options of all commands that ask a service. */
enum {
    SANDBOX_ASK_URL,
    SANDBOX_ASK_CA_FILE,
    SANDBOX_ASK_STATE_DIR,
    SANDBOX_ASK_NO_START,
    SANDBOX_ASK_OPTIONS
};
enum {
    SANDBOX_CREATE_IMAGE = SANDBOX_ASK_OPTIONS,
    SANDBOX_CREATE_EPHEMERAL,
    SANDBOX_CREATE_MEMORY,
    SANDBOX_CREATE_CPUS,
    SANDBOX_CREATE_PIDS,
    SANDBOX_CREATE_ALLOW_IP,
    SANDBOX_CREATE_DENY_IP,
    SANDBOX_CREATE_DOMAIN,
    SANDBOX_CREATE_ID,
    SANDBOX_CREATE_OPTIONS
};
enum {
    SANDBOX_EXEC_INTERACTIVE = SANDBOX_ASK_OPTIONS,
    SANDBOX_EXEC_TTY,
    SANDBOX_EXEC_DETACH,
    SANDBOX_EXEC_ENV,
    SANDBOX_EXEC_WORKDIR,
    SANDBOX_EXEC_TIMEOUT,
    SANDBOX_EXEC_OPTIONS
};
enum { SANDBOX_LS_JSON = SANDBOX_ASK_OPTIONS, SANDBOX_LS_OPTIONS };
enum { SANDBOX_BUILD_CONTEXT = SANDBOX_ASK_OPTIONS, SANDBOX_BUILD_DOMAIN, SANDBOX_BUILD_OPTIONS };
enum { SANDBOX_LOGS_FOLLOW = SANDBOX_ASK_OPTIONS, SANDBOX_LOGS_OPTIONS };

/* The key of a service that is not this user's own. */
#define SANDBOX_KEY_ENV "GATEHOUSE_SANDBOX_KEY"

enum {
    SANDBOX_OPTION_NET,
    SANDBOX_OPTION_DOMAIN,
    SANDBOX_OPTION_RO,
    SANDBOX_OPTION_RW,
    SANDBOX_OPTION_HIDE,
    SANDBOX_OPTION_ENV,
    SANDBOX_OPTION_TIMEOUT,
    SANDBOX_OPTION_MEMORY,
    SANDBOX_OPTION_CPUS,
    SANDBOX_OPTION_PIDS,
    SANDBOX_OPTION_TMP_SIZE,
    SANDBOX_OPTION_ALLOW_WEAKER,
    SANDBOX_OPTION_VERBOSE,
    SANDBOX_OPTIONS
};

/* In the order of the choices of --net. */
enum sandbox_net { SANDBOX_NET_NONE, SANDBOX_NET_HOST };

/* Exit codes of `sandbox run`, besides those of the command. */
enum {
    SANDBOX_EXIT_TIMED_OUT = 124,
    SANDBOX_EXIT_FAILED = 125,
    SANDBOX_EXIT_CANNOT_RUN = 126,
    SANDBOX_EXIT_NOT_FOUND = 127,
    SANDBOX_EXIT_SIGNAL = 128, /* plus the signal's number */
};

extern const struct option_command sandbox_commands[SANDBOX_COMMANDS];
extern const struct option_command sandbox_image_commands[SANDBOX_IMAGE_COMMANDS];

/* Parses --cpus: "2", "0.5", "1.25". */
int sandbox_read_cores(const char *text, unsigned *out_percent, struct err *err);

/* As a row of a table. */
#define SANDBOX_COMMAND                                                                            \
    {                                                                                              \
        .name = "sandbox", .summary = SANDBOX_SUMMARY, .commands = sandbox_commands,               \
        .command_count = SANDBOX_COMMANDS                                                          \
    }

#endif
