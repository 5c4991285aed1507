/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sandbox.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "cli/sandboxd.h"

enum { MOST_CORES = 1024 };

static const char *const nets[] = {
    [SANDBOX_NET_NONE] = "none", [SANDBOX_NET_HOST] = "host", [SANDBOX_NET_HOST + 1] = NULL};

static const struct option run_options[SANDBOX_OPTIONS] = {
    [SANDBOX_OPTION_NET] = {.name = "net",
                            .type = OPTION_CHOICE,
                            .choices = nets,
                            .fallback = "none",
                            .help = "none: only its own loopback; host: the host's network"},
    [SANDBOX_OPTION_DOMAIN] = {.name = "domain",
                               .type = OPTION_LIST,
                               .placeholder = "HOST",
                               .help = "let the command reach HOST on the web, like github.com or "
                                       "*.example.com; repeatable or comma-separated"},
    [SANDBOX_OPTION_RO] = {.name = "ro",
                           .type = OPTION_LIST,
                           .placeholder = "PATH",
                           .help = "also make PATH readable; repeatable or comma-separated"},
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
                               .max = INT64_MAX,
                               .help = "memory limit of all processes together, 0 for none "
                                       "(default: 512MiB)"},
    [SANDBOX_OPTION_CPUS] = {.name = "cpus",
                             .type = OPTION_TEXT,
                             .placeholder = "N",
                             .help = "CPU limit in cores, like 2 or 0.5, 0 for none "
                                     "(default: 1)"},
    [SANDBOX_OPTION_PIDS] = {.name = "pids",
                             .type = OPTION_INT,
                             .max = 1 << 22,
                             .help = "limit of processes and threads, 0 for none (default: 256)"},
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
                                 "yours on this machine, started if need be)"},                    \
    [SANDBOX_ASK_CA_FILE] = {.name = "ca-file",                                                    \
                             .type = OPTION_PATH,                                                  \
                             .env = "GATEHOUSE_CA_FILE",                                           \
                             .placeholder = "FILE",                                                \
                             .help = "trust the certificate authorities in FILE (PEM) besides "    \
                                     "the system's"},                                              \
    [SANDBOX_ASK_STATE_DIR] = {.name = "state-dir",                                                \
                               .type = OPTION_DIR,                                                 \
                               .env = "GATEHOUSE_STATE_DIR",                                       \
                               .help = "where your service keeps its address and key (default: "   \
                                       "~/.local/state/gatehouse)"},                               \
    [SANDBOX_ASK_NO_START] = {.name = "no-start",                                                  \
                              .help = "fail if your service does not run, instead of starting it"}

static const struct option ask_options[SANDBOX_ASK_OPTIONS] = {ASK_ROWS};

static const struct option create_options[SANDBOX_CREATE_OPTIONS] = {
    ASK_ROWS,
    [SANDBOX_CREATE_IMAGE] = {.name = "image",
                              .type = OPTION_TEXT,
                              .placeholder = "IMAGE",
                              .help = "start from this image"},
    [SANDBOX_CREATE_EPHEMERAL] = {.name = "ephemeral",
                                  .help = "delete it, instead of stopping it, when it is idle"},
    [SANDBOX_CREATE_MEMORY] = {.name = "memory",
                               .letter = 'm',
                               .type = OPTION_BYTES,
                               .min = 16 << 20,
                               .max = INT64_C(1) << 40,
                               .help = "memory limit of all its processes together (default: "
                                       "512MiB)"},
    [SANDBOX_CREATE_CPUS] = {.name = "cpus",
                             .type = OPTION_TEXT,
                             .placeholder = "N",
                             .help = "CPU limit in cores, like 2 or 0.5 (default: 1)"},
    [SANDBOX_CREATE_PIDS] = {.name = "pids",
                             .type = OPTION_INT,
                             .min = 8,
                             .max = 1 << 20,
                             .help = "limit of its processes and threads (default: 256)"},
    [SANDBOX_CREATE_ALLOW_IP] = {.name = "allow-ip",
                                 .type = OPTION_LIST,
                                 .placeholder = "ADDRESS",
                                 .help = "public address or network that it reaches by TCP, like "
                                         "203.0.113.0/24; repeatable or comma-separated (default: "
                                         "none)"},
    [SANDBOX_CREATE_DENY_IP] = {.name = "deny-ip",
                                .type = OPTION_LIST,
                                .placeholder = "ADDRESS",
                                .help = "exception from --allow-ip; repeatable or "
                                        "comma-separated"},
    [SANDBOX_CREATE_DOMAIN] = {.name = "domain",
                               .type = OPTION_LIST,
                               .placeholder = "HOST",
                               .help = "let its commands reach HOST on the web, like github.com or "
                                       "*.example.com; repeatable or comma-separated"},
    [SANDBOX_CREATE_ID] = {.name = "id",
                           .type = OPTION_TEXT,
                           .placeholder = "UUID",
                           .help = "its id, in lower case; one of yours that exists is used as it "
                                   "is (default: a new one)"},
};

static const struct option exec_options[SANDBOX_EXEC_OPTIONS] = {
    ASK_ROWS,
    [SANDBOX_EXEC_INTERACTIVE] = {.name = "interactive",
                                  .letter = 'i',
                                  .help = "pass standard input on"},
    [SANDBOX_EXEC_TTY] = {.name = "tty",
                          .letter = 't',
                          .help = "give it a terminal of its own (default: if input and output are "
                                  "a terminal)"},
    [SANDBOX_EXEC_DETACH] = {.name = "detach",
                             .letter = 'd',
                             .help = "let it run and print its id, for 'gatehouse sandbox logs'"},
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
                              .type = OPTION_DURATION,
                              .min = 1,
                              .max = 24 * 60 * 60 * INT64_C(1000),
                              .fallback = "24h",
                              .help = "kill it, and all that it started, after this time"},
};

static const struct option ls_options[SANDBOX_LS_OPTIONS] = {
    ASK_ROWS,
    [SANDBOX_LS_JSON] = {.name = "json", .help = "print JSON"},
};

static const struct option logs_options[SANDBOX_LOGS_OPTIONS] = {
    ASK_ROWS,
    [SANDBOX_LOGS_FOLLOW] = {.name = "follow",
                             .letter = 'f',
                             .help = "keep printing until all running commands have ended"},
};

static const struct option build_options[SANDBOX_BUILD_OPTIONS] = {
    ASK_ROWS,
    [SANDBOX_BUILD_CONTEXT] = {.name = "context",
                               .letter = 'c',
                               .type = OPTION_DIR,
                               .help = "folder whose files COPY steps take"},
    [SANDBOX_BUILD_DOMAIN] = {.name = "domain",
                              .type = OPTION_LIST,
                              .placeholder = "HOST",
                              .help = "let RUN steps reach HOST on the web, like github.com "
                                      "or *.example.com; repeatable or comma-separated"},
};

static const struct option_argument rm_arguments[] = {
    {.name = "SANDBOX",
     .type = OPTION_TEXT,
     .names = "sandboxes",
     .is_rest = true,
     .help = "its id or the first characters of it"},
};

static const struct option_argument stats_arguments[] = {
    {.name = "SANDBOX",
     .type = OPTION_TEXT,
     .names = "sandboxes",
     .is_optional = true,
     .help = "its id or the first characters of it (default: all)"},
};

static const struct option_argument inspect_arguments[] = {
    {.name = "SANDBOX",
     .type = OPTION_TEXT,
     .names = "sandboxes",
     .help = "its id or the first characters of it"},
};

static const struct option_argument logs_arguments[] = {
    {.name = "SANDBOX",
     .type = OPTION_TEXT,
     .names = "sandboxes",
     .help = "its id or the first characters of it"},
    {.name = "EXECUTION",
     .type = OPTION_TEXT,
     .is_optional = true,
     .help = "id of a command, or the first characters of it (default: all that are kept)"},
};

static const struct option_argument cp_arguments[] = {
    {.name = "FROM", .type = OPTION_PATH, .help = "file or folder: PATH, or SANDBOX:PATH"},
    {.name = "TO", .type = OPTION_PATH, .help = "where to: SANDBOX:PATH, or PATH"},
};

static const struct option_argument exec_arguments[] = {
    {.name = "SANDBOX",
     .type = OPTION_TEXT,
     .names = "sandboxes",
     .help = "its id or the first characters of it"},
    {.name = "COMMAND",
     .type = OPTION_TEXT,
     .is_rest = true,
     .ends_options = true,
     .help = "the command and its arguments"},
};

static const struct option_argument image_arguments[] = {
    {.name = "IMAGE",
     .type = OPTION_TEXT,
     .names = "images",
     .is_rest = true,
     .help = "its id, the first characters of it, or a name"},
};

static const struct option_argument import_arguments[] = {
    {.name = "NAME", .type = OPTION_TEXT, .help = "for FROM; with a * at its end, a beginning"},
    {.name = "FILE", .type = OPTION_PATH, .help = "the archive, compressed or not"},
};

static const struct option_argument name_arguments[] = {
    {.name = "NAME", .type = OPTION_TEXT, .help = "for FROM; with a * at its end, a beginning"},
    {.name = "IMAGE",
     .type = OPTION_TEXT,
     .names = "images",
     .help = "its id, the first characters of it, or a name"},
};

static const struct option_argument step_arguments[] = {
    {.name = "STEP",
     .type = OPTION_TEXT,
     .is_rest = true,
     .help = "one argument per step, like 'RUN make install'"},
};

const struct option_command sandbox_image_commands[SANDBOX_IMAGE_COMMANDS] = {
    [SANDBOX_IMAGE_LS] = {.name = "ls",
                          .alias = "list",
                          .summary = "list your images",
                          .options = ls_options,
                          .option_count = SANDBOX_LS_OPTIONS},
    [SANDBOX_IMAGE_BUILD] = {.name = "build",
                             .summary = "run steps once and print the id of the image",
                             .options = build_options,
                             .option_count = SANDBOX_BUILD_OPTIONS,
                             .arguments = step_arguments,
                             .argument_count = array_size(step_arguments)},
    [SANDBOX_IMAGE_IMPORT] = {.name = "import",
                              .summary = "make an image of a whole system in a tar archive",
                              .options = ask_options,
                              .option_count = SANDBOX_ASK_OPTIONS,
                              .arguments = import_arguments,
                              .argument_count = array_size(import_arguments)},
    [SANDBOX_IMAGE_NAME] = {.name = "name",
                            .summary = "let a name in FROM stand for an image",
                            .options = ask_options,
                            .option_count = SANDBOX_ASK_OPTIONS,
                            .arguments = name_arguments,
                            .argument_count = array_size(name_arguments)},
    [SANDBOX_IMAGE_RM] = {.name = "rm",
                          .alias = "remove",
                          .summary = "remove images",
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
                       .summary =
                           "check whether this machine can create sandboxes, and if not, why"},
    [SANDBOX_SERVE] = SANDBOXD_COMMAND,
    [SANDBOX_CREATE] = {.name = "create",
                        .summary = "create a sandbox that stays, and print its id",
                        .options = create_options,
                        .option_count = SANDBOX_CREATE_OPTIONS},
    [SANDBOX_EXEC] = {.name = "exec",
                      .summary = "run a command in a sandbox that exists, and exit with its status",
                      .options = exec_options,
                      .option_count = SANDBOX_EXEC_OPTIONS,
                      .arguments = exec_arguments,
                      .argument_count = array_size(exec_arguments)},
    [SANDBOX_CP] = {.name = "cp",
                    .summary = "copy files and folders into a sandbox or out of it",
                    .options = ask_options,
                    .option_count = SANDBOX_ASK_OPTIONS,
                    .arguments = cp_arguments,
                    .argument_count = array_size(cp_arguments)},
    [SANDBOX_INSPECT] = {.name = "inspect",
                         .summary = "show all about a sandbox: limits, network, use, commands",
                         .options = ls_options,
                         .option_count = SANDBOX_LS_OPTIONS,
                         .arguments = inspect_arguments,
                         .argument_count = array_size(inspect_arguments)},
    [SANDBOX_LOGS] = {.name = "logs",
                      .summary = "show what the commands of a sandbox have written",
                      .options = logs_options,
                      .option_count = SANDBOX_LOGS_OPTIONS,
                      .arguments = logs_arguments,
                      .argument_count = array_size(logs_arguments)},
    [SANDBOX_STATS] = {.name = "stats",
                       .summary = "show what your sandboxes use: memory, CPU time, processes",
                       .options = ls_options,
                       .option_count = SANDBOX_LS_OPTIONS,
                       .arguments = stats_arguments,
                       .argument_count = array_size(stats_arguments)},
    [SANDBOX_LS] = {.name = "ls",
                    .alias = "list",
                    .summary = "list your sandboxes",
                    .options = ls_options,
                    .option_count = SANDBOX_LS_OPTIONS},
    [SANDBOX_RM] = {.name = "rm",
                    .alias = "remove",
                    .summary = "delete sandboxes",
                    .options = ask_options,
                    .option_count = SANDBOX_ASK_OPTIONS,
                    .arguments = rm_arguments,
                    .argument_count = array_size(rm_arguments)},
    [SANDBOX_IMAGE] = {.name = "image",
                       .summary = "list, build, import, name and remove images of sandboxes",
                       .commands = sandbox_image_commands,
                       .command_count = SANDBOX_IMAGE_COMMANDS},
};

int sandbox_read_cores(const char *text, unsigned *out_percent, struct err *err)
{
    struct str rest = str_from(text);
    struct str whole;
    int64_t cores = 0;
    int64_t hundredths = 0;
    bool is_sound = str_cut(&rest, '.', &whole) && str_to_int64(whole, &cores) && cores >= 0 &&
                    cores <= MOST_CORES;

    if (is_sound && rest.ptr != NULL) {
        is_sound =
            rest.len >= 1 && rest.len <= 2 && str_to_int64(rest, &hundredths) && hundredths >= 0;
        hundredths *= rest.len == 1 ? 10 : 1;
    }
    if (!is_sound)
        return err_set_field(err, ERR_INVALID_OPTION, "--cpus",
                             "--cpus needs a number of cores, like 2 or 0.5, or 0 for no limit");
    *out_percent = (unsigned)(cores * 100 + hundredths);
    return 0;
}
