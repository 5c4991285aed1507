/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `gatehouse authority`: the Filesystem Authority for a host that is no C program. Opens its state,
 * confines itself to the directories of the command line, and serves.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/authority.h"
#include "cli/runner.h"
#include "cli/shared.h"
#include "isolate/confine.h"
#include "programs/authority/service.h"
#include "session/state.h"

enum { MAX_DIRECTORIES = CONFINE_MAX_PLACES - 1 };

struct program {
    struct log log;
    struct session_state state;
    char state_path[PATH_MAX]; /* without links */
    char *directories[MAX_DIRECTORIES];
    size_t directory_count;
};

static int take_directories(struct program *program, const struct option_values *values,
                            struct arena *arena, struct err *err)
{
    const char *given;

    while ((given = options_argument(values, AUTHORITY_ARGUMENT_DIRECTORY +
                                                 program->directory_count)) != NULL) {
        char path[PATH_MAX];
        int r = session_state_absolute_path(given, path, err);

        if (r < 0)
            return r;
        if (program->directory_count == MAX_DIRECTORIES)
            return err_set(err, ERR_INVALID_OPTION, "at most %d directories", MAX_DIRECTORIES);
        program->directories[program->directory_count] = arena_copy(arena, str_from(path));
        if (program->directories[program->directory_count++] == NULL)
            return err_set_plain(err, ERR_NO_MEMORY);
    }
    return 0;
}

static int confine(struct program *program, struct err *err)
{
    struct landlock_place places[CONFINE_MAX_PLACES] = {
        {.path = program->state.state_path, .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE}};
    const struct confine_plan plan = {
        .places = places,
        .place_count = program->directory_count + 1,
        .changes_files = true,
        .has_closed_fds = true,
    };
    struct confine_report report;
    int r;

    for (size_t i = 0; i < program->directory_count; i++)
        places[i + 1] = (struct landlock_place){.path = program->directories[i],
                                                .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE};
    r = confine_process(&plan, &report, err);
    if (r == 0)
        confine_log(&report, &program->log);
    return r;
}

static void flush(void *data)
{
    struct program *program = data;
    const char *words = session_state_flush(&program->state);

    if (words != NULL)
        log_write(&program->log, LOG_WARN, words, LOG_TEXT("directory", program->state.state_path));
}

static int serve(struct program *program, bool is_in_memory, struct err *err)
{
    const struct authority_service_config config = {
        .authority = program->state.authority,
        .log = &program->log,
        .own = &program->state.own,
        .state_path = program->state_path,
        .directories = is_in_memory ? NULL : (const char *const *)program->directories,
        .directory_count = program->directory_count,
        .in_fd = STDIN_FILENO,
        .out_fd = STDOUT_FILENO,
        .flush = flush,
        .data = program,
    };

    return service_run(&config, err);
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    bool is_in_memory = options_is_on(values, AUTHORITY_OPTION_MEMORY);
    struct program program = {.state = SESSION_STATE_INIT};
    const struct session_state_config config = {
        .state_dir = options_text(values, AUTHORITY_OPTION_STATE_DIR),
        .audit_sync = (enum audit_sync)options_choice(values, AUTHORITY_OPTION_AUDIT_SYNC),
        .backend = is_in_memory ? AUTHORITY_MEMORY : AUTHORITY_LINUX,
    };
    int r = confine_close_fds((const int[]){STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}, 3, err);

    /* Few of many threads allocate at the same time: one heap for all is smaller. */
    mallopt(M_ARENA_MAX, 2);
    log_init(&program.log, STDERR_FILENO, shared_log_level(values, AUTHORITY_OPTION_LOG_LEVEL),
             &clock_system);
    if (r == 0)
        r = take_directories(&program, values, arena, err);
    if (r == 0)
        r = session_state_open(&config, &program.state, err);
    if (r == 0 && realpath(program.state.state_path, program.state_path) == NULL)
        r = err_set(err, err_from_errno(errno), "the state directory: %s", err_errno_text(errno));
    if (r == 0)
        r = confine(&program, err);
    if (r == 0)
        r = serve(&program, is_in_memory, err);
    session_state_close(&program.state);
    return r;
}

static int check_options(const struct option_values *values, struct err *err)
{
    bool has_directory = options_argument(values, AUTHORITY_ARGUMENT_DIRECTORY) != NULL;

    if (has_directory && options_is_on(values, AUTHORITY_OPTION_MEMORY))
        return err_set(err, ERR_INVALID_OPTION, "--memory takes no directory");
    if (isatty(STDIN_FILENO) == 1)
        return err_set(err, ERR_INVALID_OPTION,
                       "this command is for programs, which speak to it on standard input");
    return 0;
}

static const struct runner runner = {
    .program = AUTHORITY_PROGRAM,
    .title = "gatehouse authority",
    .see = "'gatehouse authority --help'",
    .command = AUTHORITY_COMMAND,
    .keeps_input = true,
    .closes_descriptors = true,
    .check = check_options,
    .run = run,
};

int main(int argc, char **argv)
{
    return runner_main(&runner, argc, argv);
}
