/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that every room begins with, beneath its own and those of its layers: the folders of a
 * system, a user, and of the host's /etc what programs need to start. They are made once, when the
 * keeper starts, and shared. Only what everybody may read is copied.
 */
#include "isolate/room/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/streams.h"

enum { MODE_DIRECTORY = 0755, MODE_SHARED = 01777, MODE_FILE = 0644, COPY_BYTES = 1 << 16 };
enum { MAX_DEPTH = 64, MAX_TRIES = 4096, COPY_MAX_DEPTH = 6, COPY_MAX_FILE = 4 << 20 };

static const struct {
    const char *path;
    mode_t mode;
    bool is_users;
} folders[] = {
    {"dev", MODE_DIRECTORY, false},
    {"etc", MODE_DIRECTORY, false},
    {"home", MODE_DIRECTORY, false},
    {"home/user", MODE_DIRECTORY, true},
    {"mnt", MODE_DIRECTORY, false},
    {"proc", 0555, false},
    {"root", 0700, false},
    {"run", MODE_DIRECTORY, false},
    {"srv", MODE_DIRECTORY, false},
    {"sys", MODE_DIRECTORY, false},
    {"tmp", MODE_SHARED, false},
    {"usr", MODE_DIRECTORY, false},
    {"var", MODE_DIRECTORY, false},
    {"var/cache", MODE_DIRECTORY, false},
    {"var/lib", MODE_DIRECTORY, false},
    {"var/log", MODE_DIRECTORY, false},
    {"var/tmp", MODE_SHARED, false},
    {"workspace", MODE_DIRECTORY, true},
};

static const struct {
    const char *path;
    const char *text;
} files[] = {
    {"etc/passwd", "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n"
                   "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
    {"etc/group", "root:x:0:\ntty:x:5:\nuser:x:1000:\nnogroup:x:65534:\n"},
    {"etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n"},
    {"etc/hostname", "sandbox\n"},
    {"etc/resolv.conf", ""}, /* the host's is mounted on it, for a room with its network */
};

/* Links at the top that most systems have; where they are folders, root.c mounts them. */
static const char *const top[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt", "nix"};

/* Of /etc, with all below. */
static const char *const of_etc[] = {
    "alternatives",  "debian_version", "fonts",           "ld.so.cache",
    "ld.so.conf",    "ld.so.conf.d",   "localtime",       "mime.types",
    "nsswitch.conf", "os-release",     "profile",         "protocols",
    "services",      "timezone",       "ssl/openssl.cnf", "ssl/certs/ca-certificates.crt",
    "pki/tls/certs", "pki/ca-trust",   "crypto-policies",
};

/* ---- Removing ---- */

static void remove_below(int dir_fd, const char *name, int depth)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_dir DIR *dir = NULL;

    if (fd < 0 && errno == EACCES && fchmodat(dir_fd, name, 0700, 0) == 0)
        fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)fchmod(fd, 0700); /* so that its entries can be removed */
    dir = fdopendir(fd);
    if (dir == NULL) {
        close(fd);
        return;
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own */
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(fd, entry->d_name, 0) == 0 || depth == 0)
            continue;
        remove_below(fd, entry->d_name, depth - 1);
        (void)unlinkat(fd, entry->d_name, AT_REMOVEDIR);
    }
}

/* A tree may be deeper than a process has descriptors: what is too deep moves up to its root. */
static void raise_deepest(int dir_fd, const char *name)
{
    static unsigned raised;
    cleanup_fd int root = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int at = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    for (int depth = 0; at >= 0; depth++) {
        cleanup_dir DIR *dir = fdopendir(at);
        const struct dirent *entry;
        int next = -1;

        if (dir == NULL) {
            close(at);
            return;
        }
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own */
        while (next < 0 && (entry = readdir(dir)) != NULL) {
            char target[48];

            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                continue;
            snprintf(target, sizeof(target), "deep.%d.%u", getpid(), raised++);
            if (depth == MAX_DEPTH / 2 && renameat(at, entry->d_name, root, target) == 0)
                return;
            next = openat(at, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        }
        at = next;
    }
}

void room_remove_tree(int dir_fd, const char *name)
{
    for (int i = 0; i < MAX_TRIES; i++) {
        if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
            return;
        remove_below(dir_fd, name, MAX_DEPTH);
        if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0 || errno != ENOTEMPTY)
            return;
        raise_deepest(dir_fd, name);
    }
}

/* ---- Copying from the host ---- */

static int copy_link(int from_fd, const char *name, int to_fd, const char *to)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(from_fd, name, target, sizeof(target) - 1);

    if (len < 0)
        return errno;
    target[len] = '\0';
    return symlinkat(target, to_fd, to) < 0 ? errno : 0;
}

static int copy_file(int from_fd, const char *name, int to_fd, const char *to)
{
    cleanup_fd int in = openat(from_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    cleanup_fd int out = -1;
    char bytes[COPY_BYTES];
    ssize_t got;

    if (in < 0)
        return errno;
    out = openat(to_fd, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE_FILE);
    if (out < 0)
        return errno;
    while ((got = read(in, bytes, sizeof(bytes))) > 0)
        if (write(out, bytes, (size_t)got) != got)
            return ENOSPC;
    return got < 0 ? errno : 0;
}

/* What is private or odd is left out; so is what just went away. */
static int copy_entry(int from_fd, const char *name, int to_fd, const char *to, int depth);

static int copy_folder(int from_fd, const char *name, int to_fd, const char *to, int depth)
{
    int fd = openat(from_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    cleanup_fd int made = -1;
    int r = 0;

    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    if (mkdirat(to_fd, to, MODE_DIRECTORY) < 0)
        return errno;
    made = openat(to_fd, to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (made < 0)
        return errno;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own */
    for (const struct dirent *entry; r == 0 && (entry = readdir(dir)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            r = copy_entry(fd, entry->d_name, made, entry->d_name, depth - 1);
    return r;
}

static int copy_entry(int from_fd, const char *name, int to_fd, const char *to, int depth)
{
    struct stat about;
    int r = 0;

    if (fstatat(from_fd, name, &about, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if (S_ISLNK(about.st_mode))
        r = copy_link(from_fd, name, to_fd, to);
    else if ((about.st_mode & S_IROTH) == 0)
        return 0;
    else if (S_ISREG(about.st_mode) && about.st_size <= COPY_MAX_FILE)
        r = copy_file(from_fd, name, to_fd, to);
    else if (S_ISDIR(about.st_mode) && depth > 0)
        r = copy_folder(from_fd, name, to_fd, to, depth);
    return r == ENOSPC || r == EDQUOT || r == ENOMEM || r == EMFILE ? r : 0;
}

/* ---- All of them ---- */

static int copy_etc(int base)
{
    cleanup_fd int host = open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_fd int etc = openat(base, "etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = 0;

    if (host < 0 || etc < 0)
        return errno;
    for (size_t i = 0; i < array_size(of_etc) && r == 0; i++) {
        char way[64];

        for (const char *slash = strchr(of_etc[i], '/'); slash != NULL;
             slash = strchr(slash + 1, '/')) {
            snprintf(way, sizeof(way), "%.*s", (int)(slash - of_etc[i]), of_etc[i]);
            if (mkdirat(etc, way, MODE_DIRECTORY) < 0 && errno != EEXIST)
                return errno;
        }
        r = copy_entry(host, of_etc[i], etc, of_etc[i], COPY_MAX_DEPTH);
    }
    return r;
}

static int fill(int base, bool has_range)
{
    for (size_t i = 0; i < array_size(folders); i++) {
        if (mkdirat(base, folders[i].path, 0700) < 0)
            return errno;
        if (folders[i].is_users && has_range &&
            fchownat(base, folders[i].path, ROOM_USER, ROOM_USER, AT_SYMLINK_NOFOLLOW) < 0)
            return errno;
        if (fchmodat(base, folders[i].path, folders[i].mode, 0) < 0)
            return errno;
    }
    for (size_t i = 0; i < array_size(files); i++) {
        cleanup_fd int fd =
            openat(base, files[i].path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE_FILE);
        const size_t len = strlen(files[i].text);

        if (fd < 0 || write(fd, files[i].text, len) != (ssize_t)len)
            return fd < 0 ? errno : ENOSPC;
    }
    for (size_t i = 0; i < array_size(top); i++) {
        char path[16];
        struct stat about;

        snprintf(path, sizeof(path), "/%s", top[i]);
        if (lstat(path, &about) < 0)
            continue;
        if (S_ISLNK(about.st_mode) ? copy_link(AT_FDCWD, path, base, top[i]) != 0
                                   : mkdirat(base, top[i], MODE_DIRECTORY) < 0)
            return errno;
    }
    return copy_etc(base);
}

int room_make_base(int directory_fd, bool has_range, struct err *err)
{
    cleanup_fd int base = -1;
    int r;

    if (mkdirat(directory_fd, "base", MODE_DIRECTORY) < 0)
        return err_set(err, err_from_errno(errno), "cannot create the base: %s",
                       err_errno_text(errno));
    base = openat(directory_fd, "base", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    r = base < 0 ? errno : fill(base, has_range);
    return r == 0
               ? 0
               : err_set(err, err_from_errno(r), "cannot create the base: %s", err_errno_text(r));
}
