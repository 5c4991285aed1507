/* SPDX-License-Identifier: Apache-2.0 */
/* `gatehouse down`: ends a `gatehouse up` of this user from elsewhere, and waits until it has
 * ended. */
#ifndef PROGRAMS_GATEHOUSE_DOWN_H
#define PROGRAMS_GATEHOUSE_DOWN_H

#include "base/options/options.h"

enum { DOWN_OPTION_ALL, DOWN_OPTIONS };
enum { DOWN_ARGUMENT_DIR, DOWN_ARGUMENTS };

extern const struct option down_options[DOWN_OPTIONS];
extern const struct option_argument down_arguments[DOWN_ARGUMENTS];

#define DOWN_COMMAND                                                                               \
    {                                                                                              \
        .name = "down", .summary = DOWN_SUMMARY, .options = down_options,                          \
        .option_count = DOWN_OPTIONS, .arguments = down_arguments,                                 \
        .argument_count = DOWN_ARGUMENTS                                                           \
    }

/* Returns the exit status: 1 if there was none to end, or one did not end. */
int down_run(const struct option_values *values);

#endif
