/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `gatehouse report`: one table for the front door, which shows help and completions
 * and starts the program, and for gatehouse-report, which does the work.
 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "base/options/options.h"
#include "cli/programs.h"

enum { REPORT_OPTION_LIST, REPORT_OPTION_OUTPUT, REPORT_OPTION_STATE_DIR, REPORT_OPTIONS };

enum { REPORT_ARGUMENT_SESSION, REPORT_ARGUMENTS };

extern const struct option report_options[REPORT_OPTIONS];
extern const struct option_argument report_arguments[REPORT_ARGUMENTS];

/* As a row of a table. */
#define REPORT_COMMAND                                                                             \
    {                                                                                              \
        .name = "report", .summary = REPORT_SUMMARY, .options = report_options,                    \
        .option_count = REPORT_OPTIONS, .arguments = report_arguments,                             \
        .argument_count = REPORT_ARGUMENTS                                                         \
    }

#endif
