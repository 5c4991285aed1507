/* SPDX-License-Identifier: Apache-2.0 */
/* gatehouse-init has no options: its service tells it everything over a socket. */
#ifndef CLI_INIT_H
#define CLI_INIT_H

#include "base/options/options.h"
#include "cli/programs.h"

/* As a row of a table. */
#define INIT_COMMAND                                                                               \
    {                                                                                              \
        .name = "init", .summary = INIT_SUMMARY                                                    \
    }

#endif
