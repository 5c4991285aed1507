/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/browser.h"

const struct option browser_options[BROWSER_OPTIONS] = {
    [BROWSER_OPTION_STATE_DIR] = {.name = "state-dir",
                                  .type = OPTION_DIR,
                                  .help = "where profiles are kept"},
};
