/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `gatehouse audit`: one table for the front door, which shows help and completions
 * and starts the program, and for gatehouse-audit, which does the work.
 */
#ifndef CLI_AUDIT_H
#define CLI_AUDIT_H

#include "base/options/options.h"
#include "cli/programs.h"

enum {
    AUDIT_OPTION_SINCE,
    AUDIT_OPTION_UNTIL,
    AUDIT_OPTION_TOOL,
    AUDIT_OPTION_PATH,
    AUDIT_OPTION_OPERATION,
    AUDIT_OPTION_OUTCOME,
    AUDIT_OPTION_DECISION,
    AUDIT_OPTION_SUBJECT,
    AUDIT_OPTION_VERBOSE,
    AUDIT_OPTION_ALL,
    AUDIT_OPTION_LIMIT,
    AUDIT_OPTION_FOLLOW,
    AUDIT_OPTION_JSON,
    AUDIT_OPTION_COLOR,
    AUDIT_OPTION_SERVER,
    AUDIT_OPTION_STATE_DIR,
    AUDIT_OPTIONS
};

/* In the order of the choices of --outcome. */
enum audit_shown_outcome {
    AUDIT_SHOWN_SUCCESS,
    AUDIT_SHOWN_DENIED,
    AUDIT_SHOWN_FAILED,
    AUDIT_SHOWN_INTERRUPTED, /* an intent without an outcome */
};

/* In the order of the choices of --color. */
enum audit_colour { AUDIT_COLOUR_AUTO, AUDIT_COLOUR_ALWAYS, AUDIT_COLOUR_NEVER };

enum { AUDIT_OPTION_MOST_ROWS = 100000 };

extern const struct option audit_options[AUDIT_OPTIONS];

/* As a row of a table. */
#define AUDIT_COMMAND                                                                              \
    {                                                                                              \
        .name = "audit", .summary = AUDIT_SUMMARY, .options = audit_options,                       \
        .option_count = AUDIT_OPTIONS                                                              \
    }

#endif
