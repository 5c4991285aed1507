/* SPDX-License-Identifier: Apache-2.0 */
/* gatehouse, the front door: starts the program of a command, or does its work. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/colour.h"
#include "base/err.h"
#include "base/options/complete.h"
#include "base/options/help.h"
#include "base/options/options.h"
#include "cli/agent.h"
#include "cli/ask.h"
#include "cli/audit.h"
#include "cli/authority.h"
#include "cli/backup.h"
#include "cli/connect.h"
#include "cli/mcp.h"
#include "cli/programs.h"
#include "cli/report.h"
#include "cli/rules.h"
#include "cli/sandbox.h"
#include "cli/search.h"
#include "cli/serve.h"
#include "cli/status.h"
#include "cli/stopinput.h"
#include "cli/user.h"
#include "cli/workspace.h"
#include "programs/gatehouse/complain.h"
#include "programs/gatehouse/doctor.h"
#include "programs/gatehouse/down.h"
#include "programs/gatehouse/names.h"
#include "programs/gatehouse/sandbox.h"
#include "programs/gatehouse/start.h"
#include "programs/gatehouse/status.h"
#include "programs/gatehouse/up.h"
#include "programs/gatehouse/workspace.h"

enum {
    EXIT_WRONG_USE = 2,
    ARGS_MAX_BYTES = 4 << 20,
    OUTPUT_MAX_BYTES = 1 << 20,
    DEFAULT_WIDTH = 80,
    WIDEST = 100,
    TITLE_BYTES = 64,
};

enum { PROGRAM_HELP, PROGRAM_VERSION, PROGRAM_OPTIONS };
static const struct option program_options[PROGRAM_OPTIONS] = {
    [PROGRAM_HELP] = {.name = "help", .letter = 'h', .is_final = true, .help = "show this page"},
    [PROGRAM_VERSION] = {.name = "version",
                         .letter = 'V',
                         .is_final = true,
                         .help = "show the version"},
};

enum { DOCTOR_JSON, DOCTOR_CLEAN, DOCTOR_STATE_DIR, DOCTOR_OPTIONS };
static const struct option doctor_options[DOCTOR_OPTIONS] = {
    [DOCTOR_JSON] = {.name = "json", .help = "print JSON"},
    [DOCTOR_CLEAN] = {.name = "clean",
                      .type = OPTION_DIR,
                      .help = "instead of checking, remove temporary files (.gatehouse-...) that "
                              "killed sessions left in DIR and below"},
    [DOCTOR_STATE_DIR] = {.name = "state-dir",
                          .type = OPTION_DIR,
                          .help = "with --clean: the state directory of those sessions, if it was "
                                  "not the default"},
};

static const char *const shells[] = {
    [OPTION_BASH] = "bash", [OPTION_ZSH] = "zsh", [OPTION_FISH] = "fish", [3] = NULL};

enum { COMPLETIONS_NAMES, COMPLETIONS_OPTIONS };
static const struct option completions_options[COMPLETIONS_OPTIONS] = {
    [COMPLETIONS_NAMES] = {.name = "names",
                           .type = OPTION_CHOICE,
                           .choices = names_kinds,
                           .placeholder = "KIND",
                           .help = "instead, print what these scripts offer for a name"},
};

static const struct option_argument completions_arguments[] = {
    {.name = "SHELL",
     .type = OPTION_CHOICE,
     .choices = shells,
     .instead = "names",
     .help = "the shell to write for"},
};

#define COMMAND_NAME(ID, name, program) #name,
static const char *const command_names[] = {PROGRAMS_COMMANDS(COMMAND_NAME) NULL};

static const struct option_argument help_arguments[] = {
    {.name = "COMMAND",
     .type = OPTION_CHOICE,
     .choices = command_names,
     .is_optional = true,
     .help = "without one: all commands"},
    {.name = "SUBCOMMAND", .is_optional = true, .type = OPTION_TEXT, .help = "a command of that"},
};

#define HELP_COMMAND                                                                               \
    {                                                                                              \
        .name = "help", .summary = HELP_SUMMARY, .arguments = help_arguments,                      \
        .argument_count = array_size(help_arguments)                                               \
    }

#define VERSION_COMMAND                                                                            \
    {                                                                                              \
        .name = "version", .summary = VERSION_SUMMARY                                              \
    }

#define DOCTOR_COMMAND                                                                             \
    {                                                                                              \
        .name = "doctor", .summary = DOCTOR_SUMMARY, .options = doctor_options,                    \
        .option_count = DOCTOR_OPTIONS                                                             \
    }

#define COMPLETIONS_COMMAND                                                                        \
    {                                                                                              \
        .name = "completions", .summary = COMPLETIONS_SUMMARY, .options = completions_options,     \
        .option_count = COMPLETIONS_OPTIONS, .arguments = completions_arguments,                   \
        .argument_count = array_size(completions_arguments)                                        \
    }

#define COMMAND_ID(ID, name, program) COMMAND_##ID,
enum { PROGRAMS_COMMANDS(COMMAND_ID) COMMANDS };

#define COMMAND_ROW(ID, name, program) [COMMAND_##ID] = ID##_COMMAND,
static const struct option_command commands[COMMANDS] = {PROGRAMS_COMMANDS(COMMAND_ROW)};

/* The program that does a command's work; NULL: this one. */
#define COMMAND_PROGRAM(ID, name, program) [COMMAND_##ID] = (program),
static const char *const programs[COMMANDS] = {PROGRAMS_COMMANDS(COMMAND_PROGRAM)};

static const struct option_command program = {
    .name = GATEHOUSE_PROGRAM,
    .summary = GATEHOUSE_SUMMARY,
    .options = program_options,
    .option_count = PROGRAM_OPTIONS,
    .commands = commands,
    .command_count = COMMANDS,
};

static int write_all(int fd, struct str text)
{
    while (text.len > 0) {
        ssize_t written = write(fd, text.ptr, text.len);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -errno;
        text = str_slice(text, (size_t)written, text.len);
    }
    return 0;
}

static size_t terminal_width(int fd)
{
    struct winsize size;

    if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return DEFAULT_WIDTH;
    if (size.ws_col < OPTION_HELP_MIN_WIDTH)
        return OPTION_HELP_MIN_WIDTH;
    return size.ws_col < WIDEST ? size.ws_col : WIDEST;
}

/* All commands are more than a small terminal shows, so where to start stands at the end. */
static int help_page(const struct option_values *values, int fd, struct buf *out)
{
    int r = options_help(values, terminal_width(fd), out);

    return r < 0 || values->above != NULL
               ? r
               : buf_append_str(out, STR("\nTo start, run 'gatehouse up DIR' and open the address "
                                         "that it prints.\n'gatehouse help COMMAND' explains a "
                                         "command.\n"));
}

/* The shell of that name, which the options have checked. */
static enum option_shell shell_of(const char *name)
{
    for (enum option_shell shell = OPTION_BASH; shell <= OPTION_FISH; shell++)
        if (strcmp(shells[shell], name) == 0)
            return shell;
    abort();
}

/* Another program runs this command, with the words after it. */
static int become(ptrdiff_t command, char *const *argv, struct err *err)
{
    /* No option of the front door's takes a value: the first such word is the command. */
    while (strcmp(*argv, commands[command].name) != 0)
        argv++;
    return start_program(programs[command], argv, err);
}

/* Other programs serve sandboxes, and ask such a service. */
static int become_for_service(const struct option_values *values, char *const *argv)
{
    bool serves = values->command == &sandbox_commands[SANDBOX_SERVE];
    struct err err = ERR_INIT;

    while (strcmp(*argv, commands[COMMAND_SANDBOX].name) != 0)
        argv++;
    (void)start_program(serves ? SANDBOXD_PROGRAM : SANDBOXCTL_PROGRAM, serves ? argv + 1 : argv,
                        &err);
    complain("gatehouse sandbox", err.message);
    return EXIT_FAILURE;
}

/* The settings of a client name the program that the user called. */
static int become_for_client(char **argv, struct err *err)
{
    static char own[PATH_MAX];
    int r = start_own_path(own, err);

    while (strcmp(*argv, commands[COMMAND_MCP].name) != 0)
        argv++;
    argv[0] = own;
    return r == 0 ? start_program(programs[COMMAND_MCP], argv, err) : r;
}

/* Another program does it: this one uses no path that it was given. */
static int clean(const struct option_values *values, struct err *err)
{
    const char *state = options_text(values, DOCTOR_STATE_DIR);
    char program_name[] = CLEAN_PROGRAM;
    char option[] = "--state-dir";
    char end[] = "--";
    char folder[PATH_MAX];
    char state_path[PATH_MAX];
    char *const plain[] = {program_name, end, folder, NULL};
    char *const full[] = {program_name, option, state_path, end, folder, NULL};
    int r = start_absolute(options_text(values, DOCTOR_CLEAN), folder, err);

    if (r == 0 && state != NULL)
        r = start_absolute(state, state_path, err);
    return r == 0 ? start_program(CLEAN_PROGRAM, state != NULL ? full : plain, err) : r;
}

static int run_status(struct option_values *values, struct buf *out, struct err *err)
{
    int r = options_read_env(values, environ, err);
    bool is_one = r == 0 && options_source(values, STATUS_OPTION_PORT) != OPTION_UNSET;

    return r < 0 ? r
                 : status_tell(is_one ? (uint16_t)options_int(values, STATUS_OPTION_PORT) : 0,
                               options_text(values, STATUS_OPTION_STATE_DIR),
                               options_is_on(values, STATUS_OPTION_JSON), out, err);
}

static const struct option_values *top_of(const struct option_values *values)
{
    return values->above != NULL ? top_of(values->above) : values;
}

/* The front door's own command, which may have subcommands. */
static const struct option_command *command_of(const struct option_values *values)
{
    while (values->above != NULL && values->above->above != NULL)
        values = values->above;
    return values->command;
}

/* The text that the command prints. */
static int run(struct option_values *values, char **argv, struct buf *out, struct err *err)
{
    const struct option_values *top = top_of(values);
    ptrdiff_t command = command_of(values) - commands;
    int r;

    if (options_is_on(top, PROGRAM_HELP)) {
        r = help_page(values, STDOUT_FILENO, out);
    } else if (options_is_on(top, PROGRAM_VERSION) || command == COMMAND_VERSION) {
        r = buf_printf(out, "gatehouse %s\n", GATEHOUSE_VERSION);
    } else if (command == COMMAND_MCP &&
               (options_source(values, MCP_OPTION_PRINT_CONFIG) != OPTION_UNSET ||
                options_source(values, MCP_OPTION_INSTALL) != OPTION_UNSET ||
                options_source(values, MCP_OPTION_UNINSTALL) != OPTION_UNSET)) {
        return become_for_client(argv, err);
    } else if (programs[command] != NULL) {
        return become(command, argv, err);
    } else if (command == COMMAND_STATUS) {
        return run_status(values, out, err);
    } else if (command == COMMAND_DOCTOR && options_source(values, DOCTOR_CLEAN) != OPTION_UNSET) {
        return clean(values, err);
    } else if (command == COMMAND_DOCTOR) {
        r = options_is_on(values, DOCTOR_JSON)
                ? doctor_tell_json(out)
                : doctor_tell(colour_is_wanted(STDOUT_FILENO), terminal_width(STDOUT_FILENO), out);
    } else if (options_source(values, COMPLETIONS_NAMES) != OPTION_UNSET) {
        return names_print(options_choice(values, COMPLETIONS_NAMES), err);
    } else {
        r = options_complete(&program, shell_of(options_argument(values, 0)), out);
    }
    return r < 0 ? err_set_plain(err, r) : 0;
}

/* Without a command: prints the list of commands to standard error. */
static int ask_for_command(const struct option_values *values)
{
    cleanup_buf struct buf out = BUF_INIT(OUTPUT_MAX_BYTES);

    if (help_page(values, STDERR_FILENO, &out) == 0)
        write_all(STDERR_FILENO, buf_view(&out));
    return EXIT_WRONG_USE;
}

/* For a search, 1 means that nothing was found. */
static int status_of_failure(const struct option_command *command)
{
    return command == &commands[COMMAND_SEARCH] ? EXIT_WRONG_USE : EXIT_FAILURE;
}

/* For `sandbox`, 2 could be the command's own exit status. */
static int status_of_wrong_use(char *const *argv)
{
    return argv[0] != NULL && argv[1] != NULL &&
                   strcmp(argv[1], commands[COMMAND_SANDBOX].name) == 0
               ? SANDBOX_EXIT_FAILED
               : EXIT_WRONG_USE;
}

/* "gatehouse sandbox rm" of "gatehouse sandbox rm --fore x". */
static void title_of(char *const *words, char out_title[TITLE_BYTES])
{
    const struct option_command *rows = commands;
    size_t count = COMMANDS;
    size_t len = (size_t)snprintf(out_title, TITLE_BYTES, "gatehouse");

    for (; *words != NULL && count > 0; words++) {
        const struct option_command *named;

        if (**words == '-')
            continue;
        named = options_find_command(rows, count, *words);
        if (named == NULL)
            return;
        len += (size_t)snprintf(out_title + len, TITLE_BYTES - len, " %s", named->name);
        count = named->command_count;
        rows = named->commands;
    }
}

int main(int argc, char **argv)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARGS_MAX_BYTES);
    cleanup_buf struct buf out = BUF_INIT(OUTPUT_MAX_BYTES);
    struct option_values *values;
    struct err err = ERR_INIT;
    bool is_about_us;
    int r;

    if (options_read_args(&arena, &program, argc, argv, &values, &err) < 0) {
        char title[TITLE_BYTES];

        title_of(argc > 0 ? argv + 1 : argv, title);
        complain(title, err.message);
        fprintf(stderr, "See '%s --help'.\n", title);
        return status_of_wrong_use(argv);
    }
    is_about_us = options_is_on(top_of(values), PROGRAM_HELP) ||
                  options_is_on(top_of(values), PROGRAM_VERSION);
    if (values->command->command_count > 0 && !is_about_us)
        return ask_for_command(values);
    if (command_of(values) == &commands[COMMAND_SANDBOX] && !is_about_us)
        return values->command == &sandbox_commands[SANDBOX_RUN] ||
                       values->command == &sandbox_commands[SANDBOX_CHECK]
                   ? sandbox_run(values)
                   : become_for_service(values, argv + 1);
    if (values->command == &workspace_commands[WORKSPACE_SH] && !is_about_us)
        return workspace_shell(&program, values);
    if (values->command == &workspace_commands[WORKSPACE_MCP] && !is_about_us)
        return workspace_serve(values);
    if (command_of(values) == &commands[COMMAND_UP] && !is_about_us)
        return up_run(values);
    if (command_of(values) == &commands[COMMAND_DOWN] && !is_about_us)
        return down_run(values);
    if (run(values, argv + 1, &out, &err) < 0) {
        complain("gatehouse", err.message);
        return status_of_failure(command_of(values));
    }
    r = write_all(STDOUT_FILENO, buf_view(&out));
    if (r < 0) {
        fprintf(stderr, "gatehouse: cannot write: %s\n", err_errno_text(-r));
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
