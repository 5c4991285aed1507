/* SPDX-License-Identifier: Apache-2.0 */
/* The options of gatehouse-media, which only our own programs start. */
#ifndef CLI_MEDIA_H
#define CLI_MEDIA_H

#include "base/options/options.h"
#include "cli/programs.h"

enum { MEDIA_OPTION_JOB, MEDIA_OPTIONS };

extern const struct option media_options[MEDIA_OPTIONS];

/* As a row of a table. */
#define MEDIA_COMMAND                                                                              \
    {                                                                                              \
        .name = "media", .summary = MEDIA_SUMMARY, .options = media_options,                       \
        .option_count = MEDIA_OPTIONS                                                              \
    }

#endif
