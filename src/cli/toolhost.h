/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of gatehouse-toolhost: for the front ends that start it, and for itself. Users do not
 * call it, so nothing comes from the environment.
 */
#ifndef CLI_TOOLHOST_H
#define CLI_TOOLHOST_H

#include "base/options/options.h"
#include "cli/programs.h"

enum {
    TOOLHOST_OPTION_FD,
    TOOLHOST_OPTION_MEDIA_FD,
    TOOLHOST_OPTION_WRITE,
    TOOLHOST_OPTION_RO,
    TOOLHOST_OPTION_RW,
    TOOLHOST_OPTION_HARD_LINKS,
    TOOLHOST_OPTION_SEARCH_SENSITIVE,
    TOOLHOST_OPTION_DENY,
    TOOLHOST_OPTION_ALLOW,
    TOOLHOST_OPTION_MAX_FILE_SIZE,
    TOOLHOST_OPTION_MAX_LINES,
    TOOLHOST_OPTION_MAX_MATCHES,
    TOOLHOST_OPTION_STATE_DIR,
    TOOLHOST_OPTION_SETTINGS_DIR,
    TOOLHOST_OPTION_RECORD_DIR,
    TOOLHOST_OPTION_STAGING_DIR,
    TOOLHOST_OPTION_LOG_LEVEL,
    TOOLHOST_OPTIONS
};

enum { TOOLHOST_ARGUMENT_DIR, TOOLHOST_ARGUMENTS };

extern const struct option toolhost_options[TOOLHOST_OPTIONS];
extern const struct option_argument toolhost_arguments[TOOLHOST_ARGUMENTS];

/* As a row of a table. */
#define TOOLHOST_COMMAND                                                                           \
    {                                                                                              \
        .name = "toolhost", .summary = TOOLHOST_SUMMARY, .options = toolhost_options,              \
        .option_count = TOOLHOST_OPTIONS, .arguments = toolhost_arguments,                         \
        .argument_count = TOOLHOST_ARGUMENTS                                                       \
    }

#endif
