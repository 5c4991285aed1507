/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/browser.h"

const struct option browser_options[BROWSER_OPTIONS] = {
    [BROWSER_OPTION_STATE_DIR] = {.name = "state-dir",
                                  .type = OPTION_DIR,
                                  .help = "where profiles are kept"},
    [BROWSER_OPTION_STAGING_DIR] = {.name = "staging-dir",
                                    .type = OPTION_DIR,
                                    .help = "where files wait on their way to and from pages"},
    [BROWSER_OPTION_HEADLESS] = {.name = "headless",
                                 .help = "open no windows, even if there is a display"},
};
