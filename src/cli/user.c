/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/user.h"

#include "cli/shared.h"

const struct option user_options[USER_OPTIONS] = {
    [USER_OPTION_STATE_DIR] = {.name = "state-dir",
                               .type = OPTION_DIR,
                               .env = "GATEHOUSE_STATE_DIR",
                               .help = "the server's state directory (default: "
                                       "~/.local/state/gatehouse)"},
    [USER_OPTION_AUDIT_SYNC] = {SHARED_AUDIT_SYNC},
};

static const struct option add_options[USER_ADD_OPTIONS] = {
    [USER_ADD_NO_PASSWORD] = {.name = "no-password",
                              .help = "ask for no password: the user signs in by login link, or "
                                      "through a trusted proxy"},
};

static const struct option list_options[USER_LIST_OPTIONS] = {
    [USER_LIST_JSON] = {.name = "json", .help = "print JSON"},
};

static const struct option_argument new_argument[USER_ARGUMENTS] = {
    [USER_ARGUMENT_NAME] = {.name = "NAME", .type = OPTION_TEXT, .help = "the user's name"},
};

static const struct option_argument name_argument[USER_ARGUMENTS] = {
    [USER_ARGUMENT_NAME] = {.name = "NAME",
                            .type = OPTION_TEXT,
                            .names = "users",
                            .help = "the user's name"},
};

static const struct option_argument owner_argument[USER_ARGUMENTS] = {
    [USER_ARGUMENT_NAME] = {.name = "NAME",
                            .type = OPTION_TEXT,
                            .names = "users",
                            .is_optional = true,
                            .help = "the user's name (default: owner)"},
};

const struct option_command user_commands[USER_COMMANDS] = {
    [USER_ADD] = {.name = "add",
                  .summary = "add a user with a password, from the terminal or standard input",
                  .options = add_options,
                  .option_count = USER_ADD_OPTIONS,
                  .arguments = new_argument,
                  .argument_count = USER_ARGUMENTS},
    [USER_LIST] = {.name = "list",
                   .alias = "ls",
                   .summary = "show the users",
                   .options = list_options,
                   .option_count = USER_LIST_OPTIONS},
    [USER_LOGIN_LINK] = {.name = "login-link",
                         .summary = "print a link that signs in once, within 15 minutes",
                         .arguments = owner_argument,
                         .argument_count = USER_ARGUMENTS},
    [USER_PASSWD] = {.name = "passwd",
                     .summary = "set a user's password, and end all sessions",
                     .arguments = name_argument,
                     .argument_count = USER_ARGUMENTS},
    [USER_REMOVE] = {.name = "remove",
                     .alias = "rm",
                     .summary = "remove a user, with sessions, agent keys and machine",
                     .arguments = name_argument,
                     .argument_count = USER_ARGUMENTS},
};
