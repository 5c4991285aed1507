/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `gatehouse authority`. */
#ifndef CLI_AUTHORITY_H
#define CLI_AUTHORITY_H

#include "base/options/options.h"
#include "cli/programs.h"

enum {
    AUTHORITY_OPTION_MEMORY,
    AUTHORITY_OPTION_STATE_DIR,
    AUTHORITY_OPTION_AUDIT_SYNC,
    AUTHORITY_OPTION_LOG_LEVEL,
    AUTHORITY_OPTIONS
};
enum { AUTHORITY_ARGUMENT_DIRECTORY, AUTHORITY_ARGUMENTS };

extern const struct option authority_options[AUTHORITY_OPTIONS];
extern const struct option_argument authority_arguments[AUTHORITY_ARGUMENTS];

/* As a row of a table. */
#define AUTHORITY_COMMAND                                                                          \
    {                                                                                              \
        .name = "authority", .summary = AUTHORITY_SUMMARY, .options = authority_options,           \
        .option_count = AUTHORITY_OPTIONS, .arguments = authority_arguments,                       \
        .argument_count = AUTHORITY_ARGUMENTS                                                      \
    }

#endif
