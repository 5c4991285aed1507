/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `gatehouse user`: for the front door, and for gatehouse-user. */
#ifndef CLI_USER_H
#define CLI_USER_H

#include "base/options/options.h"
#include "cli/programs.h"

enum { USER_OPTION_STATE_DIR, USER_OPTION_AUDIT_SYNC, USER_OPTIONS };
enum { USER_ADD, USER_LIST, USER_LOGIN_LINK, USER_PASSWD, USER_REMOVE, USER_COMMANDS };
enum { USER_ADD_NO_PASSWORD, USER_ADD_OPTIONS };
enum { USER_LIST_JSON, USER_LIST_OPTIONS };
enum { USER_ARGUMENT_NAME, USER_ARGUMENTS };

extern const struct option user_options[USER_OPTIONS];
extern const struct option_command user_commands[USER_COMMANDS];

/* As a row of a table. */
#define USER_COMMAND                                                                               \
    {                                                                                              \
        .name = "user", .summary = USER_SUMMARY, .options = user_options,                          \
        .option_count = USER_OPTIONS, .commands = user_commands, .command_count = USER_COMMANDS    \
    }

#endif
