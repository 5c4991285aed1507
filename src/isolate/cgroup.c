/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "isolate/procstat.h"
#include "isolate/sanitized.h"

enum {
    TEXT_MAX_BYTES = 64 << 10,
    EVENTS_MAX_BYTES = 4096,
    CPU_PERIOD_US = 100000,
    SWEEP_EVERY_MS = 100,
    FOREIGN_AGE_S = 600,         /* of an empty cgroup of another process namespace */
    USER_PROCESSES = 32768,      /* of a user without a limit */
    USER_LEAST_PROCESSES = 4096, /* with fewer, half of them may be in use already */
    YIELDING_NICE = 5,           /* a third of the usual weight */
    GROUP_WEIGHT = 50,           /* version 2, where 100 is the usual one */
    GROUP_SHARES = 512,          /* version 1: 1024 */
    RESERVED_PIDS = 300,         /* the kernel's */
    FIRST_PIDS = 2,              /* below those: a sandbox's first process and its command */
};

static const char prefix[] = "gatehouse-box.";

static const struct {
    const char *controller;
    const char *words;
} limits_of[CGROUP_LIMITS] = {
    [CGROUP_MEMORY] = {"memory", "memory"},
    [CGROUP_CPU] = {"cpu", "cores"},
    [CGROUP_PROCESSES] = {"pids", "processes"},
};

/* ---- Where we are ---- */

/* Reads a kernel file whole, if it fits. */
static bool read_text_at(int dir_fd, const char *path, char *out_text, size_t size)
{
    cleanup_fd int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;

    while (fd >= 0 && len < size - 1) {
        ssize_t got = read(fd, out_text + len, size - 1 - len);

        if (got < 0)
            return false;
        if (got == 0) {
            out_text[len] = '\0';
            return true;
        }
        len += (size_t)got;
    }
    return false;
}

static bool has_word(struct str list, const char *word)
{
    for (struct str part; str_cut(&list, ',', &part);)
        if (str_eq_c(part, word))
            return true;
    return false;
}

/* Our own cgroup of a controller, "" for version 2: a line like 4:memory:/user. */
static bool find_own(const char *groups, const char *controller, struct str *out_path)
{
    struct str rest = str_from(groups);

    for (struct str line; str_cut(&rest, '\n', &line);) {
        struct str names;
        struct str number;

        if (str_cut(&line, ':', &number) && str_cut(&line, ':', &names) &&
            (*controller != '\0' ? has_word(names, controller) : names.len == 0)) {
            *out_path = line;
            return true;
        }
    }
    return false;
}

/* The mount point of a hierarchy, and which part of it: fields 5 and 4 of its line. */
static bool find_mount(const char *mounts, const char *controller, struct str *out_point,
                       struct str *out_root)
{
    struct str rest = str_from(mounts);

    for (struct str line; str_cut(&rest, '\n', &line);) {
        size_t dash = str_find(line, STR(" - "));
        struct str front = str_slice(line, 0, dash);
        struct str back = dash == SIZE_MAX ? STR_EMPTY : str_slice(line, dash + 3, line.len);
        struct str type;
        struct str source;
        struct str field;

        if (!str_cut(&back, ' ', &type) || !str_cut(&back, ' ', &source))
            continue;
        if (*controller == '\0' ? !str_eq_c(type, "cgroup2")
                                : !str_eq_c(type, "cgroup") || !has_word(back, controller))
            continue;
        for (int i = 0; i < 5 && str_cut(&front, ' ', &field); i++) {
            if (i == 3)
                *out_root = field;
            if (i == 4)
                *out_point = field;
        }
        return true;
    }
    return false;
}

struct where {
    char mounts[TEXT_MAX_BYTES];
    char groups[TEXT_MAX_BYTES / 16];
};

/* Our own directory of a controller. */
static int open_own(const struct where *where, const char *controller)
{
    struct str own;
    struct str point = STR_EMPTY;
    struct str root = STR_EMPTY;
    char path[PATH_MAX];

    if (!find_own(where->groups, controller, &own) ||
        !find_mount(where->mounts, controller, &point, &root))
        return -1;
    /* In a container a part of the tree is mounted, and that is its root. */
    if (root.len > 1 && str_starts_with(own, root))
        own = str_slice(own, root.len, own.len);
    if (snprintf(path, sizeof(path), "%.*s%.*s", STR_ARG(point), STR_ARG(own)) >= PATH_MAX)
        return -1;
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* ---- Leaves ---- */

static bool write_at(int dir_fd, const char *leaf, const char *name, const char *text)
{
    char path[NAME_MAX + CGROUP_NAME_BYTES];
    cleanup_fd int fd = -1;

    snprintf(path, sizeof(path), "%s/%s", leaf, name);
    fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool write_number(int dir_fd, const char *leaf, const char *name, uint64_t number)
{
    char text[32];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    return write_at(dir_fd, leaf, name, text);
}

static uint64_t value_of(const struct cgroup_limits *limits, enum cgroup_limit limit)
{
    switch (limit) {
    case CGROUP_MEMORY:
        return limits->memory_bytes;
    case CGROUP_CPU:
        return limits->cpu_percent;
    case CGROUP_PROCESSES:
        return limits->processes;
    case CGROUP_LIMITS:
        break;
    }
    return 0;
}

static bool set_limit(int dir_fd, const char *leaf, bool is_v2, enum cgroup_limit limit,
                      uint64_t value)
{
    uint64_t quota = value * CPU_PERIOD_US / 100;
    char text[64];

    switch (limit) {
    case CGROUP_MEMORY:
        if (!write_number(dir_fd, leaf, is_v2 ? "memory.max" : "memory.limit_in_bytes", value))
            return false;
        /* If this machine does not account swap, there is nothing to limit. */
        (void)(is_v2 ? write_number(dir_fd, leaf, "memory.swap.max", 0)
                     : write_number(dir_fd, leaf, "memory.memsw.limit_in_bytes", value));
        return true;
    case CGROUP_CPU:
        if (!is_v2)
            return write_number(dir_fd, leaf, "cpu.cfs_period_us", CPU_PERIOD_US) &&
                   write_number(dir_fd, leaf, "cpu.cfs_quota_us", quota);
        snprintf(text, sizeof(text), "%llu %d", (unsigned long long)quota, CPU_PERIOD_US);
        return write_at(dir_fd, leaf, "cpu.max", text);
    case CGROUP_PROCESSES:
        return write_number(dir_fd, leaf, "pids.max", value);
    case CGROUP_LIMITS:
        break;
    }
    return false;
}

/* Also one that nobody has reaped yet. */
static bool is_dead(pid_t pid)
{
    struct procstat stat;

    if (kill(pid, 0) < 0)
        return errno == ESRCH;
    return procstat_of(pid, &stat) && stat.has_ended;
}

/* Of our process namespace; 0 if unknown. Asked for each time, since a copy may be in another. */
static uint64_t own_namespace(void)
{
    struct stat about;

    return stat("/proc/self/ns/pid", &about) == 0 ? about.st_ino : 0;
}

/* gatehouse-box.PROCESS.COUNT.NAMESPACE: a process number alone may be anybody's elsewhere. */
static void name_leaf(struct cgroup_leaf *leaf)
{
    static unsigned made;

    snprintf(leaf->name, sizeof(leaf->name), "%s%d.%u.%llu", prefix, getpid(), made++,
             (unsigned long long)own_namespace());
}

static bool is_old(int dir_fd, const char *name)
{
    struct stat about;
    struct timespec now;

    return fstatat(dir_fd, name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
           clock_gettime(CLOCK_REALTIME, &now) == 0 &&
           now.tv_sec - about.st_ctim.tv_sec > FOREIGN_AGE_S;
}

/*
 * Whether nobody needs it any more if it is empty. Whoever made one in another process namespace
 * cannot be seen from here, but has a process in it within moments.
 */
static bool is_left(int dir_fd, const char *leaf, uint64_t our_namespace)
{
    struct str name = str_from(leaf);
    struct str owner;
    struct str count;
    int64_t pid;
    int64_t its_namespace;

    if (!str_starts_with(name, str_from(prefix)))
        return false;
    name = str_slice(name, sizeof(prefix) - 1, name.len);
    if (!str_cut(&name, '.', &owner) || !str_to_int64(owner, &pid) || pid <= 0 || pid > INT_MAX)
        return false;
    if (our_namespace == 0 || !str_cut(&name, '.', &count) || !str_to_int64(name, &its_namespace) ||
        (uint64_t)its_namespace != our_namespace)
        return is_old(dir_fd, leaf);
    return pid != getpid() && is_dead((pid_t)pid);
}

/* Removes cgroups of dead processes. The kernel removes only empty ones: false if some are left. */
static bool sweep_dir(int dir_fd)
{
    const uint64_t our_namespace = own_namespace();
    int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    bool is_clean = true;

    if (dir == NULL) {
        if (copy >= 0)
            close(copy);
        return true;
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own */
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (is_left(dir_fd, entry->d_name, our_namespace) &&
            unlinkat(dir_fd, entry->d_name, AT_REMOVEDIR) < 0 && errno == EBUSY)
            is_clean = false;
    closedir(dir);
    return is_clean;
}

/* What has this name already was left by a dead process that had our number. */
static bool make_empty_dir(int parent_fd, const char *name)
{
    if (mkdirat(parent_fd, name, 0755) == 0)
        return true;
    return errno == EEXIST && unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 &&
           mkdirat(parent_fd, name, 0755) == 0;
}

/* ---- Groups of leaves ---- */

static uint64_t group_value_of(const struct cgroup_limits *limits, enum cgroup_limit limit)
{
    switch (limit) {
    case CGROUP_MEMORY:
        return limits->group_memory_bytes;
    case CGROUP_PROCESSES:
        return limits->group_processes;
    case CGROUP_CPU:
    case CGROUP_LIMITS:
        break;
    }
    return 0;
}

/* Lets leaves in it have the limit, and sets it for all of them. */
static bool limit_group(int group_fd, const struct cgroup_limits *limits, bool is_v2,
                        enum cgroup_limit limit)
{
    const uint64_t value = group_value_of(limits, limit);
    char controller[32];

    snprintf(controller, sizeof(controller), "+%s", limits_of[limit].controller);
    if (is_v2) {
        if (!write_at(group_fd, ".", "cgroup.subtree_control", controller))
            return false;
        /* If it was given that controller. */
        (void)write_number(group_fd, ".", "cpu.weight", GROUP_WEIGHT);
    } else if (limit == CGROUP_CPU) {
        (void)write_number(group_fd, ".", "cpu.shares", GROUP_SHARES);
    } else if (limit == CGROUP_MEMORY) {
        (void)write_at(group_fd, ".", "memory.use_hierarchy", "1"); /* newer kernels always do */
    }
    return value == 0 || set_limit(group_fd, ".", is_v2, limit, value);
}

/* The group in this directory, with its limit; or -1 and nothing is left behind. */
static int open_group(int parent_fd, const struct cgroup_limits *limits, bool is_v2,
                      enum cgroup_limit limit)
{
    cleanup_fd int group_fd = -1;

    if (mkdirat(parent_fd, limits->group, 0755) < 0 && errno != EEXIST)
        return -1;
    group_fd = openat(parent_fd, limits->group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (group_fd >= 0 && limit_group(group_fd, limits, is_v2, limit))
        return steal_fd(&group_fd);
    (void)unlinkat(parent_fd, limits->group, AT_REMOVEDIR);
    return -1;
}

/* ---- Leaves, made ---- */

/* A leaf in this directory that takes the limit, and has it then; or nothing is left behind. */
static bool make_dir(struct cgroup_leaf *leaf, int above_fd, const struct cgroup_limits *limits,
                     bool is_v2, enum cgroup_limit limit)
{
    char path[CGROUP_NAME_BYTES + sizeof("/cgroup.procs")];
    cleanup_fd int parent_fd = -1;
    int join_fd = -1;

    if (above_fd < 0 || leaf->dir_count == CGROUP_MAX_DIRS)
        return false;
    parent_fd = leaf->is_grouped ? open_group(above_fd, limits, is_v2, limit)
                                 : fcntl(above_fd, F_DUPFD_CLOEXEC, 0);
    if (parent_fd < 0)
        return false;
    (void)sweep_dir(parent_fd);
    if (!make_empty_dir(parent_fd, leaf->name))
        return false;
    snprintf(path, sizeof(path), "%s/cgroup.procs", leaf->name);
    if (set_limit(parent_fd, leaf->name, is_v2, limit, value_of(limits, limit)))
        join_fd = openat(parent_fd, path, O_WRONLY | O_CLOEXEC);
    if (join_fd < 0) {
        (void)unlinkat(parent_fd, leaf->name, AT_REMOVEDIR);
        return false;
    }
    leaf->dirs[leaf->dir_count].parent_fd = steal_fd(&parent_fd);
    leaf->dirs[leaf->dir_count].join_fd = join_fd;
    leaf->dirs[leaf->dir_count++].is_v2 = is_v2;
    return true;
}

static bool hold(struct cgroup_leaf *leaf, const struct where *where,
                 const struct cgroup_limits *limits, enum cgroup_limit limit)
{
    cleanup_fd int v1 = -1;
    cleanup_fd int v2 = -1;
    cleanup_fd int above = -1;

    for (size_t i = 0; i < leaf->dir_count; i++)
        if (leaf->dirs[i].is_v2)
            return (!leaf->is_grouped ||
                    limit_group(leaf->dirs[i].parent_fd, limits, true, limit)) &&
                   set_limit(leaf->dirs[i].parent_fd, leaf->name, true, limit,
                             value_of(limits, limit));
    v1 = open_own(where, limits_of[limit].controller);
    if (make_dir(leaf, v1, limits, false, limit))
        return true;
    v2 = open_own(where, "");
    if (make_dir(leaf, v2, limits, true, limit))
        return true;
    /* A group with processes has no groups with limits below it, but may have them beside it. */
    above = v2 >= 0 ? openat(v2, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    return make_dir(leaf, above, limits, true, limit);
}

/* ---- More leaves of the same group ---- */

/*
 * Where the last leaf of a group was made. A keeper of sandboxes makes one leaf after the other,
 * and finding these places takes longer than the rest.
 */
static struct {
    char name[CGROUP_NAME_BYTES]; /* empty: none */
    uint64_t memory_bytes;
    unsigned processes;
    size_t dir_count;
    struct {
        int group_fd;
        bool is_v2;
        bool holds[CGROUP_LIMITS];
    } dirs[CGROUP_MAX_DIRS];
    enum cgroup_hold holds[CGROUP_LIMITS];
    struct timespec swept;
} known;

static void forget_group(void)
{
    for (size_t i = 0; i < known.dir_count; i++)
        close(known.dirs[i].group_fd);
    known.dir_count = 0;
    known.name[0] = '\0';
}

/* All limits must have been asked for: another leaf may ask for more. */
static void remember_group(const struct cgroup_leaf *leaf, const struct cgroup_limits *limits)
{
    forget_group();
    for (int i = 0; i < CGROUP_LIMITS; i++)
        if (value_of(limits, (enum cgroup_limit)i) == 0)
            return;
    for (size_t i = 0; i < leaf->dir_count; i++) {
        int fd = fcntl(leaf->dirs[i].parent_fd, F_DUPFD_CLOEXEC, 0);

        if (fd < 0) {
            forget_group();
            return;
        }
        known.dirs[i].group_fd = fd;
        known.dirs[i].is_v2 = leaf->dirs[i].is_v2;
        for (int limit = 0; limit < CGROUP_LIMITS; limit++)
            known.dirs[i].holds[limit] =
                leaf->holds[limit] == CGROUP_BY_GROUP &&
                set_limit(leaf->dirs[i].parent_fd, leaf->name, leaf->dirs[i].is_v2,
                          (enum cgroup_limit)limit, value_of(limits, (enum cgroup_limit)limit));
        known.dir_count++;
    }
    memcpy(known.holds, leaf->holds, sizeof(known.holds));
    known.memory_bytes = limits->group_memory_bytes;
    known.processes = limits->group_processes;
    snprintf(known.name, sizeof(known.name), "%s", limits->group);
}

static bool is_known(const struct cgroup_limits *limits)
{
    return known.name[0] != '\0' && limits->group != NULL &&
           strcmp(known.name, limits->group) == 0 &&
           known.memory_bytes == limits->group_memory_bytes &&
           known.processes == limits->group_processes;
}

bool cgroup_sweep(void)
{
    bool is_clean = true;

    for (size_t i = 0; i < known.dir_count; i++)
        is_clean = sweep_dir(known.dirs[i].group_fd) && is_clean;
    return is_clean;
}

/* What killed processes left, now and then. */
static void sweep_known(void)
{
    struct timespec now;

    if (clock_gettime(CLOCK_MONOTONIC, &now) < 0 ||
        (now.tv_sec - known.swept.tv_sec) * 1000 + (now.tv_nsec - known.swept.tv_nsec) / 1000000 <
            SWEEP_EVERY_MS)
        return;
    known.swept = now;
    (void)cgroup_sweep();
}

/* False: not as before; nothing is left of it then. */
static bool make_known(struct cgroup_leaf *leaf, const struct cgroup_limits *limits)
{
    sweep_known();
    for (size_t i = 0; i < known.dir_count; i++) {
        const int group_fd = known.dirs[i].group_fd;
        char path[CGROUP_NAME_BYTES + sizeof("/cgroup.procs")];
        cleanup_fd int parent_fd = fcntl(group_fd, F_DUPFD_CLOEXEC, 0);
        int join_fd = -1;
        bool is_made = parent_fd >= 0 && make_empty_dir(group_fd, leaf->name);

        for (int limit = 0; limit < CGROUP_LIMITS && is_made; limit++)
            is_made = !known.dirs[i].holds[limit] ||
                      set_limit(group_fd, leaf->name, known.dirs[i].is_v2, (enum cgroup_limit)limit,
                                value_of(limits, (enum cgroup_limit)limit));
        snprintf(path, sizeof(path), "%s/cgroup.procs", leaf->name);
        if (is_made)
            join_fd = openat(group_fd, path, O_WRONLY | O_CLOEXEC);
        if (join_fd < 0) {
            (void)unlinkat(group_fd, leaf->name, AT_REMOVEDIR);
            cgroup_leaf_remove(leaf);
            return false;
        }
        leaf->dirs[i].parent_fd = steal_fd(&parent_fd);
        leaf->dirs[i].join_fd = join_fd;
        leaf->dirs[i].is_v2 = known.dirs[i].is_v2;
        leaf->dir_count++;
    }
    leaf->is_grouped = true;
    memcpy(leaf->holds, known.holds, sizeof(leaf->holds));
    return true;
}

/* Not one of a user namespace that gives root another number outside. */
static bool is_kernels_root(void)
{
    char map[EVENTS_MAX_BYTES];
    struct str rest;
    int64_t inside = 0;
    int64_t outside = 0;

    if (!read_text_at(AT_FDCWD, "/proc/self/uid_map", map, sizeof(map)))
        return true;
    rest = str_trim(str_from(map));
    for (int64_t *number = &inside; number != NULL; number = number == &inside ? &outside : NULL) {
        struct str field;

        if (!str_cut(&rest, ' ', &field) || !str_to_int64(field, number))
            return true;
        rest = str_trim(rest);
    }
    return inside != 0 || outside == 0;
}

static bool can_process_hold(enum cgroup_limit limit)
{
    switch (limit) {
    case CGROUP_MEMORY:
        return !ISOLATE_IS_SANITIZED; /* whose runtime has more than any limit before the exec */
    case CGROUP_PROCESSES:
        return geteuid() != 0 || !is_kernels_root(); /* whose processes it does not count */
    case CGROUP_CPU:
    case CGROUP_LIMITS:
        break;
    }
    return false;
}

/*
 * Before Linux 6.14 there is one pid_max for the whole machine, and root could set it from a
 * sandbox. The values do not tell which it is.
 */
static bool has_own_pid_max(void)
{
    struct utsname name;
    struct str rest;
    struct str field;
    int64_t major;
    int64_t minor;

    if (uname(&name) < 0)
        return false;
    rest = str_from(name.release);
    if (!str_cut(&rest, '.', &field) || !str_to_int64(field, &major) ||
        !str_cut(&rest, '.', &field) || !str_to_int64(field, &minor))
        return false;
    return major > 6 || (major == 6 && minor >= 14);
}

/* The same limits; the default number of processes is asked for if only a cgroup enforces it. */
static struct cgroup_limits with_processes(const struct cgroup_limits *limits)
{
    struct cgroup_limits own = *limits;

    /* The version first: it costs less to know. */
    if (own.processes == 0 && own.processes_unasked > 0 && !has_own_pid_max() &&
        !can_process_hold(CGROUP_PROCESSES))
        own.processes = own.processes_unasked;
    return own;
}

static enum cgroup_hold hold_unasked(const struct cgroup_limits *limits, enum cgroup_limit limit)
{
    const uint64_t value = limit == CGROUP_MEMORY      ? limits->memory_unasked
                           : limit == CGROUP_PROCESSES ? limits->processes_unasked
                                                       : 0;

    if (limit == CGROUP_CPU && limits->yields)
        return CGROUP_BY_DEFAULT;
    return value > 0 && can_process_hold(limit) ? CGROUP_BY_DEFAULT : CGROUP_NOT_ASKED;
}

/* Where our own cgroups are; free it. NULL without memory. */
static struct where *find_where(void)
{
    struct where *where = malloc(sizeof(*where));

    if (where != NULL &&
        (!read_text_at(AT_FDCWD, "/proc/self/cgroup", where->groups, sizeof(where->groups)) ||
         !read_text_at(AT_FDCWD, "/proc/self/mountinfo", where->mounts, sizeof(where->mounts))))
        where->groups[0] = where->mounts[0] = '\0';
    return where;
}

int cgroup_leaf_make(const struct cgroup_limits *limits, struct cgroup_leaf *out_leaf,
                     struct err *err)
{
    cleanup_free struct where *where = NULL;
    const struct cgroup_limits own = with_processes(limits);
    struct cgroup_leaf leaf = CGROUP_LEAF_INIT;

    limits = &own;
    leaf.is_grouped = limits->group != NULL;
    if (is_known(limits)) {
        name_leaf(&leaf);
        if (make_known(&leaf, limits)) {
            *out_leaf = leaf;
            return 0;
        }
        forget_group();
        leaf = (struct cgroup_leaf){.is_grouped = true};
    }
    for (int i = 0; i < CGROUP_LIMITS; i++) {
        if (value_of(limits, (enum cgroup_limit)i) == 0) {
            leaf.holds[i] = hold_unasked(limits, (enum cgroup_limit)i);
            continue;
        }
        if (where == NULL) {
            where = find_where();
            if (where == NULL)
                return err_set_plain(err, ERR_NO_MEMORY);
            name_leaf(&leaf);
        }
        if (hold(&leaf, where, limits, (enum cgroup_limit)i))
            leaf.holds[i] = CGROUP_BY_GROUP;
        else
            leaf.holds[i] =
                can_process_hold((enum cgroup_limit)i) ? CGROUP_BY_PROCESS : CGROUP_NOT_HELD;
    }
    leaf.limits_each = leaf.holds[CGROUP_MEMORY] == CGROUP_BY_DEFAULT;
    if (leaf.is_grouped && leaf.dir_count > 0)
        remember_group(&leaf, limits);
    *out_leaf = leaf;
    return 0;
}

int cgroup_leaf_extend(const struct cgroup_limits *limits, struct cgroup_leaf *leaf, pid_t first,
                       struct err *err)
{
    const struct cgroup_limits defaults = {.memory_bytes = limits->memory_unasked,
                                           .cpu_percent = limits->cpu_percent_unasked,
                                           .processes = limits->processes_unasked};
    const struct cgroup_leaf before = *leaf;
    cleanup_free struct where *where = find_where();

    if (where == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (before.dir_count == 0)
        name_leaf(leaf);
    for (int i = 0; i < CGROUP_LIMITS; i++)
        if (leaf->holds[i] != CGROUP_BY_GROUP && value_of(&defaults, (enum cgroup_limit)i) > 0 &&
            hold(leaf, where, &defaults, (enum cgroup_limit)i))
            leaf->holds[i] = CGROUP_BY_GROUP;
    /* A cgroup without the process limits nothing; cgroup_leaf_remove() removes it in the end. */
    if (!cgroup_leaf_take(leaf, before.dir_count, first))
        memcpy(leaf->holds, before.holds, sizeof(leaf->holds));
    return 0;
}

bool cgroup_leaf_change(const struct cgroup_leaf *leaf, const struct cgroup_limits *limits)
{
    for (int limit = 0; limit < CGROUP_LIMITS; limit++) {
        const uint64_t value = value_of(limits, (enum cgroup_limit)limit);
        bool is_set = leaf->holds[limit] != CGROUP_BY_GROUP || value == 0;

        /* A directory of version 1 has one controller, and no file of the others. */
        for (size_t i = 0; i < leaf->dir_count && !is_set; i++)
            is_set = set_limit(leaf->dirs[i].parent_fd, leaf->name, leaf->dirs[i].is_v2,
                               (enum cgroup_limit)limit, value);
        if (!is_set)
            return false;
    }
    return true;
}

/* The one of version 2, if it has any: there is at most one. */
static int open_v2(const struct cgroup_leaf *leaf)
{
    for (size_t i = 0; i < leaf->dir_count; i++)
        if (leaf->dirs[i].is_v2)
            return openat(leaf->dirs[i].parent_fd, leaf->name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return -1;
}

/*
 * SAFETY: raw calls, as a fork. The caller has one thread, so the C library's locks are free in the
 * child, and it caches no process id.
 */
pid_t cgroup_leaf_fork(struct cgroup_leaf *leaf, unsigned long flags, int *out_pidfd)
{
    cleanup_fd int into = leaf != NULL ? open_v2(leaf) : -1;

    if (leaf != NULL)
        leaf->is_born_in = false;
    if (into >= 0) {
        struct clone_args how = {.flags = flags | CLONE_PIDFD | CLONE_INTO_CGROUP,
                                 .pidfd = (uintptr_t)out_pidfd,
                                 .exit_signal = SIGCHLD,
                                 .cgroup = (unsigned int)into};
        pid_t pid;

        leaf->is_born_in = true; /* as the child knows it */
        pid = (pid_t)syscall(SYS_clone3, &how, sizeof(how));
        if (pid >= 0)
            return pid;
        leaf->is_born_in = false; /* an old kernel, or a filter: it joins */
    }
    return (pid_t)syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, NULL, out_pidfd, NULL, NULL);
}

int cgroup_leaf_join(const struct cgroup_leaf *leaf)
{
    for (size_t i = 0; i < leaf->dir_count; i++)
        if (!(leaf->dirs[i].is_v2 && leaf->is_born_in) && write(leaf->dirs[i].join_fd, "0", 1) < 0)
            return errno;
    return 0;
}

/* One that is lower already stays. An errno value or 0. */
static int lower(int resource, rlim_t value)
{
    const struct rlimit wanted = {value, value};
    struct rlimit now;

    if (getrlimit((__rlimit_resource_t)resource, &now) == 0 && now.rlim_max != RLIM_INFINITY &&
        now.rlim_max < value)
        return 0;
    return setrlimit((__rlimit_resource_t)resource, &wanted) < 0 ? errno : 0;
}

/*
 * No core file, and no handler that the host has for crashes (|program in core_pattern), which
 * would read what the command made: one byte means neither to the kernel, while none at all means
 * no file only. Whoever has a hard limit of none cannot raise it.
 */
static int prevent_cores(void)
{
    const struct rlimit neither = {1, 1};
    const struct rlimit none = {0, 0};

    if (setrlimit(RLIMIT_CORE, &neither) == 0)
        return 0;
    return setrlimit(RLIMIT_CORE, &none) < 0 ? errno : 0;
}

/* Nobody in a sandbox may undo it: that takes a capability outside. */
int cgroup_yield(const struct cgroup_limits *limits, const struct cgroup_leaf *leaf)
{
    const int now = getpriority(PRIO_PROCESS, 0);

    if (!limits->yields || leaf->holds[CGROUP_CPU] == CGROUP_BY_GROUP)
        return 0;
    return setpriority(PRIO_PROCESS, 0, now + YIELDING_NICE) < 0 ? errno : 0;
}

int cgroup_limit_process(const struct cgroup_limits *limits, const struct cgroup_leaf *leaf)
{
    const struct rlimit memory = {limits->memory_bytes, limits->memory_bytes};
    const struct rlimit processes = {limits->processes, limits->processes};
    int r = 0;

    if (leaf->holds[CGROUP_MEMORY] == CGROUP_BY_PROCESS && setrlimit(RLIMIT_DATA, &memory) < 0)
        return errno;
    if (leaf->holds[CGROUP_PROCESSES] == CGROUP_BY_PROCESS &&
        setrlimit(RLIMIT_NPROC, &processes) < 0)
        return errno;
    if (leaf->holds[CGROUP_MEMORY] == CGROUP_BY_DEFAULT)
        r = lower(RLIMIT_DATA, limits->memory_unasked);
    if (r == 0 && limits->processes == 0 && limits->processes_unasked > 0)
        r = lower(RLIMIT_NPROC, limits->processes_unasked);
    return r == 0 ? prevent_cores() : r;
}

/*
 * The kernel gives out the numbers below RESERVED_PIDS once only. So the next one is above them,
 * and of those there are as many as there may be processes besides the first ones. A kernel that
 * cannot skip them (without CONFIG_CHECKPOINT_RESTORE) lets the sandbox use them up, once.
 */
bool cgroup_limit_namespace(const struct cgroup_limits *limits, const struct cgroup_leaf *leaf)
{
    const unsigned most = limits->processes_unasked;

    if (leaf->holds[CGROUP_PROCESSES] != CGROUP_NOT_ASKED || most == 0 || !has_own_pid_max())
        return false;
    (void)write_number(AT_FDCWD, "/proc/sys/kernel", "ns_last_pid", RESERVED_PIDS);
    return write_number(AT_FDCWD, "/proc/sys/kernel", "pid_max",
                        RESERVED_PIDS + (most > FIRST_PIDS ? most - FIRST_PIDS : 1));
}

void cgroup_leave_processes(void)
{
    struct rlimit limit;
    rlim_t most;

    if (getrlimit(RLIMIT_NPROC, &limit) < 0)
        return;
    most = limit.rlim_max == RLIM_INFINITY ? USER_PROCESSES : limit.rlim_max / 2;
    if (most < USER_LEAST_PROCESSES / 2 || limit.rlim_cur <= most)
        return;
    limit.rlim_cur = most;
    (void)setrlimit(RLIMIT_NPROC, &limit);
}

void cgroup_leaf_kill(const struct cgroup_leaf *leaf)
{
    for (size_t i = 0; i < leaf->dir_count; i++)
        if (leaf->dirs[i].is_v2)
            (void)write_at(leaf->dirs[i].parent_fd, leaf->name, "cgroup.kill", "1");
}

/* A line "oom_kill 1"; in version 1 among the settings. */
bool cgroup_leaf_ran_out(const struct cgroup_leaf *leaf)
{
    for (size_t i = 0; i < leaf->dir_count; i++) {
        char path[NAME_MAX + CGROUP_NAME_BYTES];
        char text[EVENTS_MAX_BYTES];
        struct str rest;

        snprintf(path, sizeof(path), "%s/%s", leaf->name,
                 leaf->dirs[i].is_v2 ? "memory.events" : "memory.oom_control");
        if (!read_text_at(leaf->dirs[i].parent_fd, path, text, sizeof(text)))
            continue;
        rest = str_from(text);
        for (struct str line; str_cut(&rest, '\n', &line);)
            if (str_starts_with(line, STR("oom_kill ")) && !str_eq(line, STR("oom_kill 0")))
                return true;
    }
    return false;
}

void cgroup_leaf_remove(struct cgroup_leaf *leaf)
{
    for (size_t i = 0; i < leaf->dir_count; i++) {
        (void)unlinkat(leaf->dirs[i].parent_fd, leaf->name, AT_REMOVEDIR);
        close(leaf->dirs[i].join_fd);
        close(leaf->dirs[i].parent_fd);
    }
    *leaf = (struct cgroup_leaf)CGROUP_LEAF_INIT;
}

void cgroup_describe(enum cgroup_limit limit, enum cgroup_hold hold_by,
                     char out_words[CGROUP_WORDS_BYTES])
{
    static const char *const words[] = {
        [CGROUP_NOT_ASKED] = "not limited",
        [CGROUP_BY_GROUP] = "limited for all processes together (cgroup)",
        [CGROUP_BY_PROCESS] = "limited for each process (cannot create a cgroup)",
        [CGROUP_BY_DEFAULT] = "limited by default",
        [CGROUP_NOT_HELD] = "NOT LIMITED: cannot create a cgroup",
    };

    bool leaves_shared =
        limit == CGROUP_MEMORY && (hold_by == CGROUP_BY_PROCESS || hold_by == CGROUP_BY_DEFAULT);

    if (limit == CGROUP_CPU && hold_by == CGROUP_BY_DEFAULT)
        snprintf(out_words, CGROUP_WORDS_BYTES, "cores: not limited, but with a lower priority");
    else
        snprintf(out_words, CGROUP_WORDS_BYTES, "%s: %s%s", limits_of[limit].words, words[hold_by],
                 leaves_shared ? "; shared memory is NOT LIMITED" : "");
}
