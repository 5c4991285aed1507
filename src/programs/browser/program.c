/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatehouse-browser: drives a browser for a program that can start nothing and reach no network.
 *
 * It is two processes. This one has a single thread, starts browsers in boxes and keeps their
 * profiles (browser/keeper.h). Its child does the calls (browser/host.h): it reads what pages say,
 * so it is confined before it reads anything.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "browser/host.h"
#include "browser/keeper.h"
#include "cli/browser.h"
#include "cli/runner.h"
#include "isolate/companion.h"
#include "isolate/confine.h"

static int confine(struct err *err)
{
    const struct confine_plan plan = {
        .passes_messages = true,     /* the keeper hands over the browser's pipes */
        .answers_connections = true, /* on a socket of the keeper */
        .has_closed_fds = true,
    };
    struct confine_report report;

    return confine_process(&plan, &report, err);
}

/* In the child; the exit status. */
static int serve(void *data)
{
    const int *keeper = data;
    const struct browser_host_config config = {.front_fd = COMPANION_FD, .keeper_fd = keeper[0]};
    struct err err = ERR_INIT;

    close(keeper[1]);
    if (confine(&err) < 0 || browser_host_serve(&config, &err) < 0)
        return EXIT_FAILURE;
    return EXIT_SUCCESS;
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    const int kept[] = {STDERR_FILENO, COMPANION_FD};
    struct browser_keeper_config config = {
        .state_dir = options_text(values, BROWSER_OPTION_STATE_DIR),
        .staging_dir = options_text(values, BROWSER_OPTION_STAGING_DIR),
        .is_headless = options_is_on(values, BROWSER_OPTION_HEADLESS),
    };
    int ends[2];
    int r = confine_close_fds(kept, array_size(kept), err);

    (void)arena;
    if (r < 0)
        return r;
    if (config.state_dir == NULL)
        return err_set(err, ERR_INVALID_OPTION, "--state-dir is missing");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set(err, err_from_errno(errno), "cannot create a socket pair");
    r = companion_fork(serve, ends, err);
    if (r < 0)
        return r;
    close(ends[0]);
    /* COMPANION_FD stays open: the front end waits until nothing of the browser is left. */
    config.socket = ends[1];
    return browser_keeper_serve(&config, err);
}

static const struct runner runner = {
    .program = BROWSER_PROGRAM,
    .title = BROWSER_PROGRAM,
    .see = "gatehouse-browser(8)",
    .command = BROWSER_COMMAND,
    .closes_descriptors = true,
    .run = run,
};

int main(int argc, char **argv)
{
    companion_follow_parent();
    return runner_main(&runner, argc, argv);
}
