/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/agent.h"

#include "cli/shared.h"

const struct option agent_options[AGENT_OPTIONS] = {
    [AGENT_OPTION_USER] = {.name = "user",
                           .type = OPTION_TEXT,
                           .placeholder = "NAME",
                           .fallback = "owner",
                           .help = "whose machine the agents use"},
    [AGENT_OPTION_STATE_DIR] = {.name = "state-dir",
                                .type = OPTION_DIR,
                                .env = "GATEHOUSE_STATE_DIR",
                                .help = "the server's state directory (default: "
                                        "~/.local/state/gatehouse)"},
    [AGENT_OPTION_AUDIT_SYNC] = {SHARED_AUDIT_SYNC},
};

static const char *const workspaces[] = {"isolated", "n8n-sandbox", "daytona", NULL};

static const struct option add_options[AGENT_ADD_OPTIONS] = {
    [AGENT_ADD_TOOLS] = {.name = "tools",
                         .type = OPTION_LIST,
                         .placeholder = "GROUP",
                         .help = "tools that the agent may use: read, write, shell, screen, "
                                 "browser, other; repeatable or comma-separated (default: all)"},
    [AGENT_ADD_WORKSPACE] = {.name = "workspace",
                             .type = OPTION_CHOICE,
                             .choices = workspaces,
                             .placeholder = "PROVIDER",
                             .help = "give the agent a workspace of its own for each conversation, "
                                     "instead of the machine"},
    [AGENT_ADD_ASK] = {.name = "ask",
                       .type = OPTION_LIST,
                       .placeholder = "GROUP",
                       .help = "tools of the workspace that need your permission each time: read, "
                               "write, shell; repeatable or comma-separated"},
};

static const struct option list_options[AGENT_LIST_OPTIONS] = {
    [AGENT_LIST_JSON] = {.name = "json", .help = "print JSON"},
};

static const struct option_argument new_argument[AGENT_ARGUMENTS] = {
    [AGENT_ARGUMENT_NAME] = {.name = "NAME", .type = OPTION_TEXT, .help = "the name of the agent"},
};

static const struct option_argument name_argument[AGENT_ARGUMENTS] = {
    [AGENT_ARGUMENT_NAME] = {.name = "NAME",
                             .type = OPTION_TEXT,
                             .names = "agents",
                             .help = "the name of the agent"},
};

const struct option_command agent_commands[AGENT_COMMANDS] = {
    [AGENT_ADD] = {.name = "add",
                   .summary = "create a key for an agent, and print it once",
                   .options = add_options,
                   .option_count = AGENT_ADD_OPTIONS,
                   .arguments = new_argument,
                   .argument_count = AGENT_ARGUMENTS},
    [AGENT_LIST] = {.name = "list",
                    .alias = "ls",
                    .summary = "show the agents",
                    .options = list_options,
                    .option_count = AGENT_LIST_OPTIONS},
    [AGENT_REMOVE] = {.name = "remove",
                      .alias = "rm",
                      .summary = "revoke an agent's key",
                      .arguments = name_argument,
                      .argument_count = AGENT_ARGUMENTS},
};
