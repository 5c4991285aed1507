/* SPDX-License-Identifier: Apache-2.0 */
/* The Linux backend's table, and creating and freeing it. */
#include "authority/linux/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

static void free_backend(struct backend *base)
{
    /* SAFETY: base is the first member. */
    struct linux_backend *backend = (struct linux_backend *)base;

    linux_journal_close(backend->journal);
    linux_watches_done(&backend->watches);
    free(backend);
}

static bool has_leftovers(const struct backend *base)
{
    /* SAFETY: base is the first member. */
    const struct linux_backend *backend = (const struct linux_backend *)base;

    return backend->journal != NULL && linux_journal_has_leftovers(backend->journal);
}

static void sweep(struct backend *base, uint64_t max_entries, const struct cancel *cancel)
{
    /* SAFETY: base is the first member. */
    const struct linux_backend *backend = (const struct linux_backend *)base;

    if (backend->journal != NULL)
        linux_journal_sweep(backend->journal, max_entries, cancel);
}

static bool is_in_memory(int fd)
{
    struct statfs about;

    return fstatfs(fd, &about) == 0 && (about.f_type == TMPFS_MAGIC || about.f_type == RAMFS_MAGIC);
}

int linux_root_open(struct backend *backend, const char *path, struct backend_root **out_root)
{
    /* The host's own path may go through links: the host is trusted. */
    cleanup_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct backend_root *root;
    struct stat about;
    uint64_t mount_id;
    int r;

    if (fd < 0)
        return linux_error(errno);
    r = linux_mount_id(fd, &mount_id);
    if (r < 0)
        return r;
    root = calloc(1, sizeof(*root));
    if (root == NULL)
        return ERR_NO_MEMORY;
    root->path = strdup(path);
    if (root->path == NULL) {
        free(root);
        return ERR_NO_MEMORY;
    }
    /* SAFETY: the struct backend is the first member. */
    root->backend = (struct linux_backend *)backend;
    root->fd = steal_fd(&fd);
    root->mount_id = mount_id;
    if (fstat(root->fd, &about) == 0)
        root->identity = (struct linux_identity){about.st_dev, about.st_ino};
    root->is_in_memory = is_in_memory(root->fd);
    root->place = (struct linux_place)LINUX_PLACE_INIT;
    root->target = (struct linux_place)LINUX_PLACE_INIT;
    root->journal_slot = LINUX_NO_SLOT;
    *out_root = root;
    return 0;
}

void linux_root_close(struct backend_root *root)
{
    if (root == NULL)
        return;
    close(root->fd);
    free(root->path);
    free(root);
}

static const struct backend_ops ops = {
    .free = free_backend,
    .has_leftovers = has_leftovers,
    .sweep = sweep,
    .root_open = linux_root_open,
    .root_close = linux_root_close,
    .root_path = linux_root_path,
    .stat = linux_stat,
    .file_open = linux_file_open,
    .file_from_fd = linux_file_from_fd,
    .file_read = linux_file_read,
    .file_close = linux_file_close,
    .stage = linux_stage,
    .stage_write = linux_stage_write,
    .stage_copy = linux_stage_copy,
    .stage_dress = linux_stage_dress,
    .stage_date = linux_stage_date,
    .stage_exchange = linux_stage_exchange,
    .stage_publish = linux_stage_publish,
    .stage_publish_all = linux_stage_publish_all,
    .stage_drop = linux_stage_drop,
    .append = linux_append,
    .dir_open = linux_dir_open,
    .dir_open_below = linux_dir_open_below,
    .dir_next = linux_dir_next,
    .dir_stat = linux_dir_stat,
    .dir_file_open = linux_dir_file_open,
    .dir_hold_own = linux_dir_hold_own,
    .dir_close = linux_dir_close,
    .mkdir = linux_mkdir,
    .remove = linux_remove,
    .rename = linux_rename,
    .link = linux_link,
    .tree_stage = linux_tree_stage,
    .tree_snapshot = linux_tree_snapshot,
    .tree_link = linux_tree_link,
    .tree_set_mode = linux_tree_set_mode,
    .tree_publish = linux_tree_publish,
    .tree_drop = linux_tree_drop,
    .temp_make = linux_temp_make,
    .temp_drop = linux_temp_drop,
    .clean = linux_clean,
    .watch = linux_watch,
    .watch_read = linux_watch_read,
    .watch_free = linux_watch_free,
};

int linux_backend_new(const char *state_dir, bool walk_components, struct backend **out_backend,
                      struct err *err)
{
    struct linux_backend *backend = calloc(1, sizeof(*backend));
    int r;

    if (backend == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    backend->base.ops = &ops;
    backend->walks = walk_components || !linux_has_openat2();
    backend->is_privileged = geteuid() == 0;
    linux_watches_init(&backend->watches);
    if (state_dir != NULL) {
        r = linux_journal_open(state_dir, &backend->journal, err);
        if (r < 0) {
            free_backend(&backend->base);
            return r;
        }
    }
    *out_backend = &backend->base;
    return 0;
}
