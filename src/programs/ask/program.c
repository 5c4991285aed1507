/* SPDX-License-Identifier: Apache-2.0 */
/* gatehouse-ask: shows the questions of this user's other Gatehouse programs, and answers them. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "asking/notifier.h"
#include "base/cleanup.h"
#include "cli/ask.h"
#include "cli/runner.h"
#include "cli/stop.h"
#include "console/console.h"
#include "loop/signal.h"
#include "programs/ask/askers.h"

enum { LINE_BYTES = 64 << 10 };

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

struct program {
    struct loop *loop;
    struct question_queue *queue;
    struct console *console;
    struct notifier *notifier;
    struct askers *askers;
    struct signal_watch *watches[array_size(signals)];
    int status; /* to exit with */
};

static void on_signal(void *data, int signum)
{
    struct program *program = data;

    program->status = STOP_EXIT + signum;
    /* The shell's prompt does not begin behind the ^C that the terminal shows. */
    if (signum == SIGINT && isatty(STDOUT_FILENO) == 1)
        (void)!write(STDOUT_FILENO, "\n", 1);
    loop_stop(program->loop);
}

static void on_gone(void *data)
{
    struct program *program = data;

    loop_stop(program->loop);
}

/* Not while a question is on the terminal: it is no news that matters more. */
static void on_found(void *data, struct str name)
{
    const struct program *program = data;
    cleanup_buf struct buf line = BUF_INIT(LINE_BYTES);

    if (console_is_taken(program->console) || question_add_line(&line, name) < 0)
        return;
    printf("Listening to %.*s\n", STR_ARG(buf_view(&line)));
    fflush(stdout);
}

static int open_all(struct program *program, const struct option_values *values, struct err *err)
{
    int r = loop_new(&clock_system, &program->loop);

    if (r == 0)
        r = question_queue_new(&program->queue);
    for (size_t i = 0; i < array_size(signals) && r == 0; i++)
        r = signal_watch_new(program->loop, signals[i], on_signal, program, &program->watches[i]);
    if (r == 0)
        r = console_new(
            &(struct console_config){
                .loop = program->loop,
                .queue = program->queue,
                .in_fd = STDIN_FILENO,
                .out_fd = STDOUT_FILENO,
                .look = stage_look(getenv("TERM"), getenv("NO_COLOR"), getenv("LC_ALL"),
                                   getenv("LC_CTYPE"), getenv("LANG")),
                .on_gone = on_gone,
                .data = program,
            },
            &program->console);
    if (r == 0 && options_is_on(values, ASK_OPTION_NOTIFICATIONS))
        r = notifier_new(program->loop, program->queue, DESKTOP_PROGRAM, &program->notifier);
    return r < 0 ? err_set_plain(err, r)
                 : askers_new(&(struct askers_config){.loop = program->loop,
                                                      .queue = program->queue,
                                                      .on_found = on_found,
                                                      .data = program},
                              &program->askers, err);
}

static void close_all(struct program *program)
{
    askers_free(program->askers);
    notifier_free(program->notifier);
    console_free(program->console);
    question_queue_free(program->queue);
    for (size_t i = 0; i < array_size(signals); i++)
        signal_watch_free(program->watches[i]);
    if (program->loop != NULL)
        loop_free(program->loop);
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    struct program program = {.status = EXIT_SUCCESS};
    int r;

    (void)arena;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return err_set(err, ERR_INVALID_OPTION,
                       "questions need a terminal to be answered in: start it in one");
    r = open_all(&program, values, err);
    if (r == 0) {
        puts("Questions of your Gatehouse programs appear here. Ctrl-C stops this.");
        fflush(stdout);
        loop_run(program.loop);
        r = program.status;
    }
    close_all(&program);
    return r;
}

static const struct runner runner = {
    .program = ASK_PROGRAM,
    .title = "gatehouse ask",
    .see = "'gatehouse ask --help'",
    .command = ASK_COMMAND,
    .keeps_input = true,
    .checks_options_late = true,
    .run = run,
};

int main(int argc, char **argv)
{
    return runner_main(&runner, argc, argv);
}
