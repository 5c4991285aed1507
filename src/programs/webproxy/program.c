/* SPDX-License-Identifier: Apache-2.0 */
/* gatehouse-webproxy: connects sandboxed commands with the hosts of its command line. */
#include <signal.h>
#include <sys/resource.h>

#include "cli/runner.h"
#include "cli/webproxy.h"
#include "isolate/companion.h"
#include "isolate/confine.h"
#include "isolate/webproxy.h"
#include "programs/webproxy/webproxy.h"

enum { MAX_FILES = 1024 };

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    static struct domainlist hosts;
    const int kept[] = {STDERR_FILENO, COMPANION_FD};
    const struct rlimit files = {MAX_FILES, MAX_FILES};
    int r = confine_close_fds(kept, array_size(kept), err);

    (void)arena;
    for (size_t i = 0; i < values->argument_count && r == 0; i++)
        r = domainlist_add(&hosts, str_from(values->arguments[i]), err);
    if (r == 0)
        r = webproxy_confine(err);
    if (r < 0)
        return r;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    (void)signal(SIGPIPE, SIG_IGN);
    webproxy_serve(COMPANION_FD, &hosts);
}

static const struct runner runner = {
    .program = WEBPROXY_PROGRAM,
    .title = WEBPROXY_PROGRAM,
    .see = "gatehouse-webproxy(8)",
    .command = WEBPROXY_COMMAND,
    .closes_descriptors = true,
    .run = run,
};

int main(int argc, char **argv)
{
    companion_follow_parent();
    return runner_main(&runner, argc, argv);
}
