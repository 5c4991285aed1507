/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/backup.h"

const struct option backup_options[BACKUP_OPTIONS] = {
    [BACKUP_OPTION_STATE_DIR] = {.name = "state-dir",
                                 .type = OPTION_DIR,
                                 .env = "GATEHOUSE_STATE_DIR",
                                 .help = "the server's state directory (default: "
                                         "~/.local/state/gatehouse)"},
};

const struct option_argument backup_arguments[BACKUP_ARGUMENTS] = {
    [BACKUP_ARGUMENT_FILE] = {.name = "FILE",
                              .type = OPTION_PATH,
                              .help = "the copy, which must not exist yet"},
};
