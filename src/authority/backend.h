/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the authority asks of a disk, as a table of functions with two
 * implementations: Linux (linux/) and memory (memory/backend.c). The operations
 * above it decide what is allowed; a backend sees to it that a name stays in
 * its root at the very moment it is used, and that nothing is ever half done.
 *
 * Names have passed path.h: no empty component, no ".", no NUL, at most
 * PATH_MAX; "" is the root itself. With links rejected there is no ".." either.
 * They are NUL-terminated behind their length.
 *
 * Functions return 0 or an ERR_* code and leave outputs alone on failure.
 * All may run in several threads at once, on different handles.
 */
#ifndef AUTHORITY_BACKEND_H
#define AUTHORITY_BACKEND_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/str.h"
#include "gatehouse/authority.h"

struct backend;       /* the disk */
struct backend_root;  /* an open root */
struct backend_file;  /* an open regular file, for reading */
struct backend_stage; /* a file that is being written and not to be seen yet */
struct backend_dir;   /* a directory that is being read */
struct backend_watch;

/* How a name is to be resolved. */
struct backend_lookup {
    bool follows_links;      /* inside the root; else any link is ERR_SYMLINK_REJECTED */
    bool allows_hardlinks;   /* else a file with several names is ERR_HARDLINK_REJECTED */
    uint64_t max_file_bytes; /* 0: none; ERR_TOO_LARGE */
    /*
     * With links followed: may the name it came out at be used? Asked before the
     * file is read or changed. NULL: yes. The name is relative, like any other.
     */
    bool (*admits)(void *context, struct str resolved);
    void *context;
    /* Names matter: what is published is asked about again where its directory is by then. */
    bool is_selective;
    const struct cancel *cancel; /* looked at between system calls; may be NULL */
};

enum backend_create {
    BACKEND_CREATE_OR_REPLACE,
    BACKEND_CREATE_NEW,
    BACKEND_REPLACE_OLD,
};

struct backend_ops {
    void (*free)(struct backend *backend);

    /* What the dead have left: whether there may be more of it, and removing some. In any thread.
     */
    bool (*has_leftovers)(const struct backend *backend);
    void (*sweep)(struct backend *backend, uint64_t max_entries, const struct cancel *cancel);

    /* The host's own path. ERR_NOT_A_DIRECTORY unless it is one. */
    int (*root_open)(struct backend *backend, const char *path, struct backend_root **out_root);
    void (*root_close)(struct backend_root *root);
    /* Where the host finds it now; ERR_UNSUPPORTED in memory. */
    int (*root_path)(struct backend_root *root, char out_path[PATH_MAX]);

    /* Of the thing itself: with links rejected, of a last link too (type AUTHORITY_SYMLINK). */
    int (*stat)(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                struct authority_stat *out_stat);

    /* A regular file, or ERR_NOT_REGULAR_FILE without blocking on what it is instead. */
    int (*file_open)(struct backend_root *root, const struct backend_lookup *lookup,
                     struct str name, struct backend_file **out_file,
                     struct authority_stat *out_stat);
    /* A file that the host has opened; not closed by file_close. ERR_UNSUPPORTED in memory. */
    int (*file_from_fd)(struct backend *backend, const struct backend_lookup *lookup, int fd,
                        struct backend_file **out_file, struct authority_stat *out_stat);
    /* Up to `size` bytes at `offset`; 0 at the end. */
    int (*file_read)(struct backend_file *file, uint64_t offset, void *bytes, size_t size,
                     size_t *out_got);
    void (*file_close)(struct backend_file *file);

    /*
     * Begins a file that appears under `name` when it is published, whole, and
     * not before. The parent exists. A replaced file's mode, owner and extended
     * attributes are kept, and its own write permission is needed. Dropping
     * leaves nothing behind, nor does a kill -9 after the next start's sweep.
     */
    int (*stage)(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                 enum backend_create create, unsigned mode, struct backend_stage **out_stage);
    int (*stage_write)(struct backend_stage *stage, const void *bytes, size_t len);
    /*
     * All of `file` from its start, by reflink where that can be, holes as holes; checks
     * max_file_bytes, holes included. *budget counts down with the data alone; ERR_TOO_LARGE
     * when it is not enough, if that can be said beforehand before anything is written.
     */
    int (*stage_copy)(struct backend_stage *stage, struct backend_file *file, uint64_t *budget);
    /*
     * When all is in it: exactly this mode, whatever the umask or a file that is replaced say.
     * With `after`, also that file's extended attributes, and its owner where that may be set;
     * set-id bits only if the owner is the same then.
     */
    int (*stage_dress)(struct backend_stage *stage, unsigned mode, struct backend_file *after);
    /*
     * Of the file that will be replaced, which there is: its content, ERR_TOO_LARGE when that does
     * not fit, unless `content` is NULL. *after is filled in by stage_publish.
     */
    int (*stage_exchange)(struct backend_stage *stage, struct buf *content,
                          struct authority_stat *before, struct authority_stat *after);
    /* Frees the stage, also when it fails; then nothing has changed. */
    int (*stage_publish)(struct backend_stage *stage, bool is_synced);
    void (*stage_drop)(struct backend_stage *stage);

    /* In place; on failure the file has its old length. Creates it if `may_create`. */
    int (*append)(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                  struct str bytes, bool may_create, unsigned mode, bool is_synced);

    int (*dir_open)(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                    struct backend_dir **out_dir);
    /* A directory directly below an open one, by one component; never through a link. */
    int (*dir_open_below)(struct backend_dir *dir, struct str component,
                          struct backend_dir **out_dir);
    /* "." and ".." are left out. False at the end; an error ends it too and is in *out_error. */
    bool (*dir_next)(struct backend_dir *dir, struct str *out_component,
                     enum authority_type *out_type, int *out_error);
    /* Of an entry of this directory, links not followed. */
    int (*dir_stat)(struct backend_dir *dir, struct str component, struct authority_stat *out_stat);
    /* A regular file of this directory, by one component; never through a link. */
    int (*dir_file_open)(struct backend_dir *dir, const struct backend_lookup *lookup,
                         struct str component, struct backend_file **out_file,
                         struct authority_stat *out_stat);
    void (*dir_close)(struct backend_dir *dir);

    /* One directory; the parent exists. */
    int (*mkdir)(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                 unsigned mode, bool is_synced);

    /*
     * A file, link or empty directory; with `is_recursive` a whole tree, never
     * through a link or onto another mount. Never the root itself
     * (ERR_ROOT_PROTECTED). ERR_TOO_LARGE over max_entries.
     */
    int (*remove)(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                  bool is_recursive, uint64_t max_entries);

    /* ERR_CROSS_DEVICE leaves it to the caller to copy. Roots are of one backend. */
    int (*rename)(struct backend_root *from_root, const struct backend_lookup *from_lookup,
                  struct str from, struct backend_root *to_root,
                  const struct backend_lookup *to_lookup, struct str to, bool may_replace);

    /*
     * A second name for a link itself, where nothing is. ERR_SYMLINK_REJECTED for what is none,
     * ERR_CROSS_DEVICE as above.
     */
    int (*link)(struct backend_root *from_root, const struct backend_lookup *from_lookup,
                struct str from, struct backend_root *to_root,
                const struct backend_lookup *to_lookup, struct str to);

    /*
     * A private directory beside where `name` will be, as a root of its own;
     * files staged in it are written in place, since nobody sees them. Publishing
     * gives it `mode`, syncs the file system once, and puts it at `name`, which must
     * be missing or an empty directory (ERR_NOT_EMPTY). Whatever stands in its place
     * by then is neither published (ERR_BUSY) nor removed. Where names matter, its
     * own must be what it was: all below was asked about by it. Both functions close
     * the root.
     */
    int (*tree_stage)(struct backend_root *root, const struct backend_lookup *lookup,
                      struct str name, struct backend_root **out_tree);
    /* Of a directory in it; what is below cannot be reached afterwards where the mode says so. */
    int (*tree_set_mode)(struct backend_root *tree, struct str name, unsigned mode);
    int (*tree_publish)(struct backend_root *tree, unsigned mode, bool is_synced);
    void (*tree_drop)(struct backend_root *tree);

    /* A private directory for temporary work, removed by temp_drop or the next start's sweep. */
    int (*temp_make)(struct backend *backend, struct backend_root **out_root);
    void (*temp_drop)(struct backend_root *root);

    /*
     * ERR_UNSUPPORTED in memory. The fd is readable when there is something to read, and may
     * be when there is not.
     */
    int (*watch)(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                 struct backend_watch **out_watch, int *out_fd);
    int (*watch_read)(struct backend_watch *watch,
                      void (*report)(void *data, enum authority_change change, struct str name),
                      void *data);
    void (*watch_free)(struct backend_watch *watch);
};

/* First member of every backend's own struct. */
struct backend {
    const struct backend_ops *ops;
};

int linux_backend_new(const char *state_dir, bool walk_components, struct backend **out_backend,
                      struct err *err);
int memory_backend_new(struct backend **out_backend);

#endif
