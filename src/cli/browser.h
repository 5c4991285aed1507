/* SPDX-License-Identifier: Apache-2.0 */
/* The options of gatehouse-browser: for the front ends that start it, and for itself. */
#ifndef CLI_BROWSER_H
#define CLI_BROWSER_H

#include "base/options/options.h"
#include "cli/programs.h"

enum {
    BROWSER_OPTION_STATE_DIR,
    BROWSER_OPTION_STAGING_DIR,
    BROWSER_OPTION_HEADLESS,
    BROWSER_OPTIONS
};

extern const struct option browser_options[BROWSER_OPTIONS];

/* As a row of a table. */
#define BROWSER_COMMAND                                                                            \
    {                                                                                              \
        .name = "browser", .summary = BROWSER_SUMMARY, .options = browser_options,                 \
        .option_count = BROWSER_OPTIONS                                                            \
    }

#endif
