/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client with a launcher, for tests that kill it: it starts a shell command again and again,
 * prints a line for each that has started, and continues when it has ended. Commands may write to
 * PLACE. If standard input is a pipe, its end closes everything.
 *
 *     launch_commands PLACE COMMAND [TIMEOUT_MS]
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "isolate/landlock.h"
#include "isolate/launcher/launcher.h"

enum { NUMBER = 1, MEMORY_BYTES = 1 << 30, WAITS = 2, DECIMAL = 10 };

static void must(bool is_true, const char *what)
{
    if (is_true)
        return;
    fprintf(stderr, "launch_commands: %s\n", what);
    exit(1);
}

/* False: nobody wants more. A command whose time is over is killed. */
static bool wait_for_news(struct launcher *launcher, int timeout_ms)
{
    struct pollfd waits[WAITS] = {{.fd = launcher_fd(launcher), .events = POLLIN},
                                  {.fd = STDIN_FILENO, .events = POLLIN}};

    if (poll(waits, WAITS, timeout_ms) == 0)
        must(launcher_signal(launcher, NUMBER, SIGKILL) == 0, "it cannot be killed");
    return waits[1].revents == 0;
}

static void close_all(const struct launcher_fds *fds)
{
    for (int i = 0; i < LAUNCHER_MAX_FDS; i++)
        if (fds->fds[i] >= 0)
            close(fds->fds[i]);
}

/* To the end of the command, or of our input: false. */
static bool run(struct launcher *launcher, const struct launcher_command *command, int timeout_ms)
{
    struct launcher_fds fds = {{-1, -1, -1}};
    struct err err = ERR_INIT;
    bool has_ended = false;

    must(launcher_start(launcher, NUMBER, command, &err) == 0, err.message);
    while (!has_ended) {
        struct launcher_notice notice;
        struct launcher_fds news;
        int r = launcher_read(launcher, &notice, &news);

        if (r == ERR_NOT_FOUND && !wait_for_news(launcher, timeout_ms))
            break;
        if (r == ERR_NOT_FOUND)
            continue;
        must(r == 0, "the launcher has gone");
        must(notice.kind != LAUNCHER_REFUSED, notice.err.message);
        has_ended = notice.kind == LAUNCHER_ENDED;
        if (!has_ended) {
            fds = news;
            must(puts("started") >= 0 && fflush(stdout) == 0, "nobody listens");
        }
    }
    close_all(&fds);
    return has_ended;
}

int main(int argc, char **argv)
{
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    const struct box_place place = {.path = argc > 1 ? argv[1] : "", .access = BOX_WRITE};
    const struct box_plan plan = {.places = &place,
                                  .place_count = 1,
                                  .limits = {.memory_bytes = MEMORY_BYTES},
                                  .may_lack_landlock = landlock_abi() < LANDLOCK_MIN_ABI};
    const struct launcher_envelope envelope = {.plan = &plan, .env = env};
    const char *const words[] = {"/bin/sh", "-c", argc > 2 ? argv[2] : "", NULL};
    const struct launcher_command command = {.argv = words, .cwd = place.path};
    const int timeout_ms = argc > 3 ? (int)strtol(argv[3], NULL, DECIMAL) : -1;
    struct launcher *launcher;
    struct err err = ERR_INIT;

    must(argc >= 3, "PLACE COMMAND [TIMEOUT_MS]");
    must(launcher_new(&envelope, &launcher, &err) == 0, err.message);
    while (run(launcher, &command, timeout_ms))
        ;
    launcher_free(launcher);
    return 0;
}
