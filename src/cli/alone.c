/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/alone.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/options/help.h"

enum {
    HELP_MAX_BYTES = 1 << 20,
    HELP_WIDTH = 80,
};

/* Behind the command's own. */
enum { HELP, VERSION, MORE_OPTIONS };
static const struct option more_options[MORE_OPTIONS] = {
    [HELP] = {.name = "help", .letter = 'h', .is_final = true, .help = "show this page"},
    [VERSION] = {.name = "version", .is_final = true, .help = "show the version"},
};

static bool is_on(const struct option_values *values, unsigned option)
{
    while (values->above != NULL)
        values = values->above;
    return options_is_on(values, values->command->option_count - MORE_OPTIONS + option);
}

int alone_read_options(struct arena *arena, const struct option_command *command, int argc,
                       char *const *argv, struct option_values **out_values, struct err *err)
{
    size_t count = command->option_count + MORE_OPTIONS;
    struct option_command *program = arena_new(arena, struct option_command);
    struct option *options = arena_alloc_array(arena, count, sizeof(*options));
    int r;

    if (program == NULL || options == NULL)
        return err_set_plain(err, arena->error);
    if (command->option_count > 0)
        memcpy(options, command->options, command->option_count * sizeof(*options));
    memcpy(options + command->option_count, more_options, sizeof(more_options));
    *program = *command;
    program->options = options;
    program->option_count = count;
    r = options_read_args(arena, program, argc, argv, out_values, err);
    return r == 0 ? options_read_env(*out_values, environ, err) : r;
}

static const char *program_name(const struct option_values *values)
{
    return values->above != NULL ? program_name(values->above) : values->command->name;
}

bool alone_is_asked_about_itself(const struct option_values *values)
{
    return is_on(values, HELP) || is_on(values, VERSION);
}

int alone_tell_about_itself(const struct option_values *values, struct err *err)
{
    cleanup_buf struct buf out = BUF_INIT(HELP_MAX_BYTES);
    int r = is_on(values, HELP)
                ? options_help(values, HELP_WIDTH, &out)
                : buf_printf(&out, "%s %s\n", program_name(values), GATEHOUSE_VERSION);

    if (r < 0)
        return err_set_plain(err, r);
    /* A full disk shows only when the buffer is written. */
    if (fwrite(out.data, 1, out.len, stdout) < out.len || fflush(stdout) != 0)
        return err_set(err, err_from_errno(errno), "cannot write: %s", err_errno_text(errno));
    return 0;
}
