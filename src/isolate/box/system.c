/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The new root of a sandbox, and what it shows of the system: a list, so that what nobody thought
 * of is not seen. The programs and their libraries, what they need of /etc and /var to work, and
 * links at the top. Nothing that is listed holds passwords or private keys.
 */
#include "isolate/box/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/streams.h"

enum { MODE_DIRECTORY = 0755, MODE_MOUNT_POINT = 0444, COPIED_BYTES = 16384 };

enum shown_for {
    ANYONE,
    NETWORK,     /* with the host's network */
    WHOLE_DPKG,  /* its locks are only for root to read, and so to hold, flock() needing no more */
    LISTED_DPKG, /* of root, where locks are left to other programs: what is read without them */
};

/* Without the leading slash; a link is shown as one. */
static const struct {
    const char *path;
    enum shown_for shown_for;
} shown[] = {
    {"usr", ANYONE},
    {"bin", ANYONE},
    {"sbin", ANYONE},
    {"lib", ANYONE},
    {"lib32", ANYONE},
    {"lib64", ANYONE},
    {"libx32", ANYONE},
    {"opt", ANYONE},
    {"nix", ANYONE},
    {"home/linuxbrew/.linuxbrew", ANYONE},
    /* Certificates, without the private keys beside them. */
    {"etc/ssl/certs", ANYONE},
    {"etc/ssl/cert.pem", ANYONE},
    {"etc/ssl/openssl.cnf", ANYONE},
    {"etc/pki/ca-trust", ANYONE},
    {"etc/pki/tls/certs", ANYONE},
    {"etc/pki/tls/cert.pem", ANYONE},
    {"etc/pki/tls/openssl.cnf", ANYONE},
    /* How Debian's Maven starts; the settings beside it may hold passwords. */
    {"etc/maven/m2.conf", ANYONE},
    /* What packages have generated. */
    {"var/lib/dpkg", WHOLE_DPKG},
    {"var/lib/dpkg/alternatives", LISTED_DPKG},
    {"var/lib/dpkg/arch", LISTED_DPKG},
    {"var/lib/dpkg/diversions", LISTED_DPKG},
    {"var/lib/dpkg/info", LISTED_DPKG},
    {"var/lib/dpkg/status", LISTED_DPKG},
    {"var/lib/dpkg/updates", LISTED_DPKG},
    {"var/lib/gems", ANYONE},
    {"var/lib/ghc", ANYONE},
    {"var/lib/texmf", ANYONE},
    /* The number of cores. */
    {BOX_CORES, ANYONE},
    /* Name servers, and what the first may be a link to. */
    {"etc/resolv.conf", NETWORK},
    {"run/systemd/resolve/stub-resolv.conf", NETWORK},
    {"run/systemd/resolve/resolv.conf", NETWORK},
    {"run/resolvconf/resolv.conf", NETWORK},
    {"run/NetworkManager/resolv.conf", NETWORK},
};

/* Of /etc; a '*' at the end matches any rest. Each costs a command some microseconds. */
static const char *const shown_of_etc[] = {
    /* Who and where. */
    "group",
    "hosts",
    "localtime",
    "locale.conf",
    "nsswitch.conf",
    "passwd",
    "protocols",
    "services",
    "timezone",
    /* Which system. */
    "alpine-release",
    "lsb-release",
    "os-release",
    "redhat-release",
    "system-release",
    /* How programs are found and start. */
    "alternatives",
    "crypto-policies",
    "ld-musl-*",
    "ld.so.cache",
    "profile",
    /* Languages and tools. */
    "OpenCL",
    "R",
    "clang*",
    "dotnet",
    "fonts",
    "fpc*",
    "gnucobol",
    "groff",
    "java*",
    "jvm*",
    "man_db.conf",
    "manpath.config",
    "octave*",
    "php",
    "texmf",
    "xml",
};

/* There in any case: many expect them. */
static const char *const own_folders[] = {"etc", "run", "sys", "var"};

static const struct {
    const char *target;
    const char *path;
} own_links[] = {{"../proc/self/mounts", "etc/mtab"}, {"../run", "var/run"}};

static bool is_shown_of_etc(const char *name)
{
    for (size_t i = 0; i < array_size(shown_of_etc); i++) {
        size_t len = strlen(shown_of_etc[i]);

        if (shown_of_etc[i][0] != name[0])
            continue;
        if (shown_of_etc[i][len - 1] == '*' ? strncmp(name, shown_of_etc[i], len - 1) == 0
                                            : strcmp(name, shown_of_etc[i]) == 0)
            return true;
    }
    return false;
}

bool box_is_part_shown(const char *path)
{
    for (size_t i = 0; i < array_size(shown); i++)
        if (box_is_beneath(path + 1, shown[i].path))
            return strcmp(shown[i].path, BOX_CORES) != 0;
    return box_is_beneath(path, "/etc");
}

/* ---- One by one ---- */

struct root {
    int old;  /* the system's */
    int made; /* where names are created: the same tmpfs */
    int seen; /* where trees are mounted */
};

static int make_parents(const struct root *root, const char *path)
{
    const char *last = strrchr(path, '/');
    __attribute__((uninitialized)) char so_far[BOX_PATH_BYTES];

    if (last == NULL)
        return 0;
    /* Mostly all but the last are there. */
    snprintf(so_far, sizeof(so_far), "%.*s", (int)(last - path), path);
    if (mkdirat(root->made, so_far, MODE_DIRECTORY) == 0 || errno == EEXIST)
        return 0;
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(so_far, sizeof(so_far), "%.*s", (int)(slash - path), path);
        if (mkdirat(root->made, so_far, MODE_DIRECTORY) < 0 && errno != EEXIST)
            return errno;
    }
    return 0;
}

static int copy_link(const struct root *root, const char *path)
{
    __attribute__((uninitialized)) char target[BOX_PATH_BYTES];
    ssize_t len = readlinkat(root->old, path, target, sizeof(target) - 1);

    if (len < 0)
        return errno;
    target[len] = '\0';
    return symlinkat(target, root->made, path) < 0 && errno != EEXIST ? errno : 0;
}

/*
 * Small files are copied: a mount takes longer to take apart, and all see its path. A file that
 * this user may not read is left out.
 */
static int copy_file(const struct root *root, const char *path, bool *out_is_done)
{
    __attribute__((uninitialized)) char content[COPIED_BYTES + 1];
    cleanup_fd int from = openat(root->old, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    cleanup_fd int to = -1;
    ssize_t len;

    if (from < 0)
        return errno;
    len = read(from, content, sizeof(content));
    *out_is_done = len >= 0 && len <= COPIED_BYTES;
    if (!*out_is_done)
        return len < 0 ? errno : 0;
    to = openat(root->made, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE_MOUNT_POINT);
    if (to < 0)
        return errno;
    return write(to, content, (size_t)len) == len ? 0 : ENOSPC;
}

/* The system was made read-only, and with it what is cut out of it. */
static int mount_part(struct box_build *build, const struct root *root, const char *path,
                      bool is_directory)
{
    const bool is_cores = strcmp(path, BOX_CORES) == 0;
    cleanup_fd int tree = -1;
    int r = is_cores ? 0 : box_clone_seen(build, root->old, path, &tree);

    if (is_cores)
        tree = open_tree(root->old, path,
                         OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);
    if (tree < 0)
        return r != 0 ? r : errno;
    if ((is_directory ? mkdirat(root->made, path, MODE_DIRECTORY)
                      : mknodat(root->made, path, S_IFREG | MODE_MOUNT_POINT, 0)) < 0 &&
        errno != EEXIST)
        return errno;
    return box_lay(tree, root->seen, path);
}

static int show(struct box_build *build, const struct root *root, const char *path, mode_t type)
{
    bool is_done = false;
    int r = 0;

    box_say(build, path);
    if (!S_ISLNK(type) && !S_ISDIR(type) && !S_ISREG(type))
        return 0;
    if (S_ISLNK(type)) {
        r = copy_link(root, path);
        is_done = true;
    } else if (S_ISREG(type)) {
        r = copy_file(root, path, &is_done);
    }
    if (r == 0 && !is_done)
        r = mount_part(build, root, path, S_ISDIR(type));
    /* What this user may not reach or what has just gone, no command misses. */
    return r == EACCES || box_is_gone(r) ? 0 : r;
}

/* ---- All of them ---- */

static bool is_for(const struct box *box, enum shown_for shown_for)
{
    switch (shown_for) {
    case ANYONE:
        return true;
    case NETWORK:
        return box->network != BOX_NETWORK_NONE;
    case WHOLE_DPKG:
        return !box->is_root || !box->spares_host;
    case LISTED_DPKG:
        return box->is_root && box->spares_host;
    }
    return false;
}

static int show_listed(struct box_build *build, const struct root *root)
{
    int r = 0;

    for (size_t i = 0; i < array_size(shown) && r == 0; i++) {
        struct stat about;

        if (!is_for(build->box, shown[i].shown_for) ||
            fstatat(root->old, shown[i].path, &about, AT_SYMLINK_NOFOLLOW) < 0 ||
            (S_ISLNK(about.st_mode) && strchr(shown[i].path, '/') == NULL)) /* shown already */
            continue;
        r = make_parents(root, shown[i].path);
        if (r == 0)
            r = show(build, root, shown[i].path, about.st_mode);
    }
    return r;
}

static mode_t type_of(int dir_fd, const struct dirent *entry)
{
    struct stat about;

    if (entry->d_type != DT_UNKNOWN)
        return (mode_t)DTTOIF(entry->d_type);
    return fstatat(dir_fd, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 ? about.st_mode : 0;
}

/* Of a folder of the system: the links, or what is listed. */
static int show_in(struct box_build *build, const struct root *root, const char *folder,
                   bool links_only)
{
    cleanup_dir DIR *dir = NULL;
    int fd = openat(root->old, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct dirent *entry;
    int r = 0;

    if (fd < 0)
        return errno == EACCES || box_is_gone(errno) ? 0 : errno;
    dir = fdopendir(fd);
    if (dir == NULL) {
        close(fd);
        return ENOMEM;
    }
    while (r == 0 && (entry = readdir(dir)) != NULL) {
        __attribute__((uninitialized)) char path[NAME_MAX + 8];
        mode_t type;

        if (links_only ? entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN
                       : !is_shown_of_etc(entry->d_name))
            continue;
        type = type_of(fd, entry);
        if (links_only && !S_ISLNK(type))
            continue;
        snprintf(path, sizeof(path), "%s%s%s", links_only ? "" : folder, links_only ? "" : "/",
                 entry->d_name);
        r = show(build, root, path, type);
    }
    return r;
}

int box_mount_root(struct box_build *build)
{
    cleanup_fd int old = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    cleanup_fd int made = openat(build->scratch_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    cleanup_fd int tree = -1;
    struct root root;
    int r;

    if (old < 0 || made < 0)
        return errno;
    r = box_cut_out(made, "", MOUNT_ATTR_NODEV, &tree);
    if (r == 0)
        r = box_lay(tree, AT_FDCWD, "/");
    if (r != 0)
        return r;
    root = (struct root){.old = old, .made = made, .seen = tree};
    for (size_t i = 0; i < array_size(own_folders); i++)
        if (mkdirat(made, own_folders[i], MODE_DIRECTORY) < 0 && errno != EEXIST)
            return errno;
    r = show_in(build, &root, ".", true);
    if (r == 0)
        r = show_listed(build, &root);
    if (r == 0)
        r = show_in(build, &root, "etc", false);
    if (r != 0)
        return r;
    for (size_t i = 0; i < array_size(own_links); i++)
        if (symlinkat(own_links[i].target, made, own_links[i].path) < 0 && errno != EEXIST)
            return errno;
    box_say(build, "/");
    return fchdir(tree) < 0 || chroot(".") < 0 ? errno : 0;
}
