/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/clean.h"

const struct option clean_options[CLEAN_OPTIONS] = {
    [CLEAN_OPTION_STATE_DIR] = {.name = "state-dir",
                                .type = OPTION_DIR,
                                .help = "the state directory of the sessions that were killed"},
};

const struct option_argument clean_arguments[CLEAN_ARGUMENTS] = {
    [CLEAN_ARGUMENT_DIR] = {.name = "DIR", .type = OPTION_DIR, .help = "the folder"},
};
