/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `gatehouse up`: the server and a daemon for one folder or several, together on this machine. They
 * know each other by a key that lives in their environment and nowhere else. Both end with this
 * process.
 */
#ifndef PROGRAMS_GATEHOUSE_UP_H
#define PROGRAMS_GATEHOUSE_UP_H

#include "base/options/options.h"

enum {
    UP_OPTION_RO,
    UP_OPTION_RW,
    UP_OPTION_DENY,
    UP_OPTION_ALLOW,
    UP_OPTION_HARD_LINKS,
    UP_OPTION_PORT,
    UP_OPTION_LISTEN,
    UP_OPTION_READ_ONLY,
    UP_OPTION_STATE_DIR,
    UP_OPTION_PERMISSION_READ,
    UP_OPTION_PERMISSION_WRITE,
    UP_OPTION_PERMISSION_SHELL,
    UP_OPTION_PERMISSION_COMPUTER,
    UP_OPTION_PERMISSION_BROWSER,
    UP_OPTION_SHELL_DOMAIN,
    UP_OPTION_SHELL_ENV,
    UP_OPTIONS
};
enum { UP_ARGUMENT_DIR, UP_ARGUMENTS };

extern const struct option up_options[UP_OPTIONS];
extern const struct option_argument up_arguments[UP_ARGUMENTS];

#define UP_COMMAND                                                                                 \
    {                                                                                              \
        .name = "up", .summary = UP_SUMMARY, .options = up_options, .option_count = UP_OPTIONS,    \
        .arguments = up_arguments, .argument_count = UP_ARGUMENTS                                  \
    }

/* Returns the exit status, when both have ended. */
int up_run(struct option_values *values);

#endif
