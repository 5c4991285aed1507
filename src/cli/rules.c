/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rules.h"

/* The last three are short names of the first two and of computer. */
const char *const rules_groups[] = {"filesystemRead", "filesystemWrite", "shell",
                                    "computer",       "browser",         "read",
                                    "write",          "screen",          NULL};

static const char *const effects[] = {"allow", "deny", NULL};

const struct option rules_options[RULES_OPTIONS] = {
    [RULES_OPTION_SETTINGS_DIR] = {.name = "settings-dir",
                                   .type = OPTION_DIR,
                                   .env = "GATEHOUSE_SETTINGS_DIR",
                                   .help = "directory of settings.json (default: ~/.n8n-gateway)"},
    [RULES_OPTION_STATE_DIR] =
        {.name = "state-dir",
         .type = OPTION_DIR,
         .env = "GATEHOUSE_STATE_DIR",
         .help = "directory of the audit log (default: ~/.local/state/gatehouse)"},
};

static const struct option list_options[RULES_LIST_OPTIONS] = {
    [RULES_LIST_JSON] = {.name = "json", .help = "print JSON"},
    [RULES_LIST_GROUP] = {.name = "group",
                          .letter = 'g',
                          .type = OPTION_CHOICE,
                          .choices = rules_groups,
                          .placeholder = "GROUP",
                          .help = "show only rules of this tool group"},
};

static const struct option add_options[RULES_ADD_OPTIONS] = {
    [RULES_ADD_COUNT_IN] = {.name = "count-in",
                            .type = OPTION_DIR,
                            .help = "for paths: show how many files in this folder the rule "
                                    "matches (default: the current one)"},
    [RULES_ADD_CWD] = {.name = "cwd",
                       .type = OPTION_DIR,
                       .help = "for commands: only in this folder or below"},
    [RULES_ADD_EXPIRES] =
        {.name = "expires",
         .type = OPTION_TEXT,
         .placeholder = "WHEN",
         .help = "end the rule after '30min', '2h', '7d', or at '2026-12-01', '2026-12-01T18:00Z'"},
    [RULES_ADD_NOTE] = {.name = "note",
                        .type = OPTION_TEXT,
                        .placeholder = "TEXT",
                        .help = "a note for yourself"},
};

static const struct option_argument add_arguments[RULES_ADD_ARGUMENTS] = {
    [RULES_ADD_ARG_EFFECT] = {.name = "EFFECT",
                              .type = OPTION_CHOICE,
                              .choices = effects,
                              .help = "allow or deny; a deny rule wins over every allow rule"},
    [RULES_ADD_ARG_GROUP] = {.name = "GROUP",
                             .type = OPTION_CHOICE,
                             .choices = rules_groups,
                             .help = "the tool group the rule applies to"},
    [RULES_ADD_ARG_MATCH] = {.name = "MATCH",
                             .type = OPTION_TEXT,
                             .help = "an absolute path, a command or a host, matched literally; or "
                                     "dir:PATH, glob:PATTERN, prefix:WORDS, host:NAME"},
};

static const struct option revoke_options[RULES_REVOKE_OPTIONS] = {
    [RULES_REVOKE_GROUP] = {.name = "group",
                            .letter = 'g',
                            .type = OPTION_CHOICE,
                            .choices = rules_groups,
                            .placeholder = "GROUP",
                            .help = "consider only rules of this tool group"},
};

static const struct option_argument revoke_arguments[RULES_REVOKE_ARGUMENTS] = {
    [RULES_REVOKE_ARG_RULE] =
        {.name = "RULE",
         .type = OPTION_TEXT,
         .help =
             "the rule's id or the first characters of it, or its match as 'rules list' shows it"},
};

/* As permission_mode_from() reads them. */
static const char *const modes[] = {"deny", "ask", "allow", NULL};

static const struct option explain_options[RULES_EXPLAIN_OPTIONS] = {
    [RULES_EXPLAIN_CWD] = {.name = "cwd",
                           .type = OPTION_DIR,
                           .help = "for a command: the folder it would run in"},
    [RULES_EXPLAIN_RESOLVED] = {.name = "resolved",
                                .type = OPTION_PATH,
                                .help = "for a path: where its symbolic links lead"},
    [RULES_EXPLAIN_PERMISSION_READ] = {.name = "permission-filesystem-read",
                                       .type = OPTION_CHOICE,
                                       .choices = modes,
                                       .help = "assume a session with this option"},
    [RULES_EXPLAIN_PERMISSION_WRITE] = {.name = "permission-filesystem-write",
                                        .type = OPTION_CHOICE,
                                        .choices = modes,
                                        .help = "assume a session with this option"},
    [RULES_EXPLAIN_PERMISSION_SHELL] = {.name = "permission-shell",
                                        .type = OPTION_CHOICE,
                                        .choices = modes,
                                        .help = "assume a session with this option"},
    [RULES_EXPLAIN_PERMISSION_COMPUTER] = {.name = "permission-computer",
                                           .type = OPTION_CHOICE,
                                           .choices = modes,
                                           .help = "assume a session with this option"},
    [RULES_EXPLAIN_PERMISSION_BROWSER] = {.name = "permission-browser",
                                          .type = OPTION_CHOICE,
                                          .choices = modes,
                                          .help = "assume a session with this option"},
};

static const struct option_argument explain_arguments[RULES_EXPLAIN_ARGUMENTS] = {
    [RULES_EXPLAIN_ARG_GROUP] = {.name = "GROUP",
                                 .type = OPTION_CHOICE,
                                 .choices = rules_groups,
                                 .help = "the tool group of the call"},
    [RULES_EXPLAIN_ARG_RESOURCE] = {.name = "RESOURCE",
                                    .type = OPTION_PATH,
                                    .help = "the absolute path, command or host"},
};

const struct option_command rules_commands[RULES_COMMANDS] = {
    [RULES_LIST] = {.name = "list",
                    .alias = "ls",
                    .summary = "show the rules",
                    .options = list_options,
                    .option_count = RULES_LIST_OPTIONS},
    [RULES_ADD] = {.name = "add",
                   .summary = "add a rule",
                   .options = add_options,
                   .option_count = RULES_ADD_OPTIONS,
                   .arguments = add_arguments,
                   .argument_count = RULES_ADD_ARGUMENTS},
    [RULES_REVOKE] = {.name = "revoke",
                      .summary = "remove a rule",
                      .options = revoke_options,
                      .option_count = RULES_REVOKE_OPTIONS,
                      .arguments = revoke_arguments,
                      .argument_count = RULES_REVOKE_ARGUMENTS},
    [RULES_RM] = {.name = "rm",
                  .alias = "remove",
                  .summary = "the same as revoke",
                  .options = revoke_options,
                  .option_count = RULES_REVOKE_OPTIONS,
                  .arguments = revoke_arguments,
                  .argument_count = RULES_REVOKE_ARGUMENTS},
    [RULES_EXPLAIN] = {.name = "explain",
                       .summary = "show what would be decided about a call, and why",
                       .options = explain_options,
                       .option_count = RULES_EXPLAIN_OPTIONS,
                       .arguments = explain_arguments,
                       .argument_count = RULES_EXPLAIN_ARGUMENTS},
};
