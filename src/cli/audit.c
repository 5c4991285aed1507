/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit.h"

static const char *const outcomes[] = {
    [AUDIT_SHOWN_SUCCESS] = "success",    [AUDIT_SHOWN_DENIED] = "denied",
    [AUDIT_SHOWN_FAILED] = "failed",      [AUDIT_SHOWN_INTERRUPTED] = "interrupted",
    [AUDIT_SHOWN_INTERRUPTED + 1] = NULL,
};

/* As in records; tests/unit/cli/test_audit.c compares both with the code that writes them. */
static const char *const operations[] = {
    "request-root",   "read",        "write",    "append",  "list",      "metadata",
    "mkdir",          "move",        "copy",     "copy-in", "delete",    "archive-extract",
    "archive-create", "create-temp", "watch",    "walk",    "search",    "execute",
    "call",           "sign-in",     "sign-out", "account", "agent-key", "consent",
    "pair",           "request",     NULL,
};

static const char *const decisions[] = {
    "protected", "deny-rule", "allow-rule", "session-rule", "mode", "user",
    "nobody",    "malformed", "grant",      "default",      NULL,
};

static const char *const colours[] = {
    [AUDIT_COLOUR_AUTO] = "auto",
    [AUDIT_COLOUR_ALWAYS] = "always",
    [AUDIT_COLOUR_NEVER] = "never",
    [AUDIT_COLOUR_NEVER + 1] = NULL,
};

const struct option audit_options[AUDIT_OPTIONS] = {
    [AUDIT_OPTION_SINCE] = {.name = "since",
                            .type = OPTION_TEXT,
                            .placeholder = "TIME",
                            .help = "show entries from this time on: 2h, 7d, today, yesterday, "
                                    "2026-03-01, 2026-03-01T12:00"},
    [AUDIT_OPTION_UNTIL] = {.name = "until",
                            .type = OPTION_TEXT,
                            .placeholder = "TIME",
                            .help = "show entries before this time"},
    [AUDIT_OPTION_TOOL] = {.name = "tool",
                           .type = OPTION_TEXT,
                           .placeholder = "NAME",
                           .help = "show calls of this tool only"},
    [AUDIT_OPTION_PATH] =
        {.name = "path",
         .type = OPTION_PATH,
         .placeholder = "NAME",
         .help =
             "show what was done to this path or below it; absolute, or relative to the folder"},
    [AUDIT_OPTION_OPERATION] = {.name = "operation",
                                .type = OPTION_CHOICE,
                                .choices = operations,
                                .placeholder = "WORD",
                                .help = "read, write, delete, move, execute, …"},
    [AUDIT_OPTION_OUTCOME] = {.name = "outcome",
                              .type = OPTION_CHOICE,
                              .choices = outcomes,
                              .help = "how it ended"},
    [AUDIT_OPTION_DECISION] =
        {.name = "decision",
         .type = OPTION_CHOICE,
         .choices = decisions,
         .placeholder = "WORD",
         .help = "show what was decided by this: allow-rule, deny-rule, mode, user, …"},
    [AUDIT_OPTION_SUBJECT] = {.name = "subject",
                              .alias = "session",
                              .type = OPTION_TEXT,
                              .placeholder = "ID",
                              .help = "show only this agent, program or run"},
    [AUDIT_OPTION_VERBOSE] = {.name = "verbose",
                              .letter = 'v',
                              .help = "show the steps of each call: every file operation"},
    [AUDIT_OPTION_ALL] =
        {.name = "all",
         .letter = 'a',
         .help = "include what Gatehouse does for itself, such as reading its settings"},
    [AUDIT_OPTION_LIMIT] = {.name = "limit",
                            .letter = 'n',
                            .type = OPTION_INT,
                            .min = 0,
                            .max = AUDIT_OPTION_MOST_ROWS,
                            .fallback = "200",
                            .help = "show this many of the newest entries; 0 shows all"},
    [AUDIT_OPTION_FOLLOW] = {.name = "follow",
                             .letter = 'f',
                             .help = "keep printing new entries until interrupted"},
    [AUDIT_OPTION_JSON] = {.name = "json",
                           .help = "print the raw entries, one JSON object per line"},
    [AUDIT_OPTION_COLOR] = {.name = "color",
                            .type = OPTION_CHOICE,
                            .choices = colours,
                            .fallback = "auto",
                            .help = "when to use colours"},
    [AUDIT_OPTION_SERVER] = {.name = "server",
                             .help = "show the log of the server: sign-ins, users, keys, refused "
                                     "requests"},
    [AUDIT_OPTION_STATE_DIR] =
        {.name = "state-dir",
         .type = OPTION_DIR,
         .env = "GATEHOUSE_STATE_DIR",
         .help = "directory of the audit log (default: ~/.local/state/gatehouse)"},
};
