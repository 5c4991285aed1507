/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `gatehouse stop`: none. */
#ifndef CLI_STOPINPUT_H
#define CLI_STOPINPUT_H

#include "base/options/options.h"
#include "cli/programs.h"

/* As a row of a table. */
#define STOP_COMMAND                                                                               \
    {                                                                                              \
        .name = "stop", .summary = STOP_SUMMARY                                                    \
    }

#endif
