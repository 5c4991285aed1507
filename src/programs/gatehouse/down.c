/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/gatehouse/down.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/printable.h"
#include "isolate/procstat.h"
#include "programs/gatehouse/complain.h"
#include "programs/gatehouse/start.h"
#include "programs/gatehouse/status.h"

enum {
    END_MS = 30 * 1000, /* commands of agents end first */
    PROC_BYTES = 64,
    SHOWN_BYTES = 1024,
};

const struct option down_options[DOWN_OPTIONS] = {
    [DOWN_OPTION_ALL] = {.name = "all", .help = "stop every 'gatehouse up' of yours"},
};

const struct option_argument down_arguments[DOWN_ARGUMENTS] = {
    [DOWN_ARGUMENT_DIR] = {.name = "DIR",
                           .type = OPTION_DIR,
                           .is_optional = true,
                           .help = "the folder that it serves; needed if several are running"},
};

/* ---- the processes ---- */

static int open_pidfd(pid_t pid)
{
    /* SAFETY: no wrapper in this libc; the arguments are those of pidfd_open(2). */
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static bool send_to(int pidfd, int signum)
{
    /* SAFETY: the same for pidfd_send_signal(2). */
    return syscall(SYS_pidfd_send_signal, pidfd, signum, NULL, 0) == 0;
}

static bool is_gatehouse(pid_t pid)
{
    static const char wanted[] = "gatehouse\n";
    char path[PROC_BYTES];
    char name[PROC_BYTES] = "";
    cleanup_fd int fd = -1;

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, name, sizeof(name) - 1) > 0 && strcmp(name, wanted) == 0;
}

/* 0: unknown. */
static pid_t parent_of(pid_t pid)
{
    struct procstat stat;

    return procstat_of(pid, &stat) ? stat.parent : 0;
}

/*
 * The `gatehouse up` that started the daemon, to wait for it: its server ends after the daemon.
 * It gets no signal from us. -1 if that is not sure.
 */
static int open_parent(const struct status_up *up)
{
    pid_t parent = parent_of(up->pid);
    cleanup_fd int fd = parent > 0 ? open_pidfd(parent) : -1;

    /* The daemon still lives, so these numbers meant it and its parent all the time. */
    return fd >= 0 && is_gatehouse(parent) && parent_of(up->pid) == parent && send_to(up->pidfd, 0)
               ? steal_fd(&fd)
               : -1;
}

static bool wait_for(int pidfd)
{
    struct pollfd end = {.fd = pidfd, .events = POLLIN};

    return pidfd < 0 || poll(&end, 1, END_MS) > 0;
}

/* ---- which ---- */

struct search {
    const char *folder; /* NULL: any */
    bool is_for_real;   /* else they are counted */
    size_t count;
    bool has_failed;
};

static void end_one(struct search *search, const struct status_up *up)
{
    cleanup_fd int parent = open_parent(up);
    char folder[SHOWN_BYTES + PRINTABLE_CUT_BYTES];
    char page[SHOWN_BYTES + PRINTABLE_CUT_BYTES];

    printable_cut(up->folder, PRINTABLE_LINE, folder, SHOWN_BYTES);
    printable_cut(up->page, PRINTABLE_LINE, page, SHOWN_BYTES);
    if (up->pidfd >= 0 && send_to(up->pidfd, SIGTERM) && wait_for(up->pidfd) && wait_for(parent)) {
        printf("Stopped 'gatehouse up' for %s (%s)\n", folder, page);
        fflush(stdout);
        return;
    }
    search->has_failed = true;
    fprintf(stderr,
            "gatehouse down: 'gatehouse up' for %s is still running; stop it with 'kill %d'\n",
            folder, (int)up->pid);
}

static int visit(void *data, const struct status_up *up)
{
    struct search *search = data;

    if (search->folder != NULL && !str_eq_c(up->folder, search->folder))
        return 0;
    search->count++;
    if (search->is_for_real)
        end_one(search, up);
    return 0;
}

/* Its one true name, as `up` uses it. One that has gone may still be served. */
static int find_folder(const char *given, char out_path[PATH_MAX], struct err *err)
{
    char named[PATH_MAX];
    int r = start_absolute(given, named, err);

    if (r == 0 && realpath(named, out_path) == NULL)
        snprintf(out_path, PATH_MAX, "%s", named);
    return r;
}

static int run(const struct option_values *values, struct err *err)
{
    const char *given = options_argument(values, DOWN_ARGUMENT_DIR);
    bool is_for_all = options_is_on(values, DOWN_OPTION_ALL);
    char folder[PATH_MAX];
    struct search search = {.folder = given != NULL ? folder : NULL};
    int r = given != NULL ? find_folder(given, folder, err) : 0;

    if (r < 0)
        return r;
    if (given != NULL && is_for_all)
        return err_set(err, ERR_INVALID_OPTION, "use either DIR or --all");
    (void)status_each_up(visit, &search);
    if (search.count == 0 && given != NULL)
        return err_set(err, ERR_NOT_FOUND,
                       "no 'gatehouse up' of yours serves '%s': see 'gatehouse status'", folder);
    if (search.count == 0)
        return err_set(err, ERR_NOT_FOUND, "no 'gatehouse up' of yours is running");
    if (search.count > 1 && given == NULL && !is_for_all)
        return err_set(
            err, ERR_INVALID_OPTION,
            "%zu of them are running: name the folder of the one to stop ('gatehouse status' "
            "lists them), or use --all",
            search.count);
    search.is_for_real = true;
    (void)status_each_up(visit, &search);
    return search.has_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int down_run(const struct option_values *values)
{
    struct err err = ERR_INIT;
    int r = run(values, &err);

    if (r >= 0)
        return r;
    complain("gatehouse down", err.message);
    return EXIT_FAILURE;
}
