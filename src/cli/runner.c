/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/runner.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/options/help.h"
#include "base/printable.h"
#include "base/redact.h"
#include "cli/configfile.h"
#include "cli/output.h"
#include "cli/stop.h"
#include "isolate/confine.h"

enum {
    ARGS_MAX_BYTES = 4 << 20,
    HELP_MAX_BYTES = 1 << 20,
    HELP_WIDTH = 80,
    WORDS_BYTES = 4 * ERR_MESSAGE_BYTES,
};

/* Behind the program's own. */
enum { HELP, VERSION, MORE_OPTIONS };
static const struct option more_options[MORE_OPTIONS] = {
    [HELP] = {.name = "help", .letter = 'h', .is_final = true, .help = "show this page"},
    [VERSION] = {.name = "version", .letter = 'V', .is_final = true, .help = "show the version"},
};

void runner_complain(const struct runner *runner, const char *words)
{
    cleanup_output struct output output = OUTPUT_INIT(STDERR_FILENO, &stop_signal);
    cleanup_buf struct buf shown = BUF_INIT(WORDS_BYTES);

    /* A server's words may bring a key back; what fits is without secrets. */
    (void)redact_all(str_from(words), &shown);
    output_printf(&output, "%s: ", runner->title);
    output_shown(&output, buf_view(&shown), PRINTABLE_LINE);
    output_line_end(&output);
    (void)output_finish(&output, NULL);
}

/* ---- options ---- */

static bool is_on(const struct option_values *values, unsigned option)
{
    while (values->above != NULL)
        values = values->above;
    return options_is_on(values, values->command->option_count - MORE_OPTIONS + option);
}

/* One is enough: whoever set it knows the others. */
static void tell_shadowed(const struct runner *runner, const struct option *row)
{
    char words[2 * OPTION_NAME_BYTES];

    if (row == NULL)
        return;
    snprintf(words, sizeof(words), "%s is set, so %s is ignored", row->env, row->old_env);
    runner_complain(runner, words);
}

static int read_options(const struct runner *runner, struct arena *arena, int argc,
                        char *const *argv, struct option_values **out_values, struct err *err)
{
    const struct option_command *own = &runner->command;
    struct option_command *program = arena_new(arena, struct option_command);
    size_t count = own->option_count + MORE_OPTIONS;
    struct option *options = arena_alloc_array(arena, count, sizeof(*options));
    int r;

    if (program == NULL || options == NULL)
        return err_set_plain(err, arena->error);
    if (own->option_count > 0)
        memcpy(options, own->options, own->option_count * sizeof(*options));
    memcpy(options + own->option_count, more_options, sizeof(more_options));
    *program = *own;
    program->name = runner->program;
    program->options = options;
    program->option_count = count;
    r = options_read_args(arena, program, argc, argv, out_values, err);
    if (r == 0)
        r = options_read_env(*out_values, environ, err);
    if (r == 0 && !is_on(*out_values, HELP) && !is_on(*out_values, VERSION))
        r = configfile_read(*out_values, err);
    /* Help is there whatever else is missing. */
    if (r == 0 && runner->check != NULL && !is_on(*out_values, HELP) &&
        !is_on(*out_values, VERSION))
        r = runner->check(*out_values, err);
    return r;
}

static int print_help(const struct runner *runner, const struct option_values *values, FILE *file,
                      struct err *err)
{
    cleanup_buf struct buf out = BUF_INIT(HELP_MAX_BYTES);
    int r = is_on(values, VERSION) ? buf_printf(&out, "%s %s\n", runner->program, GATEHOUSE_VERSION)
                                   : options_help(values, HELP_WIDTH, &out);

    if (r < 0)
        return err_set_plain(err, r);
    /* A full disk shows only when the buffer is written. */
    if (fwrite(out.data, 1, out.len, file) < out.len || fflush(file) != 0)
        return err_set(err, err_from_errno(errno), "cannot write: %s", err_errno_text(errno));
    return 0;
}

/* ---- from start to end ---- */

static int close_descriptors(const struct runner *runner, struct err *err)
{
    const int kept[] = {STDOUT_FILENO, STDERR_FILENO, STDIN_FILENO};

    if (runner->closes_descriptors)
        return 0;
    return confine_close_fds(kept, array_size(kept) - !runner->keeps_input, err);
}

static int run(const struct runner *runner, const struct option_values *values, struct arena *arena,
               struct err *err)
{
    int r;

    if (is_on(values, HELP) || is_on(values, VERSION))
        return print_help(runner, values, stdout, err);
    if (values->command->command_count > 0) {
        r = print_help(runner, values, stderr, err);
        return r < 0 ? r : RUNNER_WRONG_USE;
    }
    /* A reader that goes away is an error of write(), not the end of us. */
    signal(SIGPIPE, SIG_IGN);
    r = close_descriptors(runner, err);
    return r < 0 ? r : runner->run(values, arena, err);
}

int runner_main(const struct runner *runner, int argc, char *const *argv)
{
    int failed_status = runner->failed_status > 0 ? runner->failed_status : EXIT_FAILURE;
    cleanup_arena struct arena arena = ARENA_INIT(ARGS_MAX_BYTES);
    struct option_values *values = NULL;
    struct err err = ERR_INIT;
    int r = read_options(runner, &arena, argc, argv, &values, &err);

    if (r < 0 || values == NULL) {
        runner_complain(runner, err.message);
        fprintf(stderr, "See %s.\n", runner->see);
        return RUNNER_WRONG_USE;
    }
    tell_shadowed(runner, values->shadowed);
    r = run(runner, values, &arena, &err);
    if (stop_signal != 0)
        return STOP_EXIT + stop_signal;
    if (r >= 0)
        return r;
    runner_complain(runner, err.code != 0 ? err.message : err_text(r));
    return r == ERR_INVALID_OPTION && runner->checks_options_late ? RUNNER_WRONG_USE
                                                                  : failed_status;
}
