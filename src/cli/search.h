/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `gatehouse search`: one table for the front door, which shows help and completions
 * and starts the program, and for gatehouse-search, which does the work. Where ripgrep has the same
 * option, it has the same name, letter and meaning.
 */
#ifndef CLI_SEARCH_H
#define CLI_SEARCH_H

#include "base/options/options.h"
#include "cli/programs.h"

enum {
    SEARCH_OPTION_REGEXP,
    SEARCH_OPTION_LITERAL,
    SEARCH_OPTION_IGNORE_CASE,
    SEARCH_OPTION_SMART_CASE,
    SEARCH_OPTION_CASE_SENSITIVE,
    SEARCH_OPTION_WORD,
    SEARCH_OPTION_LINE,
    SEARCH_OPTION_INVERT,
    SEARCH_OPTION_GLOB,
    SEARCH_OPTION_TYPE,
    SEARCH_OPTION_FILES,
    SEARCH_OPTION_WITH_MATCHES,
    SEARCH_OPTION_COUNT,
    SEARCH_OPTION_ONLY_MATCHING,
    SEARCH_OPTION_QUIET,
    SEARCH_OPTION_LINE_NUMBER,
    SEARCH_OPTION_NO_LINE_NUMBER,
    SEARCH_OPTION_WITH_FILENAME,
    SEARCH_OPTION_NO_FILENAME,
    SEARCH_OPTION_HEADING,
    SEARCH_OPTION_AFTER,
    SEARCH_OPTION_BEFORE,
    SEARCH_OPTION_CONTEXT,
    SEARCH_OPTION_MAX_RESULTS,
    SEARCH_OPTION_MAX_FILE_SIZE,
    SEARCH_OPTION_IGNORE,
    SEARCH_OPTION_HIDDEN,
    SEARCH_OPTION_UNRESTRICTED,
    SEARCH_OPTION_DENY,
    SEARCH_OPTION_THREADS,
    SEARCH_OPTION_JSON,
    SEARCH_OPTION_COLOR,
    SEARCH_OPTION_STATE_DIR,
    SEARCH_OPTIONS
};

enum { SEARCH_ARGUMENT_PATTERN, SEARCH_ARGUMENT_PATH, SEARCH_ARGUMENTS };

/* In the order of the choices of --color. */
enum search_colour { SEARCH_COLOUR_AUTO, SEARCH_COLOUR_ALWAYS, SEARCH_COLOUR_NEVER };

/* Limits of search_run(); gatehouse-search asserts that they are equal. */
enum {
    SEARCH_OPTION_MOST_RESULTS = 10000,
    SEARCH_OPTION_MOST_CONTEXT = 20,
    SEARCH_OPTION_MOST_THREADS = 8,
};

extern const struct option search_options[SEARCH_OPTIONS];
extern const struct option_argument search_arguments[SEARCH_ARGUMENTS];

/* As a row of a table. */
#define SEARCH_COMMAND                                                                             \
    {                                                                                              \
        .name = "search", .summary = SEARCH_SUMMARY, .options = search_options,                    \
        .option_count = SEARCH_OPTIONS, .arguments = search_arguments,                             \
        .argument_count = SEARCH_ARGUMENTS                                                         \
    }

#endif
