/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatehouse-screen: holds the connection to the display for a program that must not have it.
 *
 * It works in a child process that can reach nothing but the display and the front end. When the
 * display goes away the child ends, and the next one looks for it again at each request.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/runner.h"
#include "cli/screen.h"
#include "isolate/companion.h"
#include "isolate/confine.h"
#include "screen/host.h"

enum { DISPLAY_GONE = 10, KILLED = 128 }; /* exit status of the child */

enum { MAX_KILLS = 100 };

/* Until there is a display, every request is answered with the reason. */
static int open_screen(struct screen_held *held, struct screen **out_screen)
{
    while (true) {
        struct err err = ERR_INIT;

        if (screen_open_x11(held, out_screen, &err) == 0)
            return 0;
        if (screen_host_refuse(COMPANION_FD, &err) < 0)
            return ERR_CONNECTION_LOST;
    }
}

static int confine(struct err *err)
{
    const struct confine_plan plan = {
        .passes_messages = true, /* the X server hands over shared memory */
        .has_closed_fds = true,
    };
    struct confine_report report;

    return confine_process(&plan, &report, err);
}

/* In the child; the exit status. */
static int serve(void *data)
{
    struct screen_held *held = data;
    struct screen_host *host = NULL;
    struct screen *screen = NULL;
    struct err err = ERR_INIT;
    int status = EXIT_SUCCESS;

    if (open_screen(held, &screen) < 0)
        return EXIT_SUCCESS;
    if (confine(&err) < 0 || screen_host_new(screen, &host) < 0)
        return EXIT_FAILURE;
    if (screen_host_serve(host, COMPANION_FD) < 0)
        status = DISPLAY_GONE;
    screen_host_free(host);
    return status;
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    const int kept[] = {STDERR_FILENO, COMPANION_FD};
    struct screen_held *held;
    int kills = 0;
    int status;
    int r = confine_close_fds(kept, array_size(kept), err);

    (void)values;
    (void)arena;
    if (r < 0)
        return r;
    held = mmap(NULL, sizeof(*held), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (held == MAP_FAILED)
        return err_set_plain(err, ERR_NO_MEMORY);
    /* If it was killed, the next one releases what it held. */
    do {
        status = companion_run_in_child(serve, held);
        kills += status > KILLED;
    } while (status == DISPLAY_GONE || (status > KILLED && kills < MAX_KILLS));
    munmap(held, sizeof(*held));
    return 0;
}

static const struct runner runner = {
    .program = SCREEN_PROGRAM,
    .title = SCREEN_PROGRAM,
    .see = "gatehouse-screen(8)",
    .command = SCREEN_COMMAND,
    .closes_descriptors = true,
    .run = run,
};

int main(int argc, char **argv)
{
    companion_wake_with_parent();
    /* Signals from a terminal to all its programs are for the front end: it closes the socket. */
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    return runner_main(&runner, argc, argv);
}
