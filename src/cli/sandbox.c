/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sandbox.h"

#include "base/cleanup.h"
#include "cli/sandboxd.h"

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
     .ends_options = true,
     .help = "the command and its arguments; options of the sandbox stand before it"},
};

/* ---- commands that ask a service ---- */

#define ASK_ROWS                                                                                   \
    [SANDBOX_ASK_URL] = {.name = "url",                                                            \
                         .type = OPTION_TEXT,                                                      \
                         .env = "GATEHOUSE_SANDBOX_URL",                                           \
                         .placeholder = "URL",                                                     \
                         .help = "the service, with its key in GATEHOUSE_SANDBOX_KEY (default: "   \
                                 "yours on this machine)"},                                        \
    [SANDBOX_ASK_STATE_DIR] = {.name = "state-dir",                                                \
                               .type = OPTION_DIR,                                                 \
                               .env = "GATEHOUSE_STATE_DIR",                                       \
                               .help = "where your service keeps its address and key (default: "   \
                                       "~/.local/state/gatehouse)"}

static const struct option ask_options[SANDBOX_ASK_OPTIONS] = {ASK_ROWS};

static const struct option create_options[SANDBOX_CREATE_OPTIONS] = {
    ASK_ROWS,
    [SANDBOX_CREATE_IMAGE] = {.name = "image",
                              .type = OPTION_TEXT,
                              .placeholder = "IMAGE",
                              .help = "start from this image"},
    [SANDBOX_CREATE_EPHEMERAL] = {.name = "ephemeral",
                                  .help = "delete it, instead of stopping it, when it is idle"},
};

static const struct option exec_options[SANDBOX_EXEC_OPTIONS] = {
    ASK_ROWS,
    [SANDBOX_EXEC_ENV] = {.name = "env",
                          .letter = 'e',
                          .type = OPTION_LIST,
                          .is_whole = true,
                          .placeholder = "NAME=VALUE",
                          .help = "set a variable; repeatable"},
    [SANDBOX_EXEC_WORKDIR] = {.name = "workdir",
                              .letter = 'w',
                              .type = OPTION_TEXT,
                              .placeholder = "PATH",
                              .help = "directory in the sandbox to run it in"},
    [SANDBOX_EXEC_TIMEOUT] = {.name = "timeout",
                              .letter = 't',
                              .type = OPTION_DURATION,
                              .min = 1,
                              .max = 24 * 60 * 60 * INT64_C(1000),
                              .fallback = "5m",
                              .help = "kill it, and all that it started, after this time"},
};

static const struct option ls_options[SANDBOX_LS_OPTIONS] = {
    ASK_ROWS,
    [SANDBOX_LS_JSON] = {.name = "json", .help = "print JSON"},
};

static const struct option_argument id_arguments[] = {
    {.name = "SANDBOX", .type = OPTION_TEXT, .help = "its id"},
};

static const struct option_argument exec_arguments[] = {
    {.name = "SANDBOX", .type = OPTION_TEXT, .help = "its id"},
    {.name = "COMMAND",
     .type = OPTION_TEXT,
     .is_rest = true,
     .ends_options = true,
     .help = "the command and its arguments"},
};

static const struct option_argument image_arguments[] = {
    {.name = "IMAGE", .type = OPTION_TEXT, .help = "its id"},
};

static const struct option_argument step_arguments[] = {
    {.name = "STEP",
     .type = OPTION_TEXT,
     .is_rest = true,
     .help = "one word each, like 'RUN make install'"},
};

const struct option_command sandbox_image_commands[SANDBOX_IMAGE_COMMANDS] = {
    [SANDBOX_IMAGE_LS] = {.name = "ls",
                          .summary = "list your images",
                          .options = ls_options,
                          .option_count = SANDBOX_LS_OPTIONS},
    [SANDBOX_IMAGE_BUILD] = {.name = "build",
                             .summary = "run steps once and print the id of the image",
                             .options = ask_options,
                             .option_count = SANDBOX_ASK_OPTIONS,
                             .arguments = step_arguments,
                             .argument_count = array_size(step_arguments)},
    [SANDBOX_IMAGE_RM] = {.name = "rm",
                          .summary = "remove an image",
                          .options = ask_options,
                          .option_count = SANDBOX_ASK_OPTIONS,
                          .arguments = image_arguments,
                          .argument_count = array_size(image_arguments)},
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
    [SANDBOX_SERVE] = SANDBOXD_COMMAND,
    [SANDBOX_CREATE] = {.name = "create",
                        .summary = "create a sandbox of a service, and print its id",
                        .options = create_options,
                        .option_count = SANDBOX_CREATE_OPTIONS},
    [SANDBOX_EXEC] = {.name = "exec",
                      .summary = "run a command in a sandbox of a service and exit with its status",
                      .options = exec_options,
                      .option_count = SANDBOX_EXEC_OPTIONS,
                      .arguments = exec_arguments,
                      .argument_count = array_size(exec_arguments)},
    [SANDBOX_LS] = {.name = "ls",
                    .summary = "list your sandboxes of a service",
                    .options = ls_options,
                    .option_count = SANDBOX_LS_OPTIONS},
    [SANDBOX_RM] = {.name = "rm",
                    .summary = "delete a sandbox of a service",
                    .options = ask_options,
                    .option_count = SANDBOX_ASK_OPTIONS,
                    .arguments = id_arguments,
                    .argument_count = array_size(id_arguments)},
    [SANDBOX_IMAGE] = {.name = "image",
                       .summary = "list, build and remove images of a service",
                       .commands = sandbox_image_commands,
                       .command_count = SANDBOX_IMAGE_COMMANDS},
};
