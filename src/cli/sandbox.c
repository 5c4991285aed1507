/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sandbox.h"

#include "base/cleanup.h"

static const char *const nets[] = {
    [SANDBOX_NET_NONE] = "none", [SANDBOX_NET_HOST] = "host", [SANDBOX_NET_HOST + 1] = NULL};

static const struct option run_options[SANDBOX_OPTIONS] = {
    [SANDBOX_OPTION_NET] = {.name = "net",
                            .type = OPTION_CHOICE,
                            .choices = nets,
                            .fallback = "none",
                            .help = "none: only its own loopback; host: the host's network"},
    [SANDBOX_OPTION_RO] =
        {.name = "ro",
         .type = OPTION_LIST,
         .placeholder = "PATH",
         .help = "make PATH readable that is not seen otherwise; repeatable or comma-separated"},
    [SANDBOX_OPTION_RW] = {.name = "rw",
                           .type = OPTION_LIST,
                           .placeholder = "PATH",
                           .help =
                               "make PATH writable, as in '--rw .'; repeatable or comma-separated"},
    [SANDBOX_OPTION_HIDE] = {.name = "hide",
                             .type = OPTION_LIST,
                             .placeholder = "PATH",
                             .help = "also hide PATH; repeatable or comma-separated"},
    [SANDBOX_OPTION_ENV] = {.name = "env",
                            .letter = 'e',
                            .type = OPTION_LIST,
                            .placeholder = "NAME[=VALUE]",
                            .help = "pass an environment variable that is not passed by default, "
                                    "or set one; repeatable or comma-separated"},
    [SANDBOX_OPTION_TIMEOUT] = {.name = "timeout",
                                .letter = 't',
                                .type = OPTION_DURATION,
                                .min = 1,
                                .max = INT64_C(7) * 24 * 60 * 60 * 1000,
                                .help = "kill everything in the sandbox after this time"},
    [SANDBOX_OPTION_MEMORY] = {.name = "memory",
                               .letter = 'm',
                               .type = OPTION_BYTES,
                               .min = 1 << 20,
                               .max = INT64_MAX,
                               .help = "memory limit (per process where cgroups are missing)"},
    [SANDBOX_OPTION_CPUS] = {.name = "cpus",
                             .type = OPTION_TEXT,
                             .placeholder = "N",
                             .help = "CPU limit in cores, like 2 or 0.5"},
    [SANDBOX_OPTION_PIDS] =
        {.name = "pids",
         .type = OPTION_INT,
         .min = 2,
         .max = 1 << 22,
         .help = "limit of processes and threads (default for ordinary users: 4096)"},
    [SANDBOX_OPTION_TMP_SIZE] = {.name = "tmp-size",
                                 .type = OPTION_BYTES,
                                 .min = 1 << 20,
                                 .max = INT64_MAX,
                                 .fallback = "512MiB",
                                 .help = "size of its private in-memory /tmp"},
    [SANDBOX_OPTION_ALLOW_WEAKER] = {.name = "allow-weaker",
                                     .help = "accept a kernel without Landlock"},
    [SANDBOX_OPTION_VERBOSE] = {.name = "verbose",
                                .letter = 'v',
                                .help = "print the active restrictions to stderr"},
};

static const struct option_argument run_arguments[] = {
    {.name = "COMMAND",
     .type = OPTION_TEXT,
     .is_rest = true,
     .help = "the command and its arguments, after --"},
};

const struct option_command sandbox_commands[SANDBOX_COMMANDS] = {
    [SANDBOX_RUN] = {.name = "run",
                     .summary = "run a command in a sandbox and exit with its status",
                     .options = run_options,
                     .option_count = SANDBOX_OPTIONS,
                     .arguments = run_arguments,
                     .argument_count = array_size(run_arguments)},
    [SANDBOX_CHECK] = {.name = "check",
                       .summary = "check whether this machine can create sandboxes, and why not"},
};
