/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatehouse-workspacehost: holds the workspaces of a program that can reach no network, and the
 * keys of their provider.
 */
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/authorities.h"
#include "cli/runner.h"
#include "cli/workspacehost.h"
#include "isolate/companion.h"
#include "isolate/confine.h"
#include "workspace/host.h"

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    const int kept[] = {STDERR_FILENO, COMPANION_FD};
    struct authorities authorities = AUTHORITIES_INIT;
    const struct workspacehost_config config = {
        .fd = COMPANION_FD,
        .state_dir = options_text(values, WORKSPACEHOST_OPTION_STATE_DIR),
        .service_program = SANDBOXD_PROGRAM,
        .libexec = GATEHOUSE_LIBEXECDIR,
        .make_filter = authorities_make_filter,
        .filter_data = &authorities,
    };
    int r = confine_close_fds(kept, array_size(kept), err);

    (void)arena;
    if (r == 0 && config.state_dir == NULL)
        r = err_set(err, ERR_INVALID_OPTION, "--state-dir is missing");
    if (r == 0)
        r = workspacehost_serve(&config, err);
    authorities_done(&authorities);
    return r;
}

static const struct runner runner = {
    .program = WORKSPACEHOST_PROGRAM,
    .title = WORKSPACEHOST_PROGRAM,
    .see = "gatehouse-workspacehost(8)",
    .command = WORKSPACEHOST_COMMAND,
    .closes_descriptors = true,
    .run = run,
};

int main(int argc, char **argv)
{
    companion_follow_parent();
    signal(SIGPIPE, SIG_IGN);
    return runner_main(&runner, argc, argv);
}
