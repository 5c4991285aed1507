/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `gatehouse ask`. */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include "base/options/options.h"
#include "cli/programs.h"

enum { ASK_OPTION_NOTIFICATIONS, ASK_OPTIONS };

extern const struct option ask_options[ASK_OPTIONS];

/* As a row of a table. */
#define ASK_COMMAND                                                                                \
    {                                                                                              \
        .name = "ask", .summary = ASK_SUMMARY, .options = ask_options, .option_count = ASK_OPTIONS \
    }

#endif
