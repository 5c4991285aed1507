/* SPDX-License-Identifier: Apache-2.0 */
/* The options of gatehouse-screen: none, since only our own programs start it. */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include "base/options/options.h"
#include "cli/programs.h"

/* As a row of a table. */
#define SCREEN_COMMAND                                                                             \
    {                                                                                              \
        .name = "screen", .summary = SCREEN_SUMMARY                                                \
    }

#endif
