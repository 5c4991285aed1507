/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The storage backend of the authority, as a table of functions with two implementations: Linux
 * (linux/) and memory (memory/backend.c). The operations above it decide what is allowed; a backend
 * ensures that a name stays in its root at the very moment it is used, and that nothing is ever
 * half done.
 *
 * Names have passed path.h: no empty component, no ".", no NUL, at most PATH_MAX; "" is the root
 * itself. If links are rejected there is no ".." either. They are NUL-terminated beyond their
 * length.
 *
 * Functions return 0 or an ERR_* code and leave outputs unchanged on failure. All may run in
 * several threads at once, on different handles.
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

struct backend;       /* the storage */
struct backend_root;  /* an open root */
struct backend_file;  /* an open regular file, for reading */
struct backend_stage; /* a file being written, not visible yet */
struct backend_dir;   /* a directory being read */
struct backend_watch;

/* How to resolve a name. */
struct backend_lookup {
    bool follows_links;      /* inside the root; else any link is ERR_SYMLINK_REJECTED */
    bool allows_hardlinks;   /* else a file with several names is ERR_HARDLINK_REJECTED */
    uint64_t max_file_bytes; /* ERR_TOO_LARGE beyond; 0: unlimited */
    /*
     * With links followed: whether the resolved name may be used. Called before the file is read or
     * changed. NULL: yes. The name is relative, like any other.
     */
    bool (*admits)(void *context, struct str resolved);
    void *context;
    /*
     * Some names are denied: check the name of a published file again, where its directory is by
     * then.
     */
    bool is_selective;
    const struct cancel *cancel; /* checked between system calls; may be NULL */
};

enum backend_removal {
    BACKEND_REMOVE_ONE,
    BACKEND_REMOVE_TREE,
    BACKEND_REMOVE_OWN_TREE, /* modes and marks that are in the way are changed */
};

enum backend_create {
    BACKEND_CREATE_OR_REPLACE,
    BACKEND_CREATE_NEW,
    BACKEND_REPLACE_OLD,
};

struct backend_ops {
    void (*free)(struct backend *backend);

    /* Leftovers of dead processes: whether there may be more, and removing some. In any thread. */
    bool (*has_leftovers)(const struct backend *backend);
    void (*sweep)(struct backend *backend, uint64_t max_entries, const struct cancel *cancel);

    /* The host's own path. ERR_NOT_A_DIRECTORY if it is not one. */
    int (*root_open)(struct backend *backend, const char *path, struct backend_root **out_root);
    void (*root_close)(struct backend_root *root);
    /* Its present path; ERR_UNSUPPORTED in memory. */
    int (*root_path)(struct backend_root *root, char out_path[PATH_MAX]);

    /* If links are rejected, a link at the end is described itself (type AUTHORITY_SYMLINK). */
    int (*stat)(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                struct authority_stat *out_stat);

    /* Opens a regular file; ERR_NOT_REGULAR_FILE for anything else, without blocking on it. */
    int (*file_open)(struct backend_root *root, const struct backend_lookup *lookup,
                     struct str name, struct backend_file **out_file,
                     struct authority_stat *out_stat);
    /* A file opened by the host; file_close does not close it. ERR_UNSUPPORTED in memory. */
    int (*file_from_fd)(struct backend *backend, const struct backend_lookup *lookup, int fd,
                        struct backend_file **out_file, struct authority_stat *out_stat);
    /* Reads up to `size` bytes at `offset`; *out_got is 0 at the end. */
    int (*file_read)(struct backend_file *file, uint64_t offset, void *bytes, size_t size,
                     size_t *out_got);
    void (*file_close)(struct backend_file *file);

    /*
     * Starts a file that appears under `name` only when it is published, complete. The parent must
     * exist. A replaced file's mode, owner and extended attributes are kept, and write permission
     * to it is required. Dropping leaves nothing behind, nor does a kill -9 after the next start's
     * sweep.
     */
    int (*stage)(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                 enum backend_create create, unsigned mode, struct backend_stage **out_stage);
    int (*stage_write)(struct backend_stage *stage, const void *bytes, size_t len);
    /*
     * Copies all of `file` from its start, by reflink if possible, holes as holes; checks
     * max_file_bytes, including holes. *budget is reduced by the data alone; ERR_TOO_LARGE if it is
     * too small, before anything is written if that can be known.
     */
    int (*stage_copy)(struct backend_stage *stage, struct backend_file *file, uint64_t *budget);
    /*
     * Call when all content was written: sets exactly this mode, regardless of the umask or a
     * replaced file. With `after`, also copies that file's extended attributes, and its owner if
     * permitted.
     */
    int (*stage_dress)(struct backend_stage *stage, unsigned mode, struct backend_file *after);
    /*
     * Call last of all: gives it the times of that file, and describes it as it will be in a
     * private tree.
     */
    int (*stage_date)(struct backend_stage *stage, struct backend_file *after,
                      struct authority_stat *out_stat);
    /*
     * About the file to be replaced, which must exist: fills in `before` and reads the content, if
     * that is wanted. Publishing fills in `after`, and with `expected` replaces nothing else: see
     * authority_exchange.
     */
    int (*stage_exchange)(struct backend_stage *stage, struct authority_exchange *exchange);
    /* Frees the stage, even on failure; then nothing has changed. */
    int (*stage_publish)(struct backend_stage *stage, bool is_synced);
    /*
     * Publishes all, each an exchange with `expected`, or none; also after a kill -9 and the next
     * start's sweep. Frees all. On failure *out_at is the one that failed.
     */
    int (*stage_publish_all)(struct backend_stage **stages, size_t count, bool is_synced,
                             size_t *out_at);
    void (*stage_drop)(struct backend_stage *stage);

    /* In place; on failure the file keeps its old length. Creates it if `may_create`. */
    int (*append)(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                  struct str bytes, bool may_create, unsigned mode, bool is_synced);

    int (*dir_open)(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                    struct backend_dir **out_dir);
    /* Opens a direct subdirectory of an open directory, by one component; never through a link. */
    int (*dir_open_below)(struct backend_dir *dir, struct str component,
                          struct backend_dir **out_dir);
    /* Skips "." and "..". False at the end; also on an error, which is in *out_error. */
    bool (*dir_next)(struct backend_dir *dir, struct str *out_component,
                     enum authority_type *out_type, int *out_error);
    /* For an entry of this directory; does not follow links. */
    int (*dir_stat)(struct backend_dir *dir, struct str component, struct authority_stat *out_stat);
    /* Opens a regular file of this directory, by one component; never through a link. */
    int (*dir_file_open)(struct backend_dir *dir, const struct backend_lookup *lookup,
                         struct str component, struct backend_file **out_file,
                         struct authority_stat *out_stat);
    /*
     * ERR_UNSUPPORTED unless it is the root of a subvolume of ours, which tree_snapshot can take.
     * From then on no directory below can be opened that belongs to somebody else or is another
     * subvolume (ERR_UNSUPPORTED), and reading leaves their times alone. NULL in memory.
     */
    int (*dir_hold_own)(struct backend_dir *dir);
    void (*dir_close)(struct backend_dir *dir);

    /* Creates one directory; the parent must exist. */
    int (*mkdir)(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                 unsigned mode, bool is_synced);

    /*
     * Removes a file, link or empty directory, or a whole tree, never through a link or onto
     * another mount. Never the root itself (ERR_ROOT_PROTECTED). ERR_TOO_LARGE over max_entries.
     */
    int (*remove)(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                  enum backend_removal removal, uint64_t max_entries);

    /* On ERR_CROSS_DEVICE the caller must copy. Both roots belong to one backend. */
    int (*rename)(struct backend_root *from_root, const struct backend_lookup *from_lookup,
                  struct str from, struct backend_root *to_root,
                  const struct backend_lookup *to_lookup, struct str to, bool may_replace);

    /*
     * Gives a link itself a second name, which must not exist. ERR_SYMLINK_REJECTED if it is no
     * link, ERR_CROSS_DEVICE as above.
     */
    int (*link)(struct backend_root *from_root, const struct backend_lookup *from_lookup,
                struct str from, struct backend_root *to_root,
                const struct backend_lookup *to_lookup, struct str to);

    /*
     * Creates a private directory beside the future `name`, as a root of its own; files staged in
     * it are written in place, since nobody sees them. Publishing gives it `mode`, syncs the file
     * system once, and moves it to `name`, which must be missing or an empty directory
     * (ERR_NOT_EMPTY). If something else has taken the private directory's place by then, that is
     * neither published (ERR_BUSY) nor removed. If some names are denied, its own name must be
     * unchanged: everything below was checked by it. Both functions close the root.
     */
    int (*tree_stage)(struct backend_root *root, const struct backend_lookup *lookup,
                      struct str name, struct backend_root **out_tree);
    /*
     * Same, but with all that is in the subvolume whose root was opened as `dir`, at one moment.
     * ERR_UNSUPPORTED if the file system cannot. NULL in memory.
     */
    int (*tree_snapshot)(struct backend_root *root, const struct backend_lookup *lookup,
                         struct str name, struct backend_dir *dir, struct backend_root **out_tree);
    /*
     * Creates a link in a private tree that leads where this entry of a directory does, and
     * describes both. ERR_NOT_FOUND if that is no link any more.
     */
    int (*tree_link)(struct backend_root *tree, struct str name, struct backend_dir *dir,
                     struct str component, struct authority_stat *out_from,
                     struct authority_stat *out_to);
    /* Of a directory in it; with a restrictive mode, what is below cannot be reached afterwards. */
    int (*tree_set_mode)(struct backend_root *tree, struct str name, unsigned mode);
    int (*tree_publish)(struct backend_root *tree, unsigned mode, bool is_synced);
    void (*tree_drop)(struct backend_root *tree);

    /* A private directory for temporary work, removed by temp_drop or the next start's sweep. */
    int (*temp_make)(struct backend *backend, struct backend_root **out_root);
    void (*temp_drop)(struct backend_root *root);

    /*
     * Removes unfinished files and trees that no living process holds; see authority_clean(). NULL
     * in memory, where nothing is left.
     */
    int (*clean)(struct backend_root *root, const struct cancel *cancel, uint64_t *out_removed);

    /*
     * ERR_UNSUPPORTED in memory. The fd is readable when there is something to read, and sometimes
     * when there is not.
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

#endif
