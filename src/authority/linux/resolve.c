/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves a name to a file descriptor. Every descriptor comes from a strict open: no link
 * anywhere, nothing above the root, no other mount, all in one system call (or, without openat2,
 * one component at a time from open directories).
 *
 * If links are followed, that is a second step: the kernel, or the walk, tells to which name they
 * lead; that name is checked and then opened strictly. Whatever changes in between, the opened
 * object has the name that was checked.
 */
#include "authority/linux/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
    /* The kernel asks to try again when something was renamed meanwhile. */
    MAX_TRIES = 1000,
    /* As many as the kernel follows. */
    MAX_LINKS = 40,
};

static const uint64_t beneath = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;

void linux_place_done(struct linux_place *place)
{
    if (place->dir_fd >= 0 && !place->is_dir_borrowed)
        close(place->dir_fd);
    place->dir_fd = -1;
    place->is_dir_borrowed = false;
    place->dir_identity = NULL;
}

int linux_error(int errno_value)
{
    switch (errno_value) {
    case ELOOP:
        return ERR_SYMLINK_REJECTED;
    case EISDIR:
    case ENXIO:  /* a FIFO without a reader, a socket */
    case ENODEV: /* a device without a driver */
        return ERR_NOT_REGULAR_FILE;
    default:
        return err_from_errno(errno_value);
    }
}

int linux_look(int fd, struct stat *out_about)
{
    /* SAFETY: both sides have the same struct on 64 bits. libc's fstat() asks for an empty name
     * instead, which the kernel fetches first; the call itself is a tenth of a stat. */
    return syscall(SYS_fstat, fd, out_about) < 0 ? linux_error(errno) : 0;
}

static int try_openat2(int dir_fd, const char *name, int flags, uint64_t resolve)
{
    const struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC), .resolve = resolve};

    /* SAFETY: this libc has no wrapper; the arguments are those of openat2(2). */
    return (int)syscall(SYS_openat2, dir_fd, name, &how, sizeof(how));
}

bool linux_has_openat2(void)
{
    cleanup_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    cleanup_fd int fd = try_openat2(root, ".", O_PATH, beneath | RESOLVE_NO_SYMLINKS);

    return fd >= 0;
}

int linux_mount_id(int fd, uint64_t *out_id)
{
    struct statx about;

    if (statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_MNT_ID, &about) < 0)
        return linux_error(errno);
    /* Before Linux 5.8 the device must do; a bind mount of the same one then looks the same. */
    if ((about.stx_mask & STATX_MNT_ID) != 0)
        *out_id = about.stx_mnt_id;
    else
        *out_id = makedev(about.stx_dev_major, about.stx_dev_minor);
    return 0;
}

int linux_check_mount(int fd, uint64_t mount_id)
{
    uint64_t own_id = 0;
    int r = linux_mount_id(fd, &own_id);

    if (r < 0)
        return r;
    return own_id == mount_id ? 0 : ERR_CROSSES_MOUNT;
}

int linux_sync_dir(int dir_fd)
{
    /* EINVAL: a file system that cannot sync a directory has done so already, or never will. */
    return fsync(dir_fd) == 0 || errno == EINVAL ? 0 : linux_error(errno);
}

int linux_open_entry(const struct linux_backend *backend, int dir_fd, const char *component,
                     int flags, uint64_t mount_id, int *out_fd)
{
    cleanup_fd int fd = -1;
    int r;

    if (!backend->walks) {
        *out_fd = try_openat2(dir_fd, component, flags | O_NOFOLLOW, beneath | RESOLVE_NO_SYMLINKS);
        if (*out_fd >= 0)
            return 0;
        if (errno != EAGAIN && errno != EINTR)
            return errno == EXDEV ? ERR_CROSSES_MOUNT : linux_error(errno);
    }
    fd = openat(dir_fd, component, flags | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return linux_error(errno);
    r = linux_check_mount(fd, mount_id);
    if (r == 0)
        *out_fd = steal_fd(&fd);
    return r;
}

/* ---- strictly: no links ---- */

static bool is_link(int fd)
{
    struct stat about;

    return fstat(fd, &about) == 0 && S_ISLNK(about.st_mode);
}

static int open_by_kernel(struct backend_root *root, const struct cancel *cancel, const char *name,
                          int flags, uint64_t resolve, int *out_fd)
{
    for (int tries = 0; tries < MAX_TRIES; tries++) {
        int fd = try_openat2(root->fd, name, flags, resolve);
        int r;

        if (fd >= 0) {
            *out_fd = fd;
            return 0;
        }
        if (errno != EAGAIN && errno != EINTR)
            return errno == EXDEV ? ERR_CROSSES_MOUNT : linux_error(errno);
        r = cancel_check(cancel);
        if (r < 0)
            return r;
    }
    return ERR_BUSY;
}

/* Opens one component, on the same mount. */
static int step(const struct backend_root *root, int dir_fd, const char *component, int flags,
                int *out_fd)
{
    cleanup_fd int fd = openat(dir_fd, component, flags | O_NOFOLLOW | O_CLOEXEC);
    struct stat about;
    int r;

    if (fd < 0 && errno == ENOTDIR &&
        fstatat(dir_fd, component, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(about.st_mode))
        return ERR_SYMLINK_REJECTED;
    if (fd < 0)
        return linux_error(errno);
    r = linux_check_mount(fd, root->mount_id);
    if (r < 0)
        return r;
    *out_fd = steal_fd(&fd);
    return 0;
}

/*
 * Component by component; *out_seen is the length of the name that was reached without a link, and
 * the rest starts with what stopped the walk.
 */
static int open_by_walking(struct backend_root *root, const struct cancel *cancel, struct str name,
                           int flags, int *out_fd, size_t *out_seen)
{
    cleanup_fd int at = -1;
    struct str rest = name;
    struct str part;

    *out_seen = 0;
    if (name.len == 0)
        return step(root, root->fd, ".", flags, out_fd);
    while (str_cut(&rest, '/', &part)) {
        bool is_last = rest.ptr == NULL;
        char component[NAME_MAX + 1];
        int next;
        int r = cancel_check(cancel);

        if (r < 0)
            return r;
        if (part.len > NAME_MAX)
            return ERR_INVALID_PATH;
        *out_seen = (size_t)(part.ptr - name.ptr);
        memcpy(component, part.ptr, part.len);
        component[part.len] = '\0';
        r = step(root, at >= 0 ? at : root->fd, component, is_last ? flags : O_PATH | O_DIRECTORY,
                 &next);
        if (r < 0)
            return r;
        if (at >= 0)
            close(at);
        at = next;
    }
    *out_fd = steal_fd(&at);
    return 0;
}

static int open_strictly(struct backend_root *root, const struct cancel *cancel, struct str name,
                         int flags, int *out_fd)
{
    size_t seen;
    int r = cancel_check(cancel);

    if (r < 0)
        return r;
    if (root->backend->walks)
        return open_by_walking(root, cancel, name, flags, out_fd, &seen);
    return open_by_kernel(root, cancel, name.len > 0 ? name.ptr : ".", flags,
                          beneath | RESOLVE_NO_SYMLINKS, out_fd);
}

/* ---- where links lead ---- */

/* The path of a descriptor; fails if it was removed. */
static int path_of(int fd, char out_text[PATH_MAX], size_t *out_len)
{
    char name[32];
    ssize_t len;

    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    len = readlink(name, out_text, PATH_MAX);
    if (len < 0)
        return linux_error(errno);
    if (len >= PATH_MAX)
        return ERR_INVALID_PATH;
    out_text[len] = '\0';
    *out_len = (size_t)len;
    return 0;
}

int linux_root_path(struct backend_root *root, char out_path[PATH_MAX])
{
    size_t len;

    return path_of(root->fd, out_path, &len);
}

/* The present name of a descriptor below the root. */
static int name_below(struct backend_root *root, int fd, struct path_name *out_name)
{
    char root_path[PATH_MAX];
    char path[PATH_MAX];
    size_t root_len = 0;
    size_t len = 0;
    int r = path_of(root->fd, root_path, &root_len);

    if (r == 0)
        r = path_of(fd, path, &len);
    if (r < 0)
        return r;
    if (root_len == 1) /* "/" */
        root_len = 0;
    if (len < root_len || memcmp(path, root_path, root_len) != 0 ||
        (len > root_len && path[root_len] != '/'))
        return ERR_PATH_OUTSIDE_ROOT;
    if (len > root_len)
        root_len++;
    return path_normalise((struct str){path + root_len, len - root_len}, NULL, false, out_name);
}

int linux_check_place(struct backend_root *root, const struct backend_lookup *lookup,
                      const struct linux_place *place)
{
    __attribute__((uninitialized)) struct path_name directory;
    __attribute__((uninitialized)) struct path_name name;
    int r;

    if (!lookup->is_selective || lookup->admits == NULL)
        return 0;
    r = name_below(root, place->dir_fd, &directory);
    if (r == 0)
        r = path_join(path_view(&directory), str_from(place->last), &name);
    if (r < 0)
        return r;
    return lookup->admits(lookup->context, path_view(&name)) ? 0 : ERR_DENIED_BY_POLICY;
}

/* The kernel follows links, and /proc tells the result. */
static int find_target_by_kernel(struct backend_root *root, const struct cancel *cancel,
                                 const char *name, struct path_name *out_target)
{
    cleanup_fd int fd = -1;
    int r = open_by_kernel(root, cancel, name, O_PATH, beneath, &fd);

    if (r == ERR_CROSSES_MOUNT) {
        /* The same code for leaving the root and for another mount: try again allowing mounts. */
        cleanup_fd int elsewhere =
            try_openat2(root->fd, name, O_PATH, beneath & ~(uint64_t)RESOLVE_NO_XDEV);

        return elsewhere >= 0 ? ERR_CROSSES_MOUNT : ERR_PATH_OUTSIDE_ROOT;
    }
    if (r < 0)
        return r;
    return name_below(root, fd, out_target);
}

/* name[0..seen) + target + what follows the component at `seen`. */
static int splice_link(const struct path_name *name, size_t seen, struct str target,
                       struct path_name *out_name)
{
    struct str rest = str_slice(path_view(name), seen, name->len);
    struct str component;
    char joined[PATH_MAX];
    int len;

    if (target.len == 0)
        return ERR_NOT_FOUND;
    if (target.ptr[0] == '/')
        return ERR_PATH_OUTSIDE_ROOT;
    (void)str_cut(&rest, '/', &component);
    len = snprintf(joined, sizeof(joined), "%.*s%.*s%s%.*s", (int)seen, name->text, STR_ARG(target),
                   rest.ptr != NULL ? "/" : "", (int)rest.len, rest.ptr != NULL ? rest.ptr : "");
    if (len < 0 || (size_t)len >= sizeof(joined))
        return ERR_INVALID_PATH;
    return path_normalise((struct str){joined, (size_t)len}, NULL, true, out_name);
}

/* The target of the link at name[0..end); ERR_BUSY if it is no link any more. */
static int read_link(struct backend_root *root, const struct cancel *cancel, struct str name,
                     char out_target[PATH_MAX], size_t *out_len)
{
    cleanup_fd int fd = -1;
    size_t seen;
    ssize_t len;
    int r = open_by_walking(root, cancel, name, O_PATH, &fd, &seen);

    if (r < 0)
        return r;
    len = readlinkat(fd, "", out_target, PATH_MAX);
    if (len < 0)
        return errno == EINVAL || errno == ENOENT ? ERR_BUSY : linux_error(errno);
    if (len >= PATH_MAX)
        return ERR_INVALID_PATH;
    *out_len = (size_t)len;
    return 0;
}

/* Position of the first ".." component; the length if there is none. */
static size_t first_dotdot(struct str name)
{
    struct str rest = name;
    struct str part;

    while (str_cut(&rest, '/', &part))
        if (str_eq(part, STR("..")))
            return (size_t)(part.ptr - name.ptr);
    return name.len;
}

/* Removes the ".." at `at` together with the component before it, which is no link. */
static int collapse_dotdot(struct path_name *name, size_t at)
{
    struct str before = str_slice(path_view(name), 0, at > 0 ? at - 1 : 0);
    struct str after = str_slice(path_view(name), at + 2, name->len);
    struct path_name joined;
    struct str parent;
    struct str last;
    int len;

    if (before.len == 0)
        return ERR_PATH_OUTSIDE_ROOT;
    path_split(before, &parent, &last);
    if (parent.len == 0 && after.len > 0)
        after = str_slice(after, 1, after.len); /* the slash */
    len = snprintf(joined.text, sizeof(joined.text), "%.*s%.*s", STR_ARG(parent), STR_ARG(after));
    joined.len = (size_t)len;
    return path_normalise(path_view(&joined), NULL, true, name);
}

/*
 * Without openat2: walks until a link, replaces it by its target, and walks again. ".." is removed
 * only if everything before it was walked without a link.
 */
static int find_target_by_walking(struct backend_root *root, const struct cancel *cancel,
                                  struct str name, struct path_name *out_target)
{
    struct path_name current;
    int links = 0;
    int r = path_normalise(name, NULL, true, &current);

    /* Each turn takes a link or a ".." away, and links are counted. */
    while (r == 0) {
        size_t dotdot = first_dotdot(path_view(&current));
        struct str before = str_slice(path_view(&current), 0,
                                      dotdot < current.len && dotdot > 0 ? dotdot - 1 : dotdot);
        cleanup_fd int fd = -1;
        char target[PATH_MAX];
        struct path_name next;
        struct str component;
        struct str rest;
        size_t seen;
        size_t len = 0;

        r = open_by_walking(root, cancel, before, O_PATH, &fd, &seen);
        if (r == 0 && !is_link(fd)) {
            if (dotdot == current.len) {
                *out_target = current;
                return 0;
            }
            r = collapse_dotdot(&current, dotdot);
            continue;
        }
        if (r < 0 && r != ERR_SYMLINK_REJECTED)
            return r;
        if (++links > MAX_LINKS)
            return ERR_SYMLINK_REJECTED;
        rest = str_slice(path_view(&current), seen, current.len);
        (void)str_cut(&rest, '/', &component);
        r = read_link(root, cancel, str_slice(path_view(&current), 0, seen + component.len), target,
                      &len);
        if (r == 0)
            r = splice_link(&current, seen, (struct str){target, len}, &next);
        if (r == 0)
            current = next;
    }
    return r;
}

/* The resolved name of `name`, checked. */
static int find_target(struct backend_root *root, const struct backend_lookup *lookup,
                       struct str name, struct path_name *out_target)
{
    struct path_name target;
    int r;

    if (root->backend->walks)
        r = find_target_by_walking(root, lookup->cancel, name, &target);
    else
        r = find_target_by_kernel(root, lookup->cancel, name.len > 0 ? name.ptr : ".", &target);
    if (r < 0)
        return r;
    if (lookup->admits != NULL && !lookup->admits(lookup->context, path_view(&target)))
        return ERR_DENIED_BY_POLICY;
    *out_target = target;
    return 0;
}

/* Two dots in a row are rare, and cheaper to search for than components. */
static bool may_have_dotdot(struct str name)
{
    const char *end = name.ptr + name.len;

    for (const char *at = name.ptr; at + 1 < end; at++) {
        at = memchr(at, '.', (size_t)(end - at) - 1);
        if (at == NULL)
            return false;
        if (at[1] == '.')
            return true;
    }
    return false;
}

/* Whether a strict open gives the same result: no "..", which depends on links. */
static bool may_try_strictly(const struct backend_lookup *lookup, struct str name)
{
    return !lookup->follows_links || !may_have_dotdot(name) || first_dotdot(name) == name.len;
}

/* A separate function, so that the usual case does not pay for its stack. */
int linux_open_target(struct backend_root *root, const struct backend_lookup *lookup,
                      struct str name, int flags, int *out_fd)
{
    struct path_name target;
    int r = find_target(root, lookup, name, &target);

    if (r < 0)
        return r;
    return open_strictly(root, lookup->cancel, path_view(&target), flags, out_fd);
}

int linux_open(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
               int flags, int *out_fd)
{
    int r = ERR_SYMLINK_REJECTED;

    if (may_try_strictly(lookup, name))
        r = open_strictly(root, lookup->cancel, name, flags, out_fd);
    if (r != ERR_SYMLINK_REJECTED || !lookup->follows_links)
        return r;
    return linux_open_target(root, lookup, name, flags, out_fd);
}

/* The parent of a name without links. */
static int open_parent_strictly(struct backend_root *root, const struct cancel *cancel,
                                struct str name, struct linux_place *out_place)
{
    __attribute__((uninitialized)) struct path_name parent_name;
    struct str parent;
    struct str last;

    path_split(name, &parent, &last);
    if (last.len == 0 || str_eq(last, STR("..")))
        return ERR_ROOT_PROTECTED;
    if (last.len > NAME_MAX)
        return ERR_INVALID_PATH;
    memcpy(out_place->last, last.ptr, last.len);
    out_place->last[last.len] = '\0';
    if (parent.len == 0) {
        /* The root is open as long as anything below it is used. */
        out_place->dir_fd = root->fd;
        out_place->is_dir_borrowed = true;
        out_place->dir_identity = root->identity.inode != 0 ? &root->identity : NULL;
        return cancel_check(cancel);
    }
    /* The kernel wants it terminated. */
    parent_name.len = parent.len;
    memcpy(parent_name.text, parent.ptr, parent.len);
    parent_name.text[parent.len] = '\0';
    return open_strictly(root, cancel, path_view(&parent_name), O_RDONLY | O_DIRECTORY,
                         &out_place->dir_fd);
}

/* The parent's target and the last component unchanged. */
__attribute__((noinline)) static int open_parent_following(struct backend_root *root,
                                                           const struct backend_lookup *lookup,
                                                           struct str name,
                                                           struct linux_place *out_place)
{
    struct path_name given;
    struct path_name joined;
    struct path_name parent_target;
    struct str parent;
    struct str last;
    int len;
    int r;

    path_split(name, &parent, &last);
    if (last.len == 0 || str_eq(last, STR("..")))
        return ERR_ROOT_PROTECTED;
    given.len = parent.len;
    memcpy(given.text, parent.ptr, parent.len);
    given.text[parent.len] = '\0';
    {
        /* The directory itself is not used: the whole name is checked below. */
        struct backend_lookup quiet = *lookup;

        quiet.admits = NULL;
        r = find_target(root, &quiet, path_view(&given), &parent_target);
    }
    if (r < 0)
        return r;
    len = snprintf(joined.text, sizeof(joined.text), "%s%s%.*s", parent_target.text,
                   parent_target.len > 0 ? "/" : "", STR_ARG(last));
    if (len < 0 || (size_t)len >= sizeof(joined.text))
        return ERR_INVALID_PATH;
    joined.len = (size_t)len;
    if (lookup->admits != NULL && !lookup->admits(lookup->context, path_view(&joined)))
        return ERR_DENIED_BY_POLICY;
    return open_parent_strictly(root, lookup->cancel, path_view(&joined), out_place);
}

static bool last_is_link(struct linux_place *place)
{
    if (fstatat(place->dir_fd, place->last, &place->last_about, AT_SYMLINK_NOFOLLOW) < 0)
        place->last_about.st_mode = 0;
    return S_ISLNK(place->last_about.st_mode);
}

/* Writing goes through a link at the end: the place is that of its target, which must exist. */
__attribute__((noinline)) static int open_parent_of_target(struct backend_root *root,
                                                           const struct backend_lookup *lookup,
                                                           struct str name,
                                                           struct linux_place *out_place)
{
    struct path_name target;
    int r;

    if (!lookup->follows_links)
        return ERR_SYMLINK_REJECTED;
    r = find_target(root, lookup, name, &target);
    if (r < 0)
        return r == ERR_NOT_FOUND ? ERR_SYMLINK_REJECTED : r;
    return open_parent_strictly(root, lookup->cancel, path_view(&target), out_place);
}

int linux_open_parent(struct backend_root *root, const struct backend_lookup *lookup,
                      struct str name, enum linux_last last, struct linux_place *out_place)
{
    cleanup_place struct linux_place place = LINUX_PLACE_INIT;
    int r = ERR_SYMLINK_REJECTED;

    if (may_try_strictly(lookup, name))
        r = open_parent_strictly(root, lookup->cancel, name, &place);
    if (r == ERR_SYMLINK_REJECTED && lookup->follows_links)
        r = open_parent_following(root, lookup, name, &place);
    if (r < 0)
        return r;
    if (last == LINUX_LAST_RESOLVED && last_is_link(&place)) {
        linux_place_done(&place);
        place.last_about.st_mode = 0;
        r = open_parent_of_target(root, lookup, name, &place);
        if (r < 0)
            return r;
    }
    *out_place = place;
    place.dir_fd = -1;
    return 0;
}
