/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/media.h"

static const char *const jobs[] = {"image", "document", "text", "serve", NULL};

const struct option media_options[MEDIA_OPTIONS] = {
    [MEDIA_OPTION_JOB] = {.name = "job",
                          .type = OPTION_CHOICE,
                          .choices = jobs,
                          .help = "which kind of request comes; serve: start one of these "
                                  "for each request"},
};
