/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatehouse-init: the keeper of the sandboxes of one service, and as copies of it, the first
 * process of each. It is linked statically and small, since every sandbox has one.
 */
#include "cli/init.h"
#include "cli/runner.h"
#include "isolate/companion.h"
#include "isolate/confine.h"
#include "isolate/room/inner.h"

#include <sys/socket.h>

static int check_socket(const struct option_values *values, struct err *err)
{
    int type = 0;
    socklen_t len = sizeof(type);

    (void)values;
    if (getsockopt(COMPANION_FD, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type != SOCK_STREAM)
        return err_set(err, ERR_INVALID_OPTION,
                       "a sandbox service starts this program; do not start it yourself");
    return 0;
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    const int kept[] = {STDERR_FILENO, COMPANION_FD};
    int r = confine_close_fds(kept, array_size(kept), err);

    (void)values;
    (void)arena;
    return r < 0 ? r : room_keep(COMPANION_FD);
}

int main(int argc, char **argv)
{
    static const struct runner runner = {
        .program = INIT_PROGRAM,
        .title = INIT_PROGRAM,
        .see = "'" INIT_PROGRAM " --help'",
        .command = INIT_COMMAND,
        .closes_descriptors = true,
        .check = check_socket,
        .run = run,
    };

    return runner_main(&runner, argc, argv);
}
