/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `gatehouse agent`: for the front door, and for gatehouse-agent. */
#ifndef CLI_AGENT_H
#define CLI_AGENT_H

#include "base/options/options.h"
#include "cli/programs.h"

enum { AGENT_OPTION_USER, AGENT_OPTION_STATE_DIR, AGENT_OPTION_AUDIT_SYNC, AGENT_OPTIONS };
enum { AGENT_ADD, AGENT_LIST, AGENT_REMOVE, AGENT_COMMANDS };
enum { AGENT_ADD_TOOLS, AGENT_ADD_WORKSPACE, AGENT_ADD_ASK, AGENT_ADD_OPTIONS };
enum { AGENT_LIST_JSON, AGENT_LIST_OPTIONS };
enum { AGENT_ARGUMENT_NAME, AGENT_ARGUMENTS };

extern const struct option agent_options[AGENT_OPTIONS];
extern const struct option_command agent_commands[AGENT_COMMANDS];

/* As a row of a table. */
#define AGENT_COMMAND                                                                              \
    {                                                                                              \
        .name = "agent", .summary = AGENT_SUMMARY, .options = agent_options,                       \
        .option_count = AGENT_OPTIONS, .commands = agent_commands, .command_count = AGENT_COMMANDS \
    }

#endif
