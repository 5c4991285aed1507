/* SPDX-License-Identifier: Apache-2.0 */
#include "command/sandbox.h"

#include "base/cleanup.h"

static const char *const nets[] = {
    [SANDBOX_NET_NONE] = "none", [SANDBOX_NET_HOST] = "host", [SANDBOX_NET_HOST + 1] = NULL};

static const struct option run_options[SANDBOX_OPTIONS] = {
    [SANDBOX_OPTION_NET] = {.name = "net",
                            .type = OPTION_CHOICE,
                            .choices = nets,
                            .fallback = "none",
                            .help = "no network but its own loopback, or the host's"},
    [SANDBOX_OPTION_RO] = {.name = "ro",
                           .type = OPTION_LIST,
                           .placeholder = "PATH",
                           .help = "show this, read-only, although it is hidden or in /tmp; "
                                   "repeatable or with commas"},
    [SANDBOX_OPTION_RW] = {.name = "rw",
                           .type = OPTION_LIST,
                           .placeholder = "PATH",
                           .help = "let it be changed, as '--rw .'; repeatable or with commas"},
    [SANDBOX_OPTION_HIDE] = {.name = "hide",
                             .type = OPTION_LIST,
                             .placeholder = "PATH",
                             .help = "hide this too; repeatable or with commas"},
    [SANDBOX_OPTION_ENV] = {.name = "env",
                            .letter = 'e',
                            .type = OPTION_LIST,
                            .placeholder = "NAME[=VALUE]",
                            .help = "pass on a variable that is not passed by itself, or set "
                                    "one; repeatable or with commas"},
    [SANDBOX_OPTION_TIMEOUT] = {.name = "timeout",
                                .letter = 't',
                                .type = OPTION_DURATION,
                                .min = 1,
                                .max = INT64_C(7) * 24 * 60 * 60 * 1000,
                                .help = "kill everything in it after this time"},
    [SANDBOX_OPTION_MEMORY] = {.name = "memory",
                               .letter = 'm',
                               .type = OPTION_BYTES,
                               .min = 1 << 20,
                               .max = INT64_MAX,
                               .help = "most memory, of all its processes where a cgroup can be "
                                       "made, else of each without what they share"},
    [SANDBOX_OPTION_CPUS] = {.name = "cpus",
                             .type = OPTION_TEXT,
                             .placeholder = "N",
                             .help = "most cores, like 2 or 0.5"},
    [SANDBOX_OPTION_PIDS] = {.name = "pids",
                             .type = OPTION_INT,
                             .min = 2,
                             .max = 1 << 22,
                             .help = "most processes and threads; 4096 for an ordinary "
                                     "user if not given"},
    [SANDBOX_OPTION_TMP_SIZE] = {.name = "tmp-size",
                                 .type = OPTION_BYTES,
                                 .min = 1 << 20,
                                 .max = INT64_MAX,
                                 .fallback = "512MiB",
                                 .help = "room in its own /tmp, which is memory"},
    [SANDBOX_OPTION_ALLOW_WEAKER] = {.name = "allow-weaker",
                                     .help = "also on a kernel without Landlock"},
    [SANDBOX_OPTION_VERBOSE] = {.name = "verbose",
                                .letter = 'v',
                                .help = "say on standard error what holds"},
};

static const struct option_argument run_arguments[] = {
    {.name = "COMMAND",
     .type = OPTION_TEXT,
     .is_rest = true,
     .help = "the command and its words, behind a --"},
};

const struct option_command sandbox_commands[SANDBOX_COMMANDS] = {
    [SANDBOX_RUN] = {.name = "run",
                     .summary = "run a command in a sandbox and pass on how it ended",
                     .options = run_options,
                     .option_count = SANDBOX_OPTIONS,
                     .arguments = run_arguments,
                     .argument_count = array_size(run_arguments)},
    [SANDBOX_CHECK] = {.name = "check",
                       .summary = "say whether this machine can make a sandbox, and if not, why"},
};
