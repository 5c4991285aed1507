/* SPDX-License-Identifier: Apache-2.0 */
/* The options of gatehouse-screen, which only our own programs start. */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include "base/options/options.h"
#include "cli/programs.h"

enum { SCREEN_OPTION_CHECK, SCREEN_OPTIONS };

extern const struct option screen_options[SCREEN_OPTIONS];

/* As a row of a table. */
#define SCREEN_COMMAND                                                                             \
    {                                                                                              \
        .name = "screen", .summary = SCREEN_SUMMARY, .options = screen_options,                    \
        .option_count = SCREEN_OPTIONS                                                             \
    }

#endif
