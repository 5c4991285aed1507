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

/* Where descriptors are few, three quarters are for links and one for sandboxes. */
static void share_files(struct webproxy_terms *terms)
{
    struct rlimit files = {WEBPROXY_MAX_FILES, WEBPROXY_MAX_FILES};

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max > WEBPROXY_MAX_FILES)
        files.rlim_max = WEBPROXY_MAX_FILES;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    terms->max_links = WEBPROXY_MAX_LINKS;
    terms->max_boxes = WEBPROXY_MAX_BOXES;
    if (files.rlim_cur / 4 < WEBPROXY_MAX_LINKS)
        terms->max_links = (int)(files.rlim_cur / 4);
    if (files.rlim_cur / 8 < WEBPROXY_MAX_BOXES)
        terms->max_boxes = (size_t)(files.rlim_cur / 8);
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    static struct webproxy_terms terms;
    const int kept[] = {STDERR_FILENO, COMPANION_FD};
    int r = confine_close_fds(kept, array_size(kept), err);

    (void)arena;
    for (size_t i = 0; i < values->argument_count && r == 0; i++)
        r = domainlist_add(&terms.hosts, str_from(values->arguments[i]), err);
    if (r == 0)
        r = webproxy_confine(err);
    if (r < 0)
        return r;
    share_files(&terms);
    (void)signal(SIGPIPE, SIG_IGN);
    webproxy_serve(COMPANION_FD, &terms);
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
