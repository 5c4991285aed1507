/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `gatehouse backup`: for the front door, and for gatehouse-backup. */
#ifndef CLI_BACKUP_H
#define CLI_BACKUP_H

#include "base/options/options.h"
#include "cli/programs.h"

enum { BACKUP_OPTION_STATE_DIR, BACKUP_OPTIONS };
enum { BACKUP_ARGUMENT_FILE, BACKUP_ARGUMENTS };

extern const struct option backup_options[BACKUP_OPTIONS];
extern const struct option_argument backup_arguments[BACKUP_ARGUMENTS];

/* As a row of a table. */
#define BACKUP_COMMAND                                                                             \
    {                                                                                              \
        .name = "backup", .summary = BACKUP_SUMMARY, .options = backup_options,                    \
        .option_count = BACKUP_OPTIONS, .arguments = backup_arguments,                             \
        .argument_count = BACKUP_ARGUMENTS                                                         \
    }

#endif
