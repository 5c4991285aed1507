/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/search.h"

static const char *const colours[] = {
    [SEARCH_COLOUR_AUTO] = "auto",
    [SEARCH_COLOUR_ALWAYS] = "always",
    [SEARCH_COLOUR_NEVER] = "never",
    [SEARCH_COLOUR_NEVER + 1] = NULL,
};

const struct option search_options[SEARCH_OPTIONS] = {
    [SEARCH_OPTION_LITERAL] = {.name = "literal",
                               .letter = 'F',
                               .help =
                                   "treat the pattern as plain text, not as a regular expression"},
    [SEARCH_OPTION_IGNORE_CASE] = {.name = "ignore-case",
                                   .letter = 'i',
                                   .help = "ignore the difference between upper and lower case"},
    [SEARCH_OPTION_GLOB] = {.name = "glob",
                            .letter = 'g',
                            .type = OPTION_LIST,
                            .placeholder = "GLOB",
                            .help = "search only files matching GLOB, like '*.c' or 'src/**'; "
                                    "repeatable or comma-separated"},
    [SEARCH_OPTION_FILES] = {.name = "files", .help = "find files by name; the pattern is a glob"},
    [SEARCH_OPTION_COUNT] = {.name = "count",
                             .letter = 'c',
                             .help = "print only the total number of matches"},
    [SEARCH_OPTION_CONTEXT] = {.name = "context",
                               .letter = 'C',
                               .type = OPTION_INT,
                               .min = 0,
                               .max = SEARCH_OPTION_MOST_CONTEXT,
                               .fallback = "0",
                               .help = "lines to show before and after each match"},
    [SEARCH_OPTION_MAX_RESULTS] = {.name = "max-results",
                                   .letter = 'm',
                                   .type = OPTION_INT,
                                   .min = 1,
                                   .max = SEARCH_OPTION_MOST_RESULTS,
                                   .fallback = "1000",
                                   .help =
                                       "maximum number of lines or files to show; all are counted"},
    [SEARCH_OPTION_MAX_FILE_SIZE] = {.name = "max-file-size",
                                     .type = OPTION_BYTES,
                                     .min = 1,
                                     .max = INT64_MAX,
                                     .help = "skip larger files"},
    [SEARCH_OPTION_IGNORE] = {.name = "ignore",
                              .fallback = "yes",
                              .help = "skip files that .gitignore and .ignore list"},
    [SEARCH_OPTION_HIDDEN] = {.name = "hidden",
                              .help =
                                  "also search dot files and folders of downloads or build output"},
    [SEARCH_OPTION_DENY] =
        {.name = "deny",
         .type = OPTION_LIST,
         .env = "GATEHOUSE_DENY",
         .placeholder = "GLOB",
         .help = "hide files matching GLOB, like '**/.env'; repeatable or comma-separated"},
    [SEARCH_OPTION_THREADS] = {.name = "threads",
                               .type = OPTION_INT,
                               .min = 1,
                               .max = SEARCH_OPTION_MOST_THREADS,
                               .help = "number of threads (default: one per core)"},
    [SEARCH_OPTION_JSON] = {.name = "json",
                            .help = "print a JSON object per match (the default when the output is "
                                    "not a terminal; --no-json turns it off)"},
    [SEARCH_OPTION_COLOR] = {.name = "color",
                             .type = OPTION_CHOICE,
                             .choices = colours,
                             .fallback = "auto",
                             .help = "when to use colours"},
    [SEARCH_OPTION_STATE_DIR] =
        {.name = "state-dir",
         .type = OPTION_DIR,
         .env = "GATEHOUSE_STATE_DIR",
         .help = "directory of the audit log (default: ~/.local/state/gatehouse)"},
};

const struct option_argument search_arguments[SEARCH_ARGUMENTS] = {
    [SEARCH_ARGUMENT_PATTERN] = {.name = "PATTERN",
                                 .type = OPTION_TEXT,
                                 .help = "a regular expression; with --files a glob"},
    [SEARCH_ARGUMENT_DIR] = {.name = "DIR",
                             .type = OPTION_DIR,
                             .is_optional = true,
                             .help = "the folder (default: the current one)"},
};
