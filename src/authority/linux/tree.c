/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole directories that appear at once: built under a private name beside their
 * destination, synced together, then renamed.
 */
#include "authority/linux/internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    PRIVATE_MODE = 0700,
    DROPPED_MAX_ENTRIES = 10000000, /* a process that refills it cannot keep us here forever */
};

struct linux_tree {
    struct backend_root root;
    struct backend_root *host; /* where it will be */
    struct backend_lookup lookup;
    struct path_name name; /* it will have there; only where names matter */
    struct linux_last_parent last_parent;
};

static struct linux_tree *tree_of(struct backend_root *root)
{
    /* SAFETY: `root` is the first member, and only linux_tree_stage() makes roots of this kind. */
    return (struct linux_tree *)root;
}

static void forget_parent(struct backend_root *tree)
{
    if (tree->last_parent->fd >= 0)
        close(steal_fd(&tree->last_parent->fd));
}

static void free_tree(struct backend_root *tree, bool is_gone)
{
    /* What could not be removed stays noted, for the next start. */
    if (tree->journal_slot != LINUX_NO_SLOT && is_gone)
        linux_journal_remove(tree->backend->journal, tree->journal_slot);
    if (tree->fd >= 0)
        close(tree->fd);
    forget_parent(tree);
    linux_place_done(&tree->place);
    linux_place_done(&tree->target);
    free(tree_of(tree));
}

/* ---- where it goes ---- */

static bool note_name(void *context, struct str name)
{
    struct linux_tree *tree = context;

    return path_join(STR_EMPTY, name, &tree->name) == 0;
}

/* Everything in it was checked by the name that it would have. */
static bool has_kept_name(void *context, struct str name)
{
    const struct linux_tree *tree = context;

    return str_eq(name, path_view(&tree->name)) && tree->lookup.admits(tree->lookup.context, name);
}

static int ask_about_target(struct linux_tree *tree, bool (*ask)(void *context, struct str name))
{
    struct backend_lookup lookup = tree->lookup;

    if (lookup.admits == NULL)
        return 0;
    lookup.admits = ask;
    lookup.context = tree;
    return linux_check_place(tree->host, &lookup, &tree->root.target);
}

/* ---- building ---- */

/* All of a subvolume, at one moment; a later copy by hand finds the reason if this fails. */
static int make_snapshot(const struct backend_root *tree, int source_fd)
{
    struct btrfs_ioctl_vol_args_v2 args = {.fd = source_fd};

    static_assert(sizeof(args.name) > sizeof(tree->place.last), "room for any name");
    memcpy(args.name, tree->place.last, strlen(tree->place.last));
    return ioctl(tree->place.dir_fd, BTRFS_IOC_SNAP_CREATE_V2, &args) < 0 ? ERR_UNSUPPORTED : 0;
}

static int make_directory(const struct backend_root *tree, int source_fd)
{
    if (source_fd >= 0)
        return make_snapshot(tree, source_fd);
    return mkdirat(tree->place.dir_fd, tree->place.last, PRIVATE_MODE) < 0 ? linux_error(errno) : 0;
}

/* Creates the private directory beside the target; as a snapshot, if there is a source. */
static int make_private(struct backend_root *tree, int source_fd)
{
    uint64_t budget = DROPPED_MAX_ENTRIES;
    int r;

    linux_temp_name(tree->place.last);
    if (tree->backend->journal != NULL) {
        r = linux_journal_add(tree->backend->journal, &tree->place, tree->place.last,
                              LINUX_LEFTOVER_TREE, &tree->journal_slot);
        if (r < 0)
            return r;
    }
    r = make_directory(tree, source_fd);
    if (r < 0)
        return r;
    tree->fd = openat(tree->place.dir_fd, tree->place.last,
                      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (tree->fd < 0) {
        r = linux_error(errno);
        /* There may be no descriptor left, and an empty one needs none. */
        if (unlinkat(tree->place.dir_fd, tree->place.last, AT_REMOVEDIR) < 0)
            (void)linux_remove_tree(tree->place.dir_fd, tree->place.last, &budget, NULL);
        return r;
    }
    /* Says that its owner lives: see clean.c. Some file systems have no locks. */
    (void)flock(tree->fd, LOCK_EX | LOCK_NB);
    /* A snapshot has the mode of its source. */
    if (source_fd >= 0 && fchmod(tree->fd, PRIVATE_MODE) < 0)
        return linux_error(errno);
    return linux_mount_id(tree->fd, &tree->mount_id);
}

/* Then its line in the journal stays for the next sweep. */
static bool is_left(const struct backend_root *tree)
{
    struct stat about;

    return fstatat(tree->place.dir_fd, tree->place.last, &about, AT_SYMLINK_NOFOLLOW) == 0;
}

static int stage(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                 int source_fd, struct backend_root **out_tree)
{
    struct linux_tree *staged = calloc(1, sizeof(*staged));
    struct backend_root *tree;
    int r;

    if (staged == NULL)
        return ERR_NO_MEMORY;
    staged->host = root;
    staged->lookup = *lookup;
    staged->last_parent.fd = -1;
    tree = &staged->root;
    *tree = (struct backend_root){
        .backend = root->backend,
        .fd = -1,
        .is_private = true,
        .place = LINUX_PLACE_INIT,
        .target = LINUX_PLACE_INIT,
        .journal_slot = LINUX_NO_SLOT,
        .last_parent = &staged->last_parent,
    };
    r = linux_open_parent(root, lookup, name, LINUX_LAST_RESOLVED, &tree->target);
    if (r == 0)
        r = ask_about_target(staged, note_name);
    if (r == 0) {
        tree->place.dir_fd = fcntl(tree->target.dir_fd, F_DUPFD_CLOEXEC, 0);
        r = tree->place.dir_fd < 0 ? linux_error(errno) : make_private(tree, source_fd);
    }
    if (r < 0) {
        if (tree->fd >= 0)
            linux_tree_drop(tree);
        else
            free_tree(tree, !is_left(tree));
        return r;
    }
    *out_tree = tree;
    return 0;
}

int linux_tree_stage(struct backend_root *root, const struct backend_lookup *lookup,
                     struct str name, struct backend_root **out_tree)
{
    return stage(root, lookup, name, -1, out_tree);
}

int linux_tree_snapshot(struct backend_root *root, const struct backend_lookup *lookup,
                        struct str name, struct backend_dir *dir, struct backend_root **out_tree)
{
    return stage(root, lookup, name, linux_dir_fd(dir), out_tree);
}

int linux_tree_link(struct backend_root *tree, struct str name, struct backend_dir *dir,
                    struct str component, struct authority_stat *out_from,
                    struct authority_stat *out_to)
{
    static const struct backend_lookup strict = {.follows_links = false};
    cleanup_place struct linux_place place = LINUX_PLACE_INIT;
    char target[PATH_MAX];
    struct authority_stat from;
    struct stat about;
    int r = linux_dir_read_link(dir, component, target, &from);

    if (r == 0)
        r = linux_open_parent(tree, &strict, name, LINUX_LAST_AS_IS, &place);
    if (r < 0)
        return r;
    if (symlinkat(target, place.dir_fd, place.last) < 0 ||
        fstatat(place.dir_fd, place.last, &about, AT_SYMLINK_NOFOLLOW) < 0)
        return linux_error(errno);
    *out_from = from;
    linux_fill_stat(&about, out_to);
    return 0;
}

int linux_tree_set_mode(struct backend_root *tree, struct str name, unsigned mode)
{
    static const struct backend_lookup strict = {.follows_links = false};
    cleanup_place struct linux_place place = LINUX_PLACE_INIT;
    int r = linux_open_parent(tree, &strict, name, LINUX_LAST_AS_IS, &place);

    if (r < 0)
        return r;
    if (fchmodat(place.dir_fd, place.last, mode, AT_SYMLINK_NOFOLLOW) < 0)
        return linux_error(errno);
    return 0;
}

/* ---- the end ---- */

/*
 * Whether the name still refers to our directory: others who may write there may have replaced it.
 */
static bool is_at(const struct linux_place *place, int fd)
{
    struct stat held, named;

    return fstat(fd, &held) == 0 &&
           fstatat(place->dir_fd, place->last, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

static int rename_in(const struct backend_root *tree)
{
    if (renameat2(tree->place.dir_fd, tree->place.last, tree->target.dir_fd, tree->target.last,
                  RENAME_NOREPLACE) == 0)
        return 0;
    /* EINVAL: a file system that does not know the flag. */
    if (errno != EEXIST && errno != EINVAL)
        return linux_error(errno);
    /* Without the flag a directory replaces an empty directory, and nothing else. */
    if (renameat(tree->place.dir_fd, tree->place.last, tree->target.dir_fd, tree->target.last) == 0)
        return 0;
    if (errno == EEXIST || errno == ENOTEMPTY)
        return ERR_NOT_EMPTY;
    return errno == ENOTDIR ? ERR_ALREADY_EXISTS : linux_error(errno);
}

static int put_in_place(struct backend_root *tree)
{
    int r = ask_about_target(tree_of(tree), has_kept_name);

    if (r < 0)
        return r;
    if (!is_at(&tree->place, tree->fd))
        return ERR_BUSY;
    r = rename_in(tree);
    linux_journal_moved(tree->backend->journal);
    /* Once more: between the look and the rename it may have been swapped. */
    return r < 0 || is_at(&tree->target, tree->fd) ? r : ERR_BUSY;
}

int linux_tree_publish(struct backend_root *tree, unsigned mode, bool is_synced)
{
    int r = 0;

    if (fchmod(tree->fd, mode) < 0)
        r = linux_error(errno);
    /* Once for all of it: an fsync for each of thousands of files takes seconds. */
    if (r == 0 && is_synced && syncfs(tree->fd) < 0)
        r = linux_error(errno);
    if (r == 0)
        r = put_in_place(tree);
    if (r < 0) {
        linux_tree_drop(tree);
        return r;
    }
    if (is_synced)
        r = linux_sync_dir(tree->target.dir_fd);
    free_tree(tree, true);
    return r;
}

void linux_tree_drop(struct backend_root *tree)
{
    uint64_t budget = DROPPED_MAX_ENTRIES;
    int r;

    if (tree == NULL)
        return;
    /* Removing needs descriptors, and a lack of them may be why it is dropped. */
    linux_place_done(&tree->target);
    forget_parent(tree);
    r = linux_remove_held(tree->place.dir_fd, tree->place.last, steal_fd(&tree->fd), &budget);
    /* What another process put in its place is not ours, nor for the next start. */
    free_tree(tree, r == 0 || r == ERR_NOT_FOUND);
}
