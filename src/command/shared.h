/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What several commands understand alike: fields of rows for their tables, which may add a variable
 * of their own, the words that can be chosen, and what is held against each other.
 */
#ifndef COMMAND_SHARED_H
#define COMMAND_SHARED_H

#include "base/options/options.h"

/* In the order of enum permission_mode, and up to a NULL, like the others. */
extern const char *const shared_modes[];
/* In the order of enum log_level. */
extern const char *const shared_levels[];
/* In the order of enum shared_network. */
extern const char *const shared_networks[];

enum shared_network { SHARED_NETWORK_NONE, SHARED_NETWORK_ALLOW };

/* ---- files ---- */

#define SHARED_MAX_FILE_SIZE                                                                       \
    .name = "max-file-size", .type = OPTION_BYTES, .min = 1, .max = INT64_C(64) << 20,             \
    .fallback = "512KiB", .help = "largest file that is read whole, written or edited"

#define SHARED_MAX_LINES                                                                           \
    .name = "max-lines", .type = OPTION_INT, .min = 1, .max = 1000000, .fallback = "500",          \
    .help = "most lines that one read answers"

#define SHARED_MAX_MATCHES                                                                         \
    .name = "max-matches", .type = OPTION_INT, .min = 1, .max = INT64_C(1000000000),               \
    .fallback = "1000000", .help = "matches that a search counts before it ends"

#define SHARED_STATE_DIR                                                                           \
    .name = "state-dir", .type = OPTION_DIR, .env = "GATEHOUSE_STATE_DIR",                         \
    .help = "where the record of what was done and what undo needs are kept; "                     \
            "~/.local/state/gatehouse if not given"

/* ---- commands ---- */

#define SHARED_SHELL_NETWORK                                                                       \
    .name = "shell-network", .type = OPTION_CHOICE, .choices = shared_networks,                    \
    .env = "N8N_GATEWAY_SHELL_NETWORK", .fallback = "none", .group = "Commands",                   \
    .help = "whether commands reach the network"

#define SHARED_SHELL_WRITABLE                                                                      \
    .name = "shell-writable", .type = OPTION_LIST, .env = "N8N_GATEWAY_SHELL_WRITABLE",            \
    .placeholder = "DIR", .group = "Commands",                                                     \
    .help = "directories that commands may change, besides the folder where files may be "         \
            "changed; repeatable or with commas"

#define SHARED_SHELL_TIMEOUT                                                                       \
    .name = "computer-shell-timeout", .type = OPTION_DURATION,                                     \
    .env = "N8N_GATEWAY_COMPUTER_SHELL_TIMEOUT", .min = 100, .max = 24 * 60 * 60 * INT64_C(1000),  \
    .fallback = "30s", .group = "Commands",                                                        \
    .help = "how long a command may take that names no time itself"

#define SHARED_SHELL_OPEN                                                                          \
    .name = "dangerously-disable-shell-sandbox", .group = "Commands",                              \
    .help = "run commands without their boxes: they can do all that you can"

/* What is logged where SHARED_SHELL_OPEN is on. */
#define SHARED_OPEN_WARNING "commands run without boxes: they can do all that you can"

/* Where these rows stand in a table. */
struct shared_shell {
    size_t network;
    size_t writable;
    size_t open;
};

/* ERR_INVALID_OPTION for a directory that is not absolute, and for walls that would not stand. */
int shared_check_shell(const struct option_values *values, const struct shared_shell *rows,
                       struct err *err);

#endif
