/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "isolate/cgroup.h"
#include "isolate/procstat.h"
#include "isolate/sanitized.h"

static const struct cgroup_limits limits = {
    .memory_bytes = 64 << 20, .cpu_percent = 150, .processes = 10};

/* A starter that was killed: it has made a leaf and removes nothing. */
static void leave_one(void *data)
{
    struct cgroup_leaf leaf = CGROUP_LEAF_INIT;
    const int *pipe_fd = data;

    expect(cgroup_leaf_make(&limits, &leaf, NULL) == 0);
    expect(write(*pipe_fd, leaf.name, sizeof(leaf.name)) == (ssize_t)sizeof(leaf.name));
}

static void what_a_killed_starter_left_is_swept(void **state)
{
    struct cgroup_leaf leaf = CGROUP_LEAF_INIT;
    char name[CGROUP_NAME_BYTES];
    struct stat about;
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    in_child(leave_one, &ends[1]);
    assert_int_equal(read(ends[0], name, sizeof(name)), sizeof(name));
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(cgroup_leaf_make(&limits, &leaf, NULL), 0);
    if (leaf.dir_count == 0)
        skip_because("cannot create a cgroup");
    for (size_t i = 0; i < leaf.dir_count; i++) {
        assert_int_equal(fstatat(leaf.dirs[i].parent_fd, leaf.name, &about, 0), 0);
        assert_int_equal(fstatat(leaf.dirs[i].parent_fd, name, &about, 0), -1);
    }
    cgroup_leaf_remove(&leaf);
}

/* With its own number, since it left them itself. */
static void take_names_again(void *data)
{
    struct cgroup_leaf first = CGROUP_LEAF_INIT;
    struct cgroup_leaf next = CGROUP_LEAF_INIT;
    unsigned long number;
    const char *count;
    char *rest;

    (void)data;
    expect(cgroup_leaf_make(&limits, &first, NULL) == 0);
    if (first.dir_count == 0)
        _exit(2);
    count = strchr(strchr(first.name, '.') + 1, '.') + 1;
    number = strtoul(count, &rest, 10);
    snprintf(next.name, sizeof(next.name), "%.*s%lu%s", (int)(count - first.name), first.name,
             number + 1, rest);
    for (size_t i = 0; i < first.dir_count; i++)
        expect(mkdirat(first.dirs[i].parent_fd, next.name, 0755) == 0);
    expect(cgroup_leaf_make(&limits, &next, NULL) == 0);
    expect(next.dir_count == first.dir_count);
    cgroup_leaf_remove(&first);
    cgroup_leaf_remove(&next);
}

static void names_that_a_dead_process_left_are_taken_again(void **state)
{
    const int status = status_of(take_names_again, NULL);

    (void)state;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
        skip_because("cannot create a cgroup");
    assert_int_equal(status, 0);
}

/* As another service in a container, or `unshare --pid`: it does not see who made the leaf. */
static void sweep_from_another_namespace(void *data)
{
    struct cgroup_leaf leaf = CGROUP_LEAF_INIT;
    pid_t pid;
    int status;

    (void)data;
    if (unshare(CLONE_NEWPID) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
        _exit(2);
    pid = fork();
    if (pid == 0) {
        expect(cgroup_leaf_make(&limits, &leaf, NULL) == 0);
        cgroup_leaf_remove(&leaf);
        _exit(0);
    }
    expect(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static void who_is_in_another_process_namespace_is_not_taken_for_dead(void **state)
{
    struct cgroup_leaf leaf = CGROUP_LEAF_INIT;
    struct stat about;
    int status;

    (void)state;
    assert_int_equal(cgroup_leaf_make(&limits, &leaf, NULL), 0);
    if (leaf.dir_count == 0)
        skip_because("cannot create a cgroup");
    status = status_of(sweep_from_another_namespace, NULL);
    for (size_t i = 0; i < leaf.dir_count; i++)
        assert_int_equal(fstatat(leaf.dirs[i].parent_fd, leaf.name, &about, 0), 0);
    cgroup_leaf_remove(&leaf);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
        skip_because("no process namespaces");
    assert_int_equal(status, 0);
}

static void join_it(void *data)
{
    const struct cgroup_leaf *leaf = data;
    char groups[4096] = "";
    int fd;

    expect(cgroup_leaf_join(leaf) == 0);
    fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    expect(fd >= 0 && read(fd, groups, sizeof(groups) - 1) > 0);
    expect(strstr(groups, leaf->name) != NULL);
}

static void who_joins_is_in_and_what_is_empty_goes(void **state)
{
    struct cgroup_leaf leaf = CGROUP_LEAF_INIT;
    cleanup_fd int parent_fd = -1;
    char name[CGROUP_NAME_BYTES];
    struct stat about;

    (void)state;
    assert_int_equal(cgroup_leaf_make(&limits, &leaf, NULL), 0);
    if (leaf.dir_count == 0)
        skip_because("cannot create a cgroup");
    in_child(join_it, &leaf);
    memcpy(name, leaf.name, sizeof(name));
    parent_fd = dup(leaf.dirs[0].parent_fd);
    cgroup_leaf_remove(&leaf);
    assert_int_equal(fstatat(parent_fd, name, &about, 0), -1);
}

/* ---- version 2 ---- */

/* Where the hierarchy of version 2 is mounted, whether it has controllers or not; or -1. */
static int open_v2_root(void)
{
    static const char *const places[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};

    for (size_t i = 0; i < array_size(places); i++) {
        int fd = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd >= 0 && faccessat(fd, "cgroup.controllers", F_OK, 0) == 0)
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return -1;
}

/* By hand, since without controllers there is nothing to limit. */
static bool make_v2_leaf(struct cgroup_leaf *out_leaf)
{
    struct cgroup_leaf leaf = {.dir_count = 1, .dirs[0].is_v2 = true};
    char path[CGROUP_NAME_BYTES + sizeof("/cgroup.procs")];

    leaf.dirs[0].parent_fd = open_v2_root();
    snprintf(leaf.name, sizeof(leaf.name), "gatehouse-test.%d", getpid());
    snprintf(path, sizeof(path), "%s/cgroup.procs", leaf.name);
    if (leaf.dirs[0].parent_fd < 0)
        return false;
    if (mkdirat(leaf.dirs[0].parent_fd, leaf.name, 0755) < 0) {
        close(leaf.dirs[0].parent_fd);
        return false;
    }
    leaf.dirs[0].join_fd = openat(leaf.dirs[0].parent_fd, path, O_WRONLY | O_CLOEXEC);
    assert_true(leaf.dirs[0].join_fd >= 0);
    *out_leaf = leaf;
    return true;
}

static bool is_in(const struct cgroup_leaf *leaf)
{
    char groups[4096] = "";
    int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);

    return fd >= 0 && read(fd, groups, sizeof(groups) - 1) > 0 &&
           strstr(groups, leaf->name) != NULL;
}

/* Its children, of another session, are killed with it. */
static void a_process_is_born_in_version_2_and_killed_by_it(void **state)
{
    struct cgroup_leaf leaf = CGROUP_LEAF_INIT;
    struct cgroup_leaf other;
    int pidfd = -1;
    int ends[2];
    char byte;
    int status;
    pid_t pid;

    (void)state;
    if (!make_v2_leaf(&leaf))
        skip_because("cannot create a cgroup of version 2");
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = cgroup_leaf_fork(&leaf, 0, &pidfd);
    if (pid == 0) {
        expect(leaf.is_born_in && is_in(&leaf));
        close(leaf.dirs[0].join_fd); /* so nothing needs it */
        expect(cgroup_leaf_join(&leaf) == 0);
        if (fork() == 0)
            expect(setsid() > 0 && write(ends[1], "x", 1) == 1);
        for (;;)
            pause();
    }
    assert_true(pid > 0);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_false(is_in(&leaf));
    cgroup_leaf_kill(&leaf);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(read(ends[0], &byte, 1), 0); /* nobody has the other end */
    close(ends[0]);
    close(pidfd);
    other = leaf;
    while (unlinkat(leaf.dirs[0].parent_fd, leaf.name, AT_REMOVEDIR) < 0)
        assert_int_equal(errno, EBUSY);
    /* Without it a child is nowhere else than its parent, and joins as before. */
    pid = cgroup_leaf_fork(&other, 0, &pidfd);
    if (pid == 0)
        _exit(other.is_born_in);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(pidfd);
    cgroup_leaf_remove(&leaf);
}

/* ---- many together ---- */

enum { ATTEMPTS = 15 };

/* Ends the caller with its parent, also with one that is dead by now. */
static void end_with(pid_t parent)
{
    expect(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0);
    if (getppid() != parent)
        _exit(1);
}

/* Processes that the caller can start, until it is refused. They end with it. */
static int start_all(void)
{
    const pid_t self = getpid();
    int count = 0;

    for (int i = 0; i < ATTEMPTS; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            end_with(self);
            for (;;)
                pause();
        }
        count += pid > 0;
    }
    return count;
}

/*
 * A process that enters something and starts as many as it can there; -1 if it cannot. Called in
 * children too.
 */
static pid_t start_crowd(bool (*enter)(const void *data), const void *data, int *out_count)
{
    const pid_t self = getpid();
    int ends[2];
    int count = -1;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        bool is_in = enter(data);

        /* Entering a user namespace would undo this. */
        end_with(self);
        if (is_in)
            count = start_all();
        expect(write(ends[1], &count, sizeof(count)) == (ssize_t)sizeof(count));
        for (;;)
            pause();
    }
    close(ends[1]);
    if (pid < 0 || read(ends[0], out_count, sizeof(*out_count)) != (ssize_t)sizeof(*out_count))
        *out_count = -1;
    close(ends[0]);
    return pid;
}

static void end_crowd(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static bool enter_leaf(const void *data)
{
    return cgroup_leaf_join(data) == 0;
}

/* The kernel needs a moment after the last process has gone. */
static void remove_leaf(struct cgroup_leaf *leaf)
{
    for (size_t i = 0; i < leaf->dir_count; i++)
        while (unlinkat(leaf->dirs[i].parent_fd, leaf->name, AT_REMOVEDIR) < 0)
            assert_int_equal(errno, EBUSY);
    cgroup_leaf_remove(leaf);
}

static int count_members(const struct cgroup_leaf *leaf, size_t dir)
{
    char path[CGROUP_NAME_BYTES + sizeof("/cgroup.procs")];
    char text[4096] = "";
    cleanup_fd int fd = -1;
    int count = 0;

    snprintf(path, sizeof(path), "%s/cgroup.procs", leaf->name);
    fd = openat(leaf->dirs[dir].parent_fd, path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0);
    for (const char *at = text; *at != '\0'; at++)
        count += *at == '\n';
    return count;
}

/* systemd enables the controller where a unit asks for it. */
static bool can_limit_cpu(const struct cgroup_leaf *leaf)
{
    char path[CGROUP_NAME_BYTES + sizeof("/cpu.max")];

    snprintf(path, sizeof(path), "%s/cpu.max", leaf->name);
    return !leaf->dirs[0].is_v2 || faccessat(leaf->dirs[0].parent_fd, path, F_OK, 0) == 0;
}

static void processes_that_run_already_are_limited_together(void **state)
{
    const struct cgroup_limits defaults = {.memory_unasked = 64 << 20,
                                           .cpu_percent_unasked = 150,
                                           .processes_unasked = 2 * ATTEMPTS,
                                           .yields = true};
    struct cgroup_leaf leaf = CGROUP_LEAF_INIT;
    int started;
    pid_t pid;

    (void)state;
    assert_int_equal(cgroup_leaf_make(&defaults, &leaf, NULL), 0);
    /* Root's are in one from the start before Linux 6.14. */
    pid = start_crowd(enter_leaf, &leaf, &started);
    assert_int_equal(started, ATTEMPTS);
    assert_int_equal(cgroup_leaf_extend(&defaults, &leaf, pid, NULL), 0);
    if (leaf.dir_count == 0) {
        end_crowd(pid);
        skip_because("cannot create a cgroup");
    }
    for (size_t i = 0; i < leaf.dir_count; i++)
        assert_int_equal(count_members(&leaf, i), 1 + ATTEMPTS);
    assert_int_equal(leaf.holds[CGROUP_MEMORY], CGROUP_BY_GROUP);
    assert_int_equal(leaf.holds[CGROUP_PROCESSES], CGROUP_BY_GROUP);
    assert_int_equal(leaf.holds[CGROUP_CPU],
                     can_limit_cpu(&leaf) ? CGROUP_BY_GROUP : CGROUP_BY_DEFAULT);
    assert_int_equal(leaf.limits_each, !ISOLATE_IS_SANITIZED);
    end_crowd(pid);
    remove_leaf(&leaf);
}

static void exit_at_once(void *data)
{
    pid_t *own = data;

    *own = getpid();
}

static void who_cannot_be_moved_is_not_said_to_be_limited(void **state)
{
    const struct cgroup_limits defaults = {.memory_unasked = 64 << 20, .cpu_percent_unasked = 150};
    struct cgroup_leaf leaf = CGROUP_LEAF_INIT;
    pid_t *gone =
        mmap(NULL, sizeof(*gone), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_ptr_not_equal(gone, MAP_FAILED);
    in_child(exit_at_once, gone);
    assert_int_equal(cgroup_leaf_make(&defaults, &leaf, NULL), 0);
    assert_int_equal(cgroup_leaf_extend(&defaults, &leaf, *gone, NULL), 0);
    for (int i = 0; i < CGROUP_LIMITS; i++)
        assert_int_not_equal(leaf.holds[i], CGROUP_BY_GROUP);
    cgroup_leaf_remove(&leaf);
    munmap(gone, sizeof(*gone));
}

static void limits_that_were_asked_for_stay_when_defaults_are_added(void **state)
{
    const struct cgroup_limits some = {.processes = ATTEMPTS + 5, .memory_unasked = 64 << 20};
    struct cgroup_leaf leaf = CGROUP_LEAF_INIT;
    size_t dirs;
    int started;
    pid_t pid;

    (void)state;
    assert_int_equal(cgroup_leaf_make(&some, &leaf, NULL), 0);
    dirs = leaf.dir_count;
    if (dirs == 0)
        skip_because("cannot create a cgroup");
    pid = start_crowd(enter_leaf, &leaf, &started);
    assert_int_equal(started, ATTEMPTS);
    assert_int_equal(cgroup_leaf_extend(&some, &leaf, pid, NULL), 0);
    assert_true(leaf.dir_count >= dirs);
    for (size_t i = 0; i < leaf.dir_count; i++)
        assert_int_equal(count_members(&leaf, i), 1 + ATTEMPTS);
    assert_int_equal(leaf.holds[CGROUP_MEMORY], CGROUP_BY_GROUP);
    assert_int_equal(leaf.holds[CGROUP_PROCESSES], CGROUP_BY_GROUP);
    assert_int_equal(leaf.holds[CGROUP_CPU], CGROUP_NOT_ASKED);
    end_crowd(pid);
    remove_leaf(&leaf);
}

static void leaves_of_a_group_share_its_limits(void **state)
{
    char name[CGROUP_NAME_BYTES];
    char way[CGROUP_NAME_BYTES + sizeof("../")];
    const struct cgroup_limits shared = {
        .processes = 15, .group = name, .group_processes = 20, .group_memory_bytes = 1 << 30};
    struct cgroup_leaf leaves[] = {CGROUP_LEAF_INIT, CGROUP_LEAF_INIT};
    cleanup_fd int group_fd = -1;
    pid_t crowds[2];
    int counts[2];

    (void)state;
    snprintf(name, sizeof(name), "gatehouse-test.%d", getpid());
    snprintf(way, sizeof(way), "../%s", name);
    for (int i = 0; i < 2; i++)
        assert_int_equal(cgroup_leaf_make(&shared, &leaves[i], NULL), 0);
    if (leaves[0].dir_count == 0)
        skip_because("cannot create a cgroup");
    group_fd = dup(leaves[0].dirs[0].parent_fd);
    for (int i = 0; i < 2; i++)
        crowds[i] = start_crowd(enter_leaf, &leaves[i], &counts[i]);
    /* Each has its own limit, and both together theirs. */
    assert_int_equal(counts[0] + 1, 15);
    assert_int_equal(counts[0] + 1 + counts[1] + 1, 20);
    for (int i = 0; i < 2; i++) {
        end_crowd(crowds[i]);
        remove_leaf(&leaves[i]);
    }
    assert_int_equal(unlinkat(group_fd, way, AT_REMOVEDIR), 0);
}

static bool enter_user_namespace(const void *data)
{
    (void)data;
    return unshare(CLONE_NEWUSER) == 0;
}

/* What cgroup_leave_processes() is based on: a namespace keeps the limit of who created it. */
static void crowd_two_namespaces(void *data)
{
    const struct rlimit few = {20, 1000};
    /* Its own: of an earlier run nobody may have reaped the processes yet. */
    const id_t user = 30000 + (id_t)getpid() % 30000;
    int counts[2];

    (void)data;
    expect(setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0);
    expect(setrlimit(RLIMIT_NPROC, &few) == 0);
    expect(start_crowd(enter_user_namespace, NULL, &counts[0]) > 0);
    if (counts[0] < 0)
        _exit(2);
    expect(counts[0] == ATTEMPTS);
    expect(start_crowd(enter_user_namespace, NULL, &counts[1]) > 0);
    /* With their two first processes, and with us. */
    expect(counts[1] >= 0 && counts[0] + counts[1] + 3 <= 20);
}

static void processes_in_sandboxes_count_together(void **state)
{
    int status;

    (void)state;
    if (geteuid() != 0)
        skip_because("only root can be a user without other processes");
    status = status_of(crowd_two_namespaces, NULL);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
        skip_because("no user namespaces");
    assert_int_equal(status, 0);
}

static void leave_half(void *data)
{
    struct rlimit limit = {9000, 10000};

    (void)data;
    if (setrlimit(RLIMIT_NPROC, &limit) < 0)
        _exit(2);
    cgroup_leave_processes();
    expect(getrlimit(RLIMIT_NPROC, &limit) == 0);
    expect(limit.rlim_cur == 5000 && limit.rlim_max == 10000);
    /* Of few, which others may have used up already, none are left. */
    limit = (struct rlimit){3000, 3000};
    expect(setrlimit(RLIMIT_NPROC, &limit) == 0);
    cgroup_leave_processes();
    expect(getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur == 3000);
}

static void half_of_the_user_s_processes_are_left_to_others(void **state)
{
    int status;

    (void)state;
    status = status_of(leave_half, NULL);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
        skip_because("this user may not have so many processes");
    assert_int_equal(status, 0);
}

static void nothing_is_made_where_nothing_is_asked(void **state)
{
    struct cgroup_leaf leaf = {.dir_count = 9};

    (void)state;
    assert_int_equal(cgroup_leaf_make(&(struct cgroup_limits){0}, &leaf, NULL), 0);
    assert_int_equal(leaf.dir_count, 0);
    for (int i = 0; i < CGROUP_LIMITS; i++)
        assert_int_equal(leaf.holds[i], CGROUP_NOT_ASKED);
}

static void what_does_not_hold_is_said(void **state)
{
    char words[CGROUP_WORDS_BYTES];

    (void)state;
    cgroup_describe(CGROUP_MEMORY, CGROUP_BY_PROCESS, words);
    assert_string_equal(
        words,
        "memory: limited for each process (cannot create a cgroup); shared memory is NOT LIMITED");
    cgroup_describe(CGROUP_PROCESSES, CGROUP_BY_PROCESS, words);
    assert_null(strstr(words, "NOT"));
    cgroup_describe(CGROUP_MEMORY, CGROUP_BY_GROUP, words);
    assert_null(strstr(words, "NOT"));
}

static void a_process_is_known_by_its_line_whatever_its_name(void **state)
{
    struct procstat stat;
    siginfo_t info;
    pid_t child;

    (void)state;
    child = fork();
    if (child == 0) {
        setpgid(0, 0);
        prctl(PR_SET_NAME, "a) Z 1 (b) 7", 0, 0, 0);
        kill(getpid(), SIGSTOP);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
    assert_true(procstat_of(child, &stat));
    assert_false(stat.has_ended);
    assert_int_equal(stat.parent, getpid());
    assert_int_equal(stat.group, child);
    assert_true(stat.pages > 0);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_true(procstat_of(child, &stat));
    assert_true(stat.has_ended);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(procstat_of(child, &stat));
}

TEST_MAIN(cmocka_unit_test(a_process_is_known_by_its_line_whatever_its_name),
          cmocka_unit_test(what_does_not_hold_is_said),
          cmocka_unit_test(what_a_killed_starter_left_is_swept),
          cmocka_unit_test(names_that_a_dead_process_left_are_taken_again),
          cmocka_unit_test(who_is_in_another_process_namespace_is_not_taken_for_dead),
          cmocka_unit_test(who_joins_is_in_and_what_is_empty_goes),
          cmocka_unit_test(a_process_is_born_in_version_2_and_killed_by_it),
          cmocka_unit_test(processes_that_run_already_are_limited_together),
          cmocka_unit_test(who_cannot_be_moved_is_not_said_to_be_limited),
          cmocka_unit_test(limits_that_were_asked_for_stay_when_defaults_are_added),
          cmocka_unit_test(leaves_of_a_group_share_its_limits),
          cmocka_unit_test(processes_in_sandboxes_count_together),
          cmocka_unit_test(half_of_the_user_s_processes_are_left_to_others),
          cmocka_unit_test(nothing_is_made_where_nothing_is_asked))
