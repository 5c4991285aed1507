/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ask.h"

const struct option ask_options[ASK_OPTIONS] = {
    [ASK_OPTION_NOTIFICATIONS] =
        {.name = "notifications",
         .fallback = "yes",
         .env = "GATEHOUSE_NOTIFICATIONS",
         .help = "also show a desktop notification for each question, with buttons where the "
                 "desktop has them"},
};
