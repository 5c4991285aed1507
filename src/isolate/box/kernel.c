/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel file systems that are mounted elsewhere than in /proc, /sys and /dev, for example below a
 * chroot system: through a second /proc in a writable place, root's uid alone could set what the
 * kernel runs when a program crashes. The list of mounts takes the kernel long to write, so it is
 * read only if there may be one.
 */
#include "isolate/box/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/streams.h"

enum { MOUNTS_BYTES = 32 << 10 };

static const char *const kernels_own[] = {
    "proc",     "sysfs",     "cgroup",      "cgroup2",    "devtmpfs",   "devpts",
    "debugfs",  "tracefs",   "securityfs",  "configfs",   "bpf",        "pstore",
    "efivarfs", "fusectl",   "binfmt_misc", "resctrl",    "rpc_pipefs", "nfsd",
    "mqueue",   "selinuxfs", "smackfs",     "functionfs",
};

/* Where users keep files. Not tmpfs: the kernel's own for /dev says that it is one. */
static const uint32_t of_disks[] = {
    0x0000ef53, /* ext2, ext3, ext4 */
    0x58465342, /* XFS */
    0x9123683e, /* Btrfs */
    0x794c7630, /* overlay */
    0xf2f52010, /* F2FS */
    0x2fc12fc1, /* ZFS */
};

static bool is_of_disk(int fd)
{
    struct statfs about;

    for (size_t i = 0; fstatfs(fd, &about) == 0 && i < array_size(of_disks); i++)
        if ((uint32_t)about.f_type == of_disks[i])
            return true;
    return false;
}

int box_clone_seen(struct box_build *build, int dir_fd, const char *path, int *out_tree)
{
    const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
                           (unsigned)(*path == '\0' ? AT_EMPTY_PATH : AT_SYMLINK_NOFOLLOW);
    cleanup_fd int tree = open_tree(dir_fd, path, flags);

    /* In our user namespace nothing that is mounted below can be left out: then it is refused. */
    if (tree < 0 && errno == EINVAL) {
        build->may_see_kernel = true;
        tree = open_tree(dir_fd, path, flags | AT_RECURSIVE);
    }
    if (tree < 0)
        return errno;
    build->may_see_kernel = build->may_see_kernel || !is_of_disk(tree);
    *out_tree = steal_fd(&tree);
    return 0;
}

struct mounted {
    int64_t id;
    struct str point; /* as it is written there, with escapes */
    struct str type;
};

/* 36 35 98:0 /root /point options more - type source options */
static bool read_line(struct str line, struct mounted *out)
{
    size_t dash = str_find(line, STR(" - "));
    struct str back = dash == SIZE_MAX ? STR_EMPTY : str_slice(line, dash + 3, line.len);
    struct str fields[5];

    for (size_t i = 0; i < array_size(fields); i++)
        if (!str_cut(&line, ' ', &fields[i]))
            return false;
    out->point = fields[4];
    return str_to_int64(fields[0], &out->id) && str_cut(&back, ' ', &out->type);
}

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* Blanks and backslashes are written as three octal digits. */
static bool unescape(struct str text, char out_path[BOX_PATH_BYTES])
{
    size_t len = 0;

    for (size_t i = 0; i < text.len && len < BOX_PATH_BYTES - 1; i++) {
        char c = text.ptr[i];

        if (c == '\\' && text.len - i > 3 && is_octal(text.ptr[i + 1]) &&
            is_octal(text.ptr[i + 2]) && is_octal(text.ptr[i + 3])) {
            c = (char)((text.ptr[i + 1] - '0') * 64 + (text.ptr[i + 2] - '0') * 8 +
                       (text.ptr[i + 3] - '0'));
            i += 3;
        }
        out_path[len++] = c;
    }
    out_path[len] = '\0';
    return len < BOX_PATH_BYTES - 1;
}

/*
 * Whether a path leads to this mount, and not to one that covers it. If we cannot reach it, a
 * command cannot either, unless it could open the path: then hiding it fails and says so.
 */
static bool is_on(const struct box_build *build, const char *path, int64_t id)
{
    struct statx about;

    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_MNT_ID, &about) < 0)
        return errno == EACCES && box_is_in_writable(build, path);
    return (about.stx_mask & STATX_MNT_ID) == 0 || about.stx_mnt_id == (uint64_t)id;
}

static int remember(struct box_build *build, const char *path)
{
    char **more = reallocarray(build->kernel, build->kernel_count + 1, sizeof(*more));
    char *own = strdup(path);

    if (more != NULL)
        build->kernel = more;
    if (more == NULL || own == NULL)
        return ENOMEM;
    build->kernel[build->kernel_count++] = own;
    return 0;
}

/* The sandbox's own. */
static bool is_own(const char *path)
{
    return box_is_beneath(path, "/proc") || strcmp(path + 1, BOX_CORES) == 0 ||
           (box_is_beneath(path, "/dev") && !box_is_beneath(path, "/dev/shm"));
}

/* All before the first is covered, which changes the list. */
static int list_seen(struct box_build *build)
{
    static char whole[MOUNTS_BYTES];
    cleanup_file FILE *file = fopen("/proc/self/mountinfo", "re");
    cleanup_free char *line = NULL;
    size_t size = 0;
    ssize_t got;

    if (file == NULL)
        return errno;
    /* In few reads: for each the kernel looks for its place in the list. */
    (void)setvbuf(file, whole, _IOFBF, sizeof(whole));
    /* One line is a page at most: the kernel writes it so. */
    while ((got = getline(&line, &size, file)) > 0) {
        struct mounted mounted;
        char path[BOX_PATH_BYTES];
        int r;

        if (!read_line((struct str){line, (size_t)got}, &mounted) ||
            str_index(mounted.type, kernels_own, array_size(kernels_own)) == SIZE_MAX)
            continue;
        if (!unescape(mounted.point, path))
            return ENAMETOOLONG;
        r = !is_own(path) && is_on(build, path, mounted.id) ? remember(build, path) : 0;
        if (r != 0)
            return r;
    }
    return ferror(file) ? EIO : 0;
}

int box_cover_kernel(struct box_build *build)
{
    int r = build->may_see_kernel ? list_seen(build) : 0;

    for (size_t i = 0; i < build->kernel_count && r == 0; i++)
        r = box_hide(build, build->kernel[i]);
    return r;
}
