/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of gatehouse-clean, which `gatehouse doctor --clean` starts: users do not call it, so
 * nothing comes from the environment.
 */
#ifndef CLI_CLEAN_H
#define CLI_CLEAN_H

#include "base/options/options.h"
#include "cli/programs.h"

enum { CLEAN_OPTION_STATE_DIR, CLEAN_OPTIONS };
enum { CLEAN_ARGUMENT_DIR, CLEAN_ARGUMENTS };

extern const struct option clean_options[CLEAN_OPTIONS];
extern const struct option_argument clean_arguments[CLEAN_ARGUMENTS];

/* As a row of a table. */
#define CLEAN_COMMAND                                                                              \
    {                                                                                              \
        .name = "clean", .summary = CLEAN_SUMMARY, .options = clean_options,                       \
        .option_count = CLEAN_OPTIONS, .arguments = clean_arguments,                               \
        .argument_count = CLEAN_ARGUMENTS                                                          \
    }

#endif
