/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report.h"

const struct option report_options[REPORT_OPTIONS] = {
    [REPORT_OPTION_LIST] = {.name = "list",
                            .letter = 'l',
                            .help = "list the last sessions instead, newest first"},
    [REPORT_OPTION_OUTPUT] = {.name = "output",
                              .letter = 'o',
                              .type = OPTION_PATH,
                              .placeholder = "FILE",
                              .help =
                                  "write this file, which must not exist; - is standard output"},
    [REPORT_OPTION_STATE_DIR] = {.name = "state-dir",
                                 .type = OPTION_DIR,
                                 .env = "GATEHOUSE_STATE_DIR",
                                 .help = "directory of the audit log (default: "
                                         "~/.local/state/gatehouse)"},
};

const struct option_argument report_arguments[REPORT_ARGUMENTS] = {
    [REPORT_ARGUMENT_SESSION] = {.name = "SESSION",
                                 .type = OPTION_TEXT,
                                 .is_optional = true,
                                 .help = "as --list shows it; default: the last one"},
};
