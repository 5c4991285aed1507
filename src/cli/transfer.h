/* SPDX-License-Identifier: Apache-2.0 */
/* The options of gatehouse-transfer, which only our own programs start. */
#ifndef CLI_TRANSFER_H
#define CLI_TRANSFER_H

#include "base/options/options.h"
#include "cli/programs.h"

enum {
    TRANSFER_OPTION_HOST,
    TRANSFER_OPTION_KNOWN_HOSTS,
    TRANSFER_OPTION_CREDENTIALS,
    TRANSFER_OPTION_TENANT,
    TRANSFER_OPTIONS
};

extern const struct option transfer_options[TRANSFER_OPTIONS];

/* As a row of a table. */
#define TRANSFER_COMMAND                                                                           \
    {                                                                                              \
        .name = "transfer", .summary = TRANSFER_SUMMARY, .options = transfer_options,              \
        .option_count = TRANSFER_OPTIONS                                                           \
    }

#endif
