/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen.h"

const struct option screen_options[SCREEN_OPTIONS] = {
    [SCREEN_OPTION_CHECK] = {.name = "check",
                             .help = "print which display can be used and why, and exit"},
};
