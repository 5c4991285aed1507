/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a room sees: its own files over its layers over a few files that all rooms have, with the
 * host's /usr below /usr; its own /proc and /dev; and nothing else of the host. Two overlays, since
 * one does not look into what is mounted in its layers; or no overlay for /usr, if nobody changes
 * it. If the lowest layer is a whole system (room_freeze_system()), that is all there is below the
 * room's own files and its other layers: nothing of the host's.
 *
 * The overlays are volatile: nothing is written to the disk before the kernel does so by itself,
 * not even at an fsync(), and ending a room does not write the whole file system below it to the
 * disk and wait for that. What is lost if the whole machine crashes are the last seconds of a
 * throw-away workspace. A layer has to be there afterwards, so rooms that build one are not.
 */
#include "isolate/room/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "isolate/box/internal.h"

enum { MODE_DIRECTORY = 0755, MODE_SHARED = 01777, OPTIONS_BYTES = 4096 };

/* Somewhere to build: hidden by our own tmpfs until the old root is gone. */
static const char scratch[] = "/tmp";

static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};

static const struct {
    const char *target;
    const char *name;
} device_links[] = {
    {"/proc/self/fd", "fd"},       {"/proc/self/fd/0", "stdin"}, {"/proc/self/fd/1", "stdout"},
    {"/proc/self/fd/2", "stderr"}, {"pts/ptmx", "ptmx"},
};

/* Of the host, read-only, where it has them and they are no links (base.c has the links). */
static const char *const system_folders[] = {"bin",   "sbin",   "lib", "lib32",
                                             "lib64", "libx32", "opt", "nix"};

/* Names of keys, which no namespace separates. */
static const char *const hidden_of_proc[] = {"keys", "key-users"};

static void say(struct room_birth *birth, const char *what)
{
    snprintf(birth->what, sizeof(birth->what), "%s", what);
}

/* ---- Trees ---- */

/*
 * The directory of a descriptor, in our own copy of the mounts: only that can be cloned. 0 or an
 * errno value.
 */
static int find_here(int directory, int *out_fd)
{
    char target[PATH_MAX];
    char link[32];
    struct stat there;
    struct stat here;
    cleanup_fd int fd = -1;
    ssize_t len;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", directory);
    len = readlink(link, target, sizeof(target) - 1);
    if (len < 0)
        return errno;
    target[len] = '\0';
    fd = open(target, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &here) < 0 || fstat(directory, &there) < 0)
        return errno;
    if (here.st_dev != there.st_dev || here.st_ino != there.st_ino)
        return ESTALE;
    *out_fd = steal_fd(&fd);
    return 0;
}

/* If they do not come as mounts. */
static int cut_trees(struct room_birth *birth)
{
    for (size_t i = 0; i < birth->tree_count; i++) {
        cleanup_fd int found = -1;
        int r;

        if (i == ROOM_TREE_OWN && birth->is_in_memory)
            continue;
        r = find_here(birth->trees[i], &found);
        if (r == 0)
            r = box_cut_out(found, "", MOUNT_ATTR_NODEV, &birth->trees[i]);
        if (r != 0)
            return r;
    }
    return 0;
}

static int lay_tree(size_t index, int tree)
{
    char name[32];

    snprintf(name, sizeof(name), "%zu", index);
    return mkdir(name, MODE_DIRECTORY) < 0 ? errno : box_lay(tree, AT_FDCWD, name);
}

/* Those that differ from room to room. */
static int lay_trees(struct room_birth *birth)
{
    for (size_t i = 0; i < birth->tree_count; i++) {
        int r = 0;

        if (i == ROOM_TREE_BASE || i == ROOM_TREE_USR ||
            (i == ROOM_TREE_OWN && birth->is_in_memory))
            continue;
        r = lay_tree(i, birth->trees[i]);
        if (r != 0)
            return r;
    }
    return 0;
}

/* The room's own files, in memory. */
static int lay_memory(const struct room_birth *birth)
{
    static const char *const folders[] = {"0/" ROOM_UPPER_ROOT, "0/" ROOM_UPPER_USR,
                                          "0/" ROOM_WORK_ROOT, "0/" ROOM_WORK_USR};
    char options[64];

    snprintf(options, sizeof(options), "size=%llu,mode=0755,nr_inodes=262144",
             (unsigned long long)birth->disk_bytes);
    if (mkdir("0", MODE_DIRECTORY) < 0 ||
        mount("tmpfs", "0", "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
        return errno;
    for (size_t i = 0; i < array_size(folders); i++)
        if (mkdir(folders[i], MODE_DIRECTORY) < 0)
            return errno;
    return 0;
}

/* The mark by which the kernel refuses an overlay that was volatile before. */
static void forget_volatile(const char *work)
{
    char path[64];

    snprintf(path, sizeof(path), "0/%s/work/incompat/volatile/dirty", work);
    (void)unlink(path);
    *strrchr(path, '/') = '\0';
    (void)rmdir(path);
}

/* `part` is that of the layers and of the room; `lowest` the directory below all, if it is the
 * host's system. */
static int mount_overlay(const struct room_birth *birth, const char *part, const char *work,
                         const char *lowest, const char *target)
{
    const size_t lowest_layer = birth->tree_count - (birth->has_system ? 1 : 0);
    char options[OPTIONS_BYTES];
    int len = snprintf(options, sizeof(options), "%suserxattr,upperdir=0/%s,workdir=0/%s,lowerdir=",
                       birth->is_build ? "" : "volatile,", part, work);

    forget_volatile(work);
    for (size_t i = ROOM_TREE_LAYERS; i < lowest_layer; i++)
        len += snprintf(options + len, sizeof(options) - (size_t)len, "%zu/%s:", i, part);
    if (birth->has_system)
        (void)snprintf(options + len, sizeof(options) - (size_t)len, "%zu/" ROOM_OWN_SYSTEM,
                       lowest_layer);
    else
        (void)snprintf(options + len, sizeof(options) - (size_t)len, "%s", lowest);
    return mount("overlay", target, "overlay", MS_NOSUID | MS_NODEV, options) < 0 ? errno : 0;
}

/* ---- The system ---- */

/* As it is, which is quicker: nobody but the root of a room that builds an image may change it. */
static int show_usr(void)
{
    cleanup_fd int tree = -1;
    int r = box_cut_out(AT_FDCWD, "2", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV, &tree);

    return r != 0 ? r : box_lay(tree, AT_FDCWD, "m/usr");
}

static int show_folder(const char *name)
{
    char from[16];
    char to[16];
    struct stat about;
    cleanup_fd int tree = -1;
    int r;

    snprintf(from, sizeof(from), "/%s", name);
    snprintf(to, sizeof(to), "m/%s", name);
    if (lstat(from, &about) < 0 || !S_ISDIR(about.st_mode))
        return 0;
    r = box_cut_out(AT_FDCWD, from, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV, &tree);
    return r != 0 ? r : box_lay(tree, AT_FDCWD, to);
}

/* The host's. */
static int show_system(struct room_birth *birth)
{
    int r = birth->has_usr_overlay
                ? mount_overlay(birth, ROOM_UPPER_USR, ROOM_WORK_USR, "2", "m/usr")
                : show_usr();

    for (size_t i = 0; i < array_size(system_folders) && r == 0; i++) {
        say(birth, system_folders[i]);
        r = show_folder(system_folders[i]);
    }
    return r;
}

static int bind_device(const char *name, int dev)
{
    char from[32];
    cleanup_fd int tree = -1;
    cleanup_fd int file = -1;
    int r;

    snprintf(from, sizeof(from), "/dev/%s", name);
    r = box_cut_out(AT_FDCWD, from, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC, &tree);
    if (r != 0)
        return r == ENOENT && strcmp(name, "null") != 0 ? 0 : r;
    file = openat(dev, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    return file < 0 ? errno : box_lay(tree, dev, name);
}

static int mount_dev(struct room_birth *birth)
{
    cleanup_fd int dev = -1;

    say(birth, "/dev");
    if (mkdir("d", MODE_DIRECTORY) < 0 ||
        mount("tmpfs", "d", "tmpfs", MS_NOSUID | MS_NOEXEC, "size=64m,mode=0755") < 0)
        return errno;
    dev = open("d", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dev < 0)
        return errno;
    for (size_t i = 0; i < array_size(devices); i++) {
        int r = bind_device(devices[i], dev);

        if (r != 0)
            return r;
    }
    for (size_t i = 0; i < array_size(device_links); i++)
        if (symlinkat(device_links[i].target, dev, device_links[i].name) < 0)
            return errno;
    if (mkdirat(dev, "pts", MODE_DIRECTORY) < 0 || mkdirat(dev, "shm", MODE_SHARED) < 0)
        return errno;
    return mount("devpts", "d/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                 "newinstance,ptmxmode=0666,mode=0620") < 0
               ? errno
               : 0;
}

static int mount_proc(struct room_birth *birth)
{
    /* Without a range the user may be one to whom sysctls belong. */
    const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY;

    say(birth, "/proc");
    if (mkdir("p", MODE_DIRECTORY) < 0 || mount("proc", "p", "proc", flags, NULL) < 0)
        return errno;
    for (size_t i = 0; i < array_size(hidden_of_proc); i++) {
        char path[32];
        cleanup_fd int tree = -1;
        int r;

        snprintf(path, sizeof(path), "p/%s", hidden_of_proc[i]);
        if (access(path, F_OK) < 0)
            continue;
        r = box_cut_out(AT_FDCWD, "/dev/null", MOUNT_ATTR_RDONLY, &tree);
        if (r == 0)
            r = box_lay(tree, AT_FDCWD, path);
        if (r != 0)
            return r;
    }
    return 0;
}

/* With the host's network: its name servers. */
static int show_resolver(void)
{
    cleanup_fd int tree = -1;
    int r = 0;

    if (access("/etc/resolv.conf", R_OK) < 0)
        return 0;
    /* A link is followed here, for the file that it leads to. */
    tree = open_tree(AT_FDCWD, "/etc/resolv.conf", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (tree < 0)
        return errno;
    r = box_lay(tree, AT_FDCWD, "m/etc/resolv.conf");
    if (r == 0) {
        struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
                                              MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC};

        if (mount_setattr(AT_FDCWD, "m/etc/resolv.conf", 0, &attr, sizeof(attr)) < 0)
            return errno;
    }
    return r == ENOENT ? 0 : r;
}

/* SAFETY: no wrapper in the C library. The old root is mounted over the new one, and then gone. */
static int change_root(void)
{
    if (chdir("m") < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 ||
        chdir("/") < 0)
        return errno;
    return 0;
}

int room_prepare_root(int base, int usr, struct room_birth *birth)
{
    int r;

    say(birth, "the root");
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", scratch, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=0755") < 0 ||
        chdir(scratch) < 0 || mkdir("m", MODE_DIRECTORY) < 0)
        return errno;
    r = lay_tree(ROOM_TREE_BASE, base);
    if (r == 0)
        r = lay_tree(ROOM_TREE_USR, usr);
    if (r == 0)
        r = mount_proc(birth);
    if (r == 0)
        r = mount_dev(birth);
    return r;
}

/* Before anything is mounted over the way to the trees. */
static int prepare_late(struct room_birth *birth)
{
    int r = cut_trees(birth);

    return r != 0 ? r
                  : room_prepare_root(birth->trees[ROOM_TREE_BASE], birth->trees[ROOM_TREE_USR],
                                      birth);
}

static int place_prepared(void)
{
    return move_mount(AT_FDCWD, "p", AT_FDCWD, "m/proc", 0) < 0 ||
                   move_mount(AT_FDCWD, "d", AT_FDCWD, "m/dev", 0) < 0
               ? errno
               : 0;
}

int room_build_root(struct room_birth *birth)
{
    int r = birth->has_mounts ? 0 : prepare_late(birth);

    say(birth, "the root");
    if (r == 0 && birth->is_in_memory)
        r = lay_memory(birth);
    if (r == 0)
        r = lay_trees(birth);
    if (r == 0)
        say(birth, "the overlay");
    if (r == 0)
        r = mount_overlay(birth, ROOM_UPPER_ROOT, ROOM_WORK_ROOT, "1", "m");
    if (r == 0 && !birth->has_system)
        r = show_system(birth);
    if (r == 0) {
        say(birth, "/proc and /dev");
        r = place_prepared();
    }
    if (r == 0 && birth->network == ROOM_NETWORK_HOST) {
        say(birth, "the name servers");
        r = show_resolver();
    }
    if (r == 0) {
        say(birth, "the new root");
        r = change_root();
    }
    return r;
}
