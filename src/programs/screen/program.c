/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatehouse-screen: holds the connection to the display for a program that must not have it.
 *
 * It works in a child process that can reach nothing but the display and the front end. When the
 * display goes away the child ends, and the next one looks for it again at each request.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "asking/noticeboard.h"
#include "base/cleanup.h"
#include "cli/runner.h"
#include "cli/screen.h"
#include "cli/status.h"
#include "gatehouse/audit.h"
#include "isolate/companion.h"
#include "isolate/confine.h"
#include "permission/settings/dir.h"
#include "screen/host.h"

enum { DISPLAY_GONE = 10, KILLED = 128 }; /* exit status of the child */

enum {
    MAX_KILLS = 100,
    OPEN_MS = 1000,
    END_MS = 5000, /* for a worker without a front end: a display may answer no more */
};

#define TOKEN_NAME "portal.token"

/* What the worker needs from before it was started. */
struct place {
    struct screen_held *held; /* shared memory: the next worker sees it */
    struct noticeboard board; /* says that an agent may use mouse and keyboard */
    int stop_fd;              /* readable after `gatehouse stop`; -1 without a board */
};

/* Private, in the state directory. Without it the desktop asks each time. */
static int open_token(void *data)
{
    char path[PATH_MAX];
    cleanup_fd int dir_fd = -1;
    int fd = -1;

    (void)data;
    if (!status_socket_place(STATUS_PLACE_STATE, path) || audit_dir_open(path, &dir_fd, NULL) < 0 ||
        settingsdir_share(dir_fd, TOKEN_NAME, OPEN_MS, &fd, NULL) < 0)
        return -1;
    return fd;
}

/* Until there is a display, every request is answered with the reason. */
static int open_screen(struct place *place, struct screen **out_screen)
{
    const struct screen_around around = {
        .open_token = open_token, .tell_question = noticeboard_tell_call, .data = &place->board};
    char why[SCREEN_WHY_BYTES];

    while (true) {
        struct err err = ERR_INIT;

        if (screen_open(place->held, &around, out_screen, why, &err) == 0)
            return 0;
        if (screen_host_refuse(COMPANION_FD, &err) < 0)
            return ERR_CONNECTION_LOST;
    }
}

/* A desktop's pictures come by PipeWire, which shares memory with everybody that it talks to. */
static int confine(bool shares_memory, struct err *err)
{
    const struct confine_plan plan = {
        .passes_messages = true, /* the X server hands over shared memory */
        .shares_memory = shares_memory,
        .has_closed_fds = true,
    };
    struct confine_report report;

    return confine_process(&plan, &report, err);
}

static void on_stop(void *data)
{
    noticeboard_remove(data, NOTICEBOARD_INPUT);
}

/* In the child; the exit status. */
static int serve(void *data)
{
    struct place *place = data;
    const struct screen_host_stop stop = {
        .held = place->held, .fd = place->stop_fd, .on_stop = on_stop, .data = &place->board};
    struct screen_host *host = NULL;
    struct screen *screen = NULL;
    struct err err = ERR_INIT;
    int status = EXIT_SUCCESS;

    /* An earlier worker may have been killed while the desktop was asking. */
    noticeboard_remove(&place->board, NOTICEBOARD_CALL);
    if (screen_host_go_on(place->held, COMPANION_FD) < 0 || open_screen(place, &screen) < 0)
        return EXIT_SUCCESS;
    if (confine(screen->ops->asks_first, &err) < 0 || screen_host_new(screen, &stop, &host) < 0)
        return EXIT_FAILURE;
    if (screen_host_serve(host, COMPANION_FD) < 0)
        status = DISPLAY_GONE;
    screen_host_free(host);
    return status;
}

/* So that `gatehouse stop` finds us. Without a directory for that, it cannot. */
static int open_board(struct place *place)
{
    if (noticeboard_open(&place->board, NULL) < 0)
        return 0;
    place->stop_fd = noticeboard_watch(&place->board);
    if (place->stop_fd < 0)
        return ERR_IO;
    noticeboard_put(&place->board, NOTICEBOARD_INPUT);
    return 0;
}

/* For `gatehouse doctor`: which display would be used, and why. */
static int check(struct err *err)
{
    struct screen_held held = {0};
    const struct screen_around around = {0};
    struct screen *screen = NULL;
    char why[SCREEN_WHY_BYTES];
    int r = screen_open(&held, &around, &screen, why, err);

    puts(why);
    if (r == 0)
        screen->ops->close(screen);
    return r;
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    const int kept[] = {STDERR_FILENO, COMPANION_FD};
    struct place place = {.board = NOTICEBOARD_INIT, .stop_fd = -1};
    int kills = 0;
    int status;
    int r;

    (void)arena;
    if (options_is_on(values, SCREEN_OPTION_CHECK))
        return check(err);
    r = confine_close_fds(kept, array_size(kept), err);
    if (r < 0)
        return r;
    place.held =
        mmap(NULL, sizeof(*place.held), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place.held == MAP_FAILED)
        return err_set_plain(err, ERR_NO_MEMORY);
    r = open_board(&place);
    if (r < 0)
        return err_set_plain(err, r);
    /* If it was killed, the next one releases what it held. */
    do {
        status = companion_run_in_child(serve, &place, END_MS);
        kills += status > KILLED;
    } while (status == DISPLAY_GONE || (status > KILLED && kills < MAX_KILLS));
    noticeboard_close(&place.board);
    munmap(place.held, sizeof(*place.held));
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
    companion_follow_parent();
    return runner_main(&runner, argc, argv);
}
