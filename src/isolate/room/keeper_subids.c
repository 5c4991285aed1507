/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The range of ids that the administrator gave an ordinary user (subuid(5)). The keeper enters a
 * user namespace in which it is root and has that range. Only setuid programs of the system may map
 * it, newuidmap and newgidmap, which check who asks for what.
 */
#include "isolate/room/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/streams.h"
#include "isolate/helper.h"

enum { LINE_BYTES = 1024, NAME_BYTES = 64, MODE_OTHERS_WRITE = 022 };

/* 0 is the user, the others are of the range. */
enum { RANGE_SIZE = (1 << 16) - 1 };

/* The next field of name:value:value. */
static bool take_number(struct str *rest, int64_t *out_number)
{
    struct str field;

    return str_cut(rest, ':', &field) && str_to_int64(str_trim(field), out_number) &&
           *out_number >= 0 && *out_number <= UINT32_MAX;
}

/* By hand: a static program has no other way to ask who a user is. */
static bool find_name(uid_t uid, char out_name[NAME_BYTES])
{
    cleanup_file FILE *file = fopen("/etc/passwd", "re");
    char line[LINE_BYTES];

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        struct str rest = str_from(line);
        struct str name;
        struct str password;
        int64_t number;

        if (!str_cut(&rest, ':', &name) || !str_cut(&rest, ':', &password) ||
            !take_number(&rest, &number) || number != (int64_t)uid || name.len >= NAME_BYTES)
            continue;
        snprintf(out_name, NAME_BYTES, "%.*s", STR_ARG(name));
        return true;
    }
    return false;
}

/* A line name:first:count of this user, with enough of them and without its own id. */
static bool find_range(const char *path, const char *name, uid_t uid, unsigned *out_first)
{
    cleanup_file FILE *file = fopen(path, "re");
    char line[LINE_BYTES];
    char number[16];

    snprintf(number, sizeof(number), "%u", (unsigned)uid);
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        struct str rest = str_from(line);
        struct str owner;
        int64_t first;
        int64_t count;

        if (!str_cut(&rest, ':', &owner) || (!str_eq_c(owner, name) && !str_eq_c(owner, number)) ||
            !take_number(&rest, &first) || !take_number(&rest, &count) || count < RANGE_SIZE ||
            first == 0 || first > UINT32_MAX - RANGE_SIZE ||
            ((int64_t)uid >= first && (int64_t)uid < first + RANGE_SIZE))
            continue;
        *out_first = (unsigned)first;
        return true;
    }
    return false;
}

/* Nobody but root may have changed what becomes root. */
static bool is_of_root(const char *path)
{
    struct stat about;

    return lstat(path, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == 0 &&
           (about.st_mode & MODE_OTHERS_WRITE) == 0 && helper_is_installed(path);
}

static bool map(const char *program, pid_t pid, unsigned own, unsigned first)
{
    static const char *const env[] = {NULL};
    char words[4][16];
    const char *const argv[] = {program, words[0], "0",      words[1], "1",
                                "1",     words[2], words[3], NULL};
    const struct helper helper = {.path = program, .argv = argv, .env = env};
    pid_t helper_pid;
    int status;

    snprintf(words[0], sizeof(words[0]), "%d", pid);
    snprintf(words[1], sizeof(words[1]), "%u", own);
    snprintf(words[2], sizeof(words[2]), "%u", first);
    snprintf(words[3], sizeof(words[3]), "%d", RANGE_SIZE);
    if (!is_of_root(program) || helper_start(&helper, &helper_pid, NULL) < 0)
        return false;
    while (waitpid(helper_pid, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Holds the namespace until the keeper is in it. Others must see whose it is. */
static _Noreturn void hold(int socket)
{
    char byte = 'r';

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || write(socket, &byte, 1) != 1)
        _exit(1);
    while (read(socket, &byte, 1) < 0 && errno == EINTR)
        ;
    _exit(0);
}

/* We may enter it because its owner is our user. */
static bool enter(pid_t pid)
{
    char path[64];
    cleanup_fd int users = -1;

    snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
    users = open(path, O_RDONLY | O_CLOEXEC);
    return users >= 0 && setns(users, CLONE_NEWUSER) == 0;
}

bool keep_enter_range(struct keeper *keeper)
{
    const unsigned uid = geteuid();
    const unsigned gid = getegid();
    char name[NAME_BYTES];
    char byte;
    int ends[2];
    pid_t pid;
    bool is_in;

    if (!find_name(uid, name) || !find_range("/etc/subuid", name, uid, &keeper->first_uid) ||
        !find_range("/etc/subgid", name, uid, &keeper->first_gid) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return false;
    /* SAFETY: the raw call, as a fork. We have one thread. */
    pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0) {
        close(ends[0]);
        hold(ends[1]);
    }
    close(ends[1]);
    is_in = pid > 0 && read(ends[0], &byte, 1) == 1 &&
            map("/usr/bin/newuidmap", pid, uid, keeper->first_uid) &&
            map("/usr/bin/newgidmap", pid, gid, keeper->first_gid) && enter(pid);
    close(ends[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return is_in;
}
