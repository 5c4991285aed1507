/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `gatehouse rules`: one table for the front door, which shows help and completions
 * and starts the program, and for gatehouse-rules, which does the work.
 */
#ifndef CLI_RULES_H
#define CLI_RULES_H

#include "base/options/options.h"
#include "cli/programs.h"

/* Options of all its commands. */
enum { RULES_OPTION_SETTINGS_DIR, RULES_OPTION_STATE_DIR, RULES_OPTIONS };

enum { RULES_LIST, RULES_ADD, RULES_REVOKE, RULES_RM, RULES_EXPLAIN, RULES_COMMANDS };

enum { RULES_LIST_JSON, RULES_LIST_GROUP, RULES_LIST_OPTIONS };

enum { RULES_ADD_COUNT_IN, RULES_ADD_CWD, RULES_ADD_EXPIRES, RULES_ADD_NOTE, RULES_ADD_OPTIONS };
enum { RULES_ADD_ARG_EFFECT, RULES_ADD_ARG_GROUP, RULES_ADD_ARG_MATCH, RULES_ADD_ARGUMENTS };

enum { RULES_REVOKE_GROUP, RULES_REVOKE_OPTIONS };
enum { RULES_REVOKE_ARG_RULE, RULES_REVOKE_ARGUMENTS };

enum {
    RULES_EXPLAIN_CWD,
    RULES_EXPLAIN_RESOLVED,
    /* The modes of groups, in the order of enum catalog_group. */
    RULES_EXPLAIN_PERMISSION_READ,
    RULES_EXPLAIN_PERMISSION_WRITE,
    RULES_EXPLAIN_PERMISSION_SHELL,
    RULES_EXPLAIN_PERMISSION_COMPUTER,
    RULES_EXPLAIN_PERMISSION_BROWSER,
    RULES_EXPLAIN_OPTIONS
};
enum { RULES_EXPLAIN_ARG_GROUP, RULES_EXPLAIN_ARG_RESOURCE, RULES_EXPLAIN_ARGUMENTS };

extern const struct option rules_options[RULES_OPTIONS];
extern const struct option_command rules_commands[RULES_COMMANDS];

/* Names of the groups, NULL-terminated. */
extern const char *const rules_groups[];

/* As a row of a table. */
#define RULES_COMMAND                                                                              \
    {                                                                                              \
        .name = "rules", .summary = RULES_SUMMARY, .options = rules_options,                       \
        .option_count = RULES_OPTIONS, .commands = rules_commands, .command_count = RULES_COMMANDS \
    }

#endif
