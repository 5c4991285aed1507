/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox sees. Its mount namespace begins as a copy of ours. The places are cloned from the
 * copy, all of which becomes read-only. Then a new root, almost empty and in memory, is mounted
 * over the old one and entered; clones of listed parts of the system (box/system.c), the places and
 * the sandbox's own mounts are put into it. The old root stays beneath, where no path leads: the
 * pins of box_pin() lie there, and a mount could be removed only with a capability that no command
 * has.
 */
#include "isolate/box/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/streams.h"

enum { MODE_DIRECTORY = 0755, MODE_SHARED = 01777 };

/* The sandbox's own folders, below the mount point of its tmpfs. */
static const char scratch[] = "/tmp";

static const struct {
    const char *name;
    mode_t mode;
    const char *target; /* NULL: where it is needed */
} scratch_folders[] = {
    {"empty", 0555, NULL},
    {"root", MODE_DIRECTORY, NULL},
    {"covers", 0555, NULL},
    {"dev", MODE_DIRECTORY, NULL},
    {"vartmp", MODE_SHARED, "/var/tmp"},
    {"tmp", MODE_SHARED, "/tmp"},
};

/* Covers a hidden file: empty and readable, since programs fail over an unreadable file. */
static const char nothing[] = "nothing";
static const char empty[] = "empty";

static const char *const devices[BOX_DEVICES] = {"null",   "zero",    "full",
                                                 "random", "urandom", "tty"};

static const struct {
    const char *target;
    const char *name;
} device_links[] = {
    {"/proc/self/fd", "fd"},       {"/proc/self/fd/0", "stdin"}, {"/proc/self/fd/1", "stdout"},
    {"/proc/self/fd/2", "stderr"}, {"pts/ptmx", "ptmx"},
};

/* Names of the keys in the user's session, which no namespace separates. */
static const char *const hidden_of_proc[] = {"/proc/keys", "/proc/key-users"};

void box_say(struct box_build *build, const char *what)
{
    size_t len = strnlen(what, sizeof(build->what) - 1);

    /* Before every step, and almost never read: it must cost nothing. */
    memcpy(build->what, what, len);
    build->what[len] = '\0';
}

bool box_is_beneath(const char *path, const char *directory)
{
    size_t len = strlen(directory);

    return strncmp(path, directory, len) == 0 &&
           (path[len] == '\0' || path[len] == '/' || (len == 1 && directory[0] == '/'));
}

/* ---- Opening without links ---- */

static int open_step_by_step(const char *path)
{
    cleanup_fd int at = open("/", O_PATH | O_CLOEXEC);
    struct stat about;

    while (at >= 0 && *path != '\0') {
        const char *end = strchrnul(path, '/');
        char name[NAME_MAX + 1];
        int next;

        if (end - path > NAME_MAX)
            return -ENAMETOOLONG;
        memcpy(name, path, (size_t)(end - path));
        name[end - path] = '\0';
        path = *end == '/' ? end + 1 : end;
        if (name[0] == '\0')
            continue;
        next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0)
            return -errno;
        close(at);
        at = next;
        if (fstat(at, &about) < 0)
            return -errno;
        if (S_ISLNK(about.st_mode))
            return -ELOOP;
    }
    return at < 0 ? -errno : steal_fd(&at);
}

int box_open_place(const char *path)
{
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    /* SAFETY: no C library wraps it. */
    long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

    if (fd >= 0)
        return (int)fd;
    return errno == ENOSYS || errno == EPERM ? open_step_by_step(path) : -errno;
}

/* ---- Cutting out and laying on ---- */

static int add_attributes(int tree, uint64_t attributes)
{
    struct mount_attr attr = {.attr_set = attributes | MOUNT_ATTR_NOSUID,
                              .propagation = MS_PRIVATE};

    return mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0 ? errno
                                                                                          : 0;
}

/* Recursive, since an unprivileged process may not omit mounts below. */
int box_cut_out(int dir_fd, const char *path, uint64_t attributes, int *out_tree)
{
    cleanup_fd int tree = open_tree(dir_fd, path,
                                    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE |
                                        (*path == '\0' ? AT_EMPTY_PATH : AT_SYMLINK_NOFOLLOW));
    int r = tree < 0 ? errno : add_attributes(tree, attributes);

    if (r == 0)
        *out_tree = steal_fd(&tree);
    return r;
}

int box_lay(int tree, int dir_fd, const char *path)
{
    unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | (*path == '\0' ? MOVE_MOUNT_T_EMPTY_PATH : 0);

    return move_mount(tree, "", dir_fd, path, flags) < 0 ? errno : 0;
}

int box_make_way(const char *path, bool is_directory)
{
    __attribute__((uninitialized)) char so_far[BOX_PATH_BYTES];

    for (const char *end = path; *end != '\0';) {
        end = strchrnul(end + 1, '/');
        snprintf(so_far, sizeof(so_far), "%.*s", (int)(end - path), path);
        if (*end == '\0' && !is_directory) {
            int fd = open(so_far, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

            if (fd < 0)
                return errno;
            close(fd);
        } else if (mkdir(so_far, MODE_DIRECTORY) < 0 && errno != EEXIST) {
            return errno;
        }
    }
    return 0;
}

static int lay_at(int tree, const char *path, bool is_directory)
{
    cleanup_fd int target = box_open_place(path);

    if (target == -ENOENT) {
        int r = box_make_way(path, is_directory);

        if (r != 0)
            return r;
        target = box_open_place(path);
    }
    return target < 0 ? -target : box_lay(tree, target, "");
}

bool box_is_gone(int errno_value)
{
    return errno_value == ENOENT || errno_value == ENOTDIR || errno_value == ELOOP;
}

/* A clone keeps what its mount has, and costs a call less than to set that for each. */
static int cut_out_own(int mount, const char *name, int *out_tree)
{
    int tree = open_tree(mount, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);

    if (tree < 0)
        return errno;
    *out_tree = tree;
    return 0;
}

/* An empty cover for a name that is no link. */
static int hide_in(const struct box_build *build, int dir_fd, const char *name, bool is_directory)
{
    cleanup_fd int tree = -1;
    int r = cut_out_own(build->covers_fd, is_directory ? empty : nothing, &tree);

    if (r == 0)
        r = box_lay(tree, dir_fd, name);
    return box_is_gone(r) ? 0 : r;
}

int box_cover(struct box_build *build, const char *path, const char *cover)
{
    cleanup_fd int target = box_open_place(path);
    cleanup_fd int tree = -1;
    struct stat about;
    int r;

    box_say(build, path);
    if (target < 0)
        return box_is_gone(-target) ? 0 : -target;
    if (fstat(target, &about) < 0)
        return errno;
    if (cover == empty || !S_ISDIR(about.st_mode))
        return hide_in(build, target, "", S_ISDIR(about.st_mode));
    r = box_cut_out(build->scratch_fd, cover, MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, &tree);
    return r != 0 ? r : box_lay(tree, target, "");
}

int box_hide(struct box_build *build, const char *path)
{
    return box_cover(build, path, empty);
}

int box_hold_to_reading(struct box_build *build, const char *path)
{
    cleanup_fd int found = box_open_place(path);
    cleanup_fd int tree = -1;
    int r;

    box_say(build, path);
    if (found < 0)
        return box_is_gone(-found) ? 0 : -found;
    r = box_cut_out(found, "", MOUNT_ATTR_RDONLY, &tree);
    return r != 0 ? r : box_lay(tree, found, "");
}

int box_pin(const char *folder)
{
    cleanup_fd int found = box_open_place(folder);
    cleanup_fd int tree = -1;
    struct statx about;
    int r;

    if (found < 0)
        return box_is_gone(-found) ? 0 : -found;
    if (statx(found, "", AT_EMPTY_PATH, 0, &about) < 0)
        return errno;
    if ((about.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
        return 0;
    r = box_cut_out(found, "", 0, &tree);
    return r != 0 ? r : box_lay(tree, found, "");
}

/* ---- The steps ---- */

enum box_access box_access_now(const struct box_build *build, size_t place)
{
    const struct box_command *command = build->command;
    enum box_access access = build->box->places[place].access;

    if (command->at_most != NULL && command->at_most[place] < access)
        access = command->at_most[place];
    return build->left[place] < access ? build->left[place] : access;
}

int box_mount_places(struct box_build *build)
{
    const struct box *box = build->box;

    for (size_t i = 0; i < box->place_count; i++) {
        const struct box_own_place *place = &box->places[i];
        enum box_access access = box_access_now(build, i);
        cleanup_fd int found = -1;
        struct stat about;
        int r;

        if (access == BOX_HIDDEN)
            continue;
        box_say(build, place->path);
        found = box_open_place(place->path);
        if (found < 0 && place->is_optional)
            continue;
        if (found < 0)
            return -found;
        if (fstat(found, &about) < 0)
            return errno;
        if (!place->is_optional && (about.st_dev != place->device || about.st_ino != place->inode))
            return ESTALE;
        r = box_clone_seen(build, found, "", &build->trees[i]);
        if (r == 0)
            r = add_attributes(build->trees[i],
                               MOUNT_ATTR_NODEV | (access == BOX_READ ? MOUNT_ATTR_RDONLY : 0));
        if (r != 0)
            return r;
    }
    return 0;
}

int box_mount_devices(struct box_build *build)
{
    cleanup_fd int dev = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (dev < 0)
        return errno;
    for (size_t i = 0; i < array_size(devices); i++) {
        /* They can still be written to, but root cannot change their modes for the host. */
        int r = box_cut_out(dev, devices[i], MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC,
                            &build->device_trees[i]);

        box_say(build, devices[i]);
        if (r != 0 && (r != ENOENT || i == 0))
            return r;
    }
    return 0;
}

int box_mount_system(struct box_build *build)
{
    struct mount_attr attr = {
        .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
        .propagation = MS_PRIVATE,
    };

    (void)build;
    return mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof(attr)) < 0 ? errno : 0;
}

int box_mount_scratch(struct box_build *build)
{
    char options[64];
    int r;

    snprintf(options, sizeof(options), "size=%llu,mode=0755,nr_inodes=262144",
             (unsigned long long)build->box->tmp_bytes);
    if (mount("tmpfs", scratch, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
        return errno;
    build->scratch_fd = open(scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (build->scratch_fd < 0)
        return errno;
    for (size_t i = 0; i < array_size(scratch_folders); i++)
        if (mkdirat(build->scratch_fd, scratch_folders[i].name, scratch_folders[i].mode) < 0)
            return errno;
    if (mknodat(build->scratch_fd, nothing, S_IFREG | 0444, 0) < 0)
        return errno;
    r = box_cut_out(build->scratch_fd, "", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
                    &build->covers_fd);
    return r != 0 ? r : box_lay(build->covers_fd, build->scratch_fd, "covers");
}

/* Of /proc, what all users may read: most of it, and to ask for each mode takes longer. */
static const char *const public_of_proc[] = {
    ".",         "..",          "acpi",     "buddyinfo",   "bus",     "cgroups",    "cmdline",
    "config.gz", "consoles",    "cpuinfo",  "crypto",      "devices", "diskstats",  "dma",
    "driver",    "execdomains", "fb",       "filesystems", "fs",      "interrupts", "iomem",
    "ioports",   "irq",         "kallsyms", "key-users",   "keys",    "loadavg",    "locks",
    "mdstat",    "meminfo",     "misc",     "modules",     "mtrr",    "partitions", "pressure",
    "schedstat", "softirqs",    "stat",     "swaps",       "sys",     "sysvipc",    "tty",
    "uptime",    "version",     "vmstat",   "zoneinfo",
};

/*
 * What the kernel shows to root's number only, even without a capability: other processes' memory
 * (kpageflags), the kernel's own (slabinfo, vmallocinfo), timers with their owners (timer_list).
 */
static int hide_roots_of_proc(struct box_build *build)
{
    cleanup_dir DIR *dir = opendir("/proc");
    const struct dirent *entry;
    int r = 0;

    if (dir == NULL)
        return errno;
    while (r == 0 && (entry = readdir(dir)) != NULL) {
        struct stat about;

        if (entry->d_type == DT_LNK || (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') ||
            str_index(str_from(entry->d_name), public_of_proc, array_size(public_of_proc)) !=
                SIZE_MAX ||
            fstatat(dirfd(dir), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) < 0 ||
            (about.st_mode & S_IROTH) != 0)
            continue;
        box_say(build, entry->d_name);
        r = hide_in(build, dirfd(dir), entry->d_name, S_ISDIR(about.st_mode));
    }
    return r;
}

/* What belongs to no process: with root's number, and without a capability, it could be written. */
static int hold_kernels_of_proc(struct box_build *build)
{
    cleanup_dir DIR *dir = opendir("/proc");
    const struct dirent *entry;
    int r = 0;

    if (dir == NULL)
        return errno;
    while (r == 0 && (entry = readdir(dir)) != NULL) {
        char path[sizeof("/proc/") + NAME_MAX];

        if (entry->d_type == DT_LNK || entry->d_name[0] == '.' ||
            (entry->d_name[0] >= '0' && entry->d_name[0] <= '9'))
            continue;
        snprintf(path, sizeof(path), "/proc/%s", entry->d_name);
        r = box_hold_to_reading(build, path);
    }
    return r;
}

/* Read-only, except that a process says in its own folder who is who in its namespaces. */
int box_mount_proc(struct box_build *build)
{
    const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    int r = 0;

    if (mkdir("/proc", MODE_DIRECTORY) < 0 || mount("proc", "/proc", "proc", flags, NULL) < 0)
        return errno;
    /* Here and not in the host's, where it is looked for among those of all process namespaces. */
    build->limits_namespace = cgroup_limit_namespace(&build->box->limits, build->leaf);
    if (build->box->holds_sandboxes)
        r = hold_kernels_of_proc(build);
    else if (mount(NULL, "/proc", NULL, MS_REMOUNT | MS_RDONLY | flags, NULL) < 0)
        r = errno;
    for (size_t i = 0; i < array_size(hidden_of_proc) && r == 0; i++)
        r = hide_in(build, AT_FDCWD, hidden_of_proc[i], false);
    return r == 0 && build->box->is_root ? hide_roots_of_proc(build) : r;
}

static int fill_dev(struct box_build *build, int dev)
{
    for (size_t i = 0; i < array_size(devices); i++) {
        int r;

        if (build->device_trees[i] < 0)
            continue;
        if (mknodat(dev, devices[i], S_IFREG | 0600, 0) < 0)
            return errno;
        r = box_lay(build->device_trees[i], dev, devices[i]);
        if (r != 0)
            return r;
    }
    for (size_t i = 0; i < array_size(device_links); i++)
        if (symlinkat(device_links[i].target, dev, device_links[i].name) < 0)
            return errno;
    return mkdirat(dev, "pts", MODE_DIRECTORY) < 0 || mkdirat(dev, "shm", MODE_SHARED) < 0 ? errno
                                                                                           : 0;
}

int box_mount_dev(struct box_build *build)
{
    cleanup_fd int dev = -1;
    cleanup_fd int tree = -1;
    int r = box_cut_out(build->scratch_fd, "dev", MOUNT_ATTR_NOEXEC, &tree);

    if (r == 0 && mkdir("/dev", MODE_DIRECTORY) < 0)
        r = errno;
    if (r == 0)
        r = box_lay(tree, AT_FDCWD, "/dev");
    if (r != 0)
        return r;
    dev = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dev < 0)
        return errno;
    r = fill_dev(build, dev);
    if (r != 0)
        return r;
    if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
              "newinstance,ptmxmode=0666,mode=0620") < 0)
        return errno;
    return 0;
}

int box_mount_own(struct box_build *build)
{
    for (size_t i = 0; i < array_size(scratch_folders); i++) {
        cleanup_fd int tree = -1;
        cleanup_fd int target = -1;
        const char *path = scratch_folders[i].target;
        int r;

        if (path == NULL)
            continue;
        box_say(build, path);
        r = box_make_way(path, true);
        if (r != 0)
            return r;
        /* Links are followed: on some systems /tmp is one. */
        target = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        r = target < 0 ? errno : cut_out_own(build->scratch_fd, scratch_folders[i].name, &tree);
        if (r == 0)
            r = box_lay(tree, target, "");
        if (r != 0)
            return r;
    }
    return 0;
}

int box_mount_layers(struct box_build *build)
{
    const struct box *box = build->box;

    for (size_t i = 0; i < box->place_count; i++) {
        const struct box_own_place *place = &box->places[i];
        int r = 0;

        box_say(build, place->path);
        if (build->hidden[i] != NULL)
            r = box_cover_place(build, i);
        else if (build->trees[i] >= 0)
            r = lay_at(build->trees[i], place->path, place->is_directory);
        if (r == 0 && build->trees[i] >= 0)
            r = box_cover_in(build, i);
        if (r != 0)
            return r;
    }
    return 0;
}

/* The home is there, and empty but for what was mounted in it. */
static int make_home(const struct box *box)
{
    char parent[BOX_PATH_BYTES];
    char *slash;
    int r;

    if (box->home == NULL || access(box->home, F_OK) == 0)
        return 0;
    r = box_make_way(box->real_home, true);
    if (r != 0 || strcmp(box->home, box->real_home) == 0 || access(box->home, F_OK) == 0)
        return r;
    snprintf(parent, sizeof(parent), "%s", box->home);
    slash = strrchr(parent, '/');
    if (slash != parent) {
        *slash = '\0';
        r = box_make_way(parent, true);
    }
    return r == 0 && symlink(box->real_home, box->home) < 0 ? errno : r;
}

int box_seal_root(struct box_build *build)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};

    /* A home that cannot be made here is one that commands do without. */
    if (make_home(build->box) == ENOMEM)
        return ENOMEM;
    box_git_write(build->box);
    return mount_setattr(AT_FDCWD, "/", 0, &attr, sizeof(attr)) < 0 ? errno : 0;
}
