/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/transfer.h"

const struct option transfer_options[TRANSFER_OPTIONS] = {
    [TRANSFER_OPTION_HOST] = {.name = "host",
                              .type = OPTION_LIST,
                              .is_whole = true,
                              .placeholder = "URL",
                              .help = "a server that may be asked, like sftp://files.example; "
                                      "repeatable"},
    [TRANSFER_OPTION_KNOWN_HOSTS] = {.name = "known-hosts",
                                     .type = OPTION_PATH,
                                     .placeholder = "FILE",
                                     .help = "host keys of servers of SSH, in OpenSSH's format"},
    [TRANSFER_OPTION_CREDENTIALS] = {.name = "credentials",
                                     .type = OPTION_PATH,
                                     .placeholder = "FILE",
                                     .help = "users, passwords and keys for servers"},
    [TRANSFER_OPTION_TENANT] = {.name = "tenant",
                                .type = OPTION_TEXT,
                                .placeholder = "NAME",
                                .help = "whose credentials may be used (default: the owner's)"},
};
