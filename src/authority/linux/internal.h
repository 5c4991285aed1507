/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to the Linux backend.
 *
 *     linux/resolve.c     resolves a name below a root to a file descriptor
 *     linux/file.c        stat, reading, appending
 *     linux/stage.c       files that appear whole: writing them
 *     linux/publish.c     putting them in place
 *     linux/attributes.c  what a new file inherits from an old one
 *     linux/tree.c        trees that appear whole
 *     linux/dir.c         reading and creating directories
 *     linux/rename.c      moving within a file system, and second names for links
 *     linux/remove.c      removing, by file descriptor
 *     linux/journal.c     what must be removed after a crash; temporary workspaces
 *     linux/sweep.c       removing that, at the next start
 *     linux/known.c       doing that for all state directories of a user
 *     linux/clean.c       removing it without a journal
 *     linux/private.c     our own directories
 *     linux/watch.c       inotify
 *     linux/backend.c     the table
 */
#ifndef AUTHORITY_LINUX_INTERNAL_H
#define AUTHORITY_LINUX_INTERNAL_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "authority/backend.h"
#include "authority/names/path.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/list.h"

struct linux_journal;

/* Watches share inotify instances, and are created, read and freed in several threads. */
struct linux_watches {
    pthread_mutex_t lock; /* never held during a file system call */
    struct list hubs;
};

struct linux_backend {
    struct backend base;
    bool walks;                    /* without openat2: resolve one component at a time */
    bool is_privileged;            /* root: opening a device could have effects, so check first */
    struct linux_journal *journal; /* NULL without a state directory */
    struct linux_watches watches;
};

/* Identifies a directory, wherever it is. */
struct linux_identity {
    uint64_t device;
    uint64_t inode;
};

/* A directory and one name in it. */
struct linux_place {
    int dir_fd; /* O_RDONLY: it may have to be synced */
    bool is_dir_borrowed;
    const struct linux_identity *dir_identity; /* the root's, if borrowed; NULL: unknown */
    char last[NAME_MAX + 1];
    struct stat last_about; /* with LINUX_LAST_RESOLVED; mode 0: nothing there, or unknown */
};
#define LINUX_PLACE_INIT                                                                           \
    {                                                                                              \
        .dir_fd = -1                                                                               \
    }
void linux_place_done(struct linux_place *place);
#define cleanup_place cleanup_with(linux_place_done)

enum { LINUX_NO_SLOT = -1 };

enum { LINUX_SUBVOLUME_ROOT = 256 }; /* the inode of each on Btrfs */

struct backend_root {
    struct linux_backend *backend;
    int fd;                         /* O_RDONLY | O_DIRECTORY */
    uint64_t mount_id;              /* for walks, which cannot use RESOLVE_NO_XDEV */
    struct linux_identity identity; /* inode 0: unknown */
    /*
     * On tmpfs or the like: nothing to sync. Holds for the whole root, since no operation leaves
     * the mount.
     */
    bool is_in_memory;
    char *path; /* of the host, for the journal; NULL for trees and workspaces */
    /* A staged tree or a temporary workspace: its location and its slot in the journal. */
    bool is_private;
    struct linux_place place;  /* its own name */
    struct linux_place target; /* of a tree: its destination */
    int journal_slot;
    struct linux_last_parent *last_parent; /* of a tree, which one thread fills; else NULL */
    bool cannot_clone;                     /* into a tree: the file system has said so */
};

/* Where the last file was created: the next one often goes to the same directory. */
struct linux_last_parent {
    struct path_name name;
    int fd; /* -1: nowhere yet */
};

/* ---- linux/resolve.c ---- */

/* Whether openat2 works here with the flags that we need. */
bool linux_has_openat2(void);

/*
 * Opens `name` by the lookup's rules, on the root's own mount. `flags` as for open(2), without
 * O_CREAT; adds O_CLOEXEC. With O_PATH a link at the end may be opened itself: check the result,
 * and if links are followed, open its target.
 */
int linux_open(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
               int flags, int *out_fd);

/* Same, but follows links from the start; only if the lookup does. */
int linux_open_target(struct backend_root *root, const struct backend_lookup *lookup,
                      struct str name, int flags, int *out_fd);

enum linux_last {
    LINUX_LAST_AS_IS,    /* for removing and renaming: a link is the object itself */
    LINUX_LAST_RESOLVED, /* for writing: a link is followed, or refused; so is a dangling one */
};

/*
 * Opens the directory that contains `name`, and returns its last component. ERR_ROOT_PROTECTED for
 * the root itself.
 */
int linux_open_parent(struct backend_root *root, const struct backend_lookup *lookup,
                      struct str name, enum linux_last last, struct linux_place *out_place);

/*
 * Checks the present name of a place before something is created there: an open directory can be
 * moved meanwhile.
 */
int linux_check_place(struct backend_root *root, const struct backend_lookup *lookup,
                      const struct linux_place *place);

/* The mount of a file descriptor. */
int linux_mount_id(int fd, uint64_t *out_id);
/* ERR_CROSSES_MOUNT if it is on another mount. */
int linux_check_mount(int fd, uint64_t mount_id);

/* After a change: syncs the directory, if the file system supports that. */
int linux_sync_dir(int dir_fd);

/* Opens one component of an open directory: no link, and on the same mount. */
int linux_open_entry(const struct linux_backend *backend, int dir_fd, const char *component,
                     int flags, uint64_t mount_id, int *out_fd);

/* fstat(). */
int linux_look(int fd, struct stat *out_about);

/* ERR_* for the errno of a call on one component below an open directory. */
int linux_error(int errno_value);

/* ---- linux/file.c ---- */

/* Regular, not linked elsewhere, not too large; else the code for the reason. */
int linux_check_file(const struct stat *about, const struct backend_lookup *lookup);
void linux_fill_stat(const struct stat *about, struct authority_stat *out_stat);

/* ---- linux/publish.c ---- */

/*
 * Keeps our other processes and threads from replacing a file, or from appending to it, until the
 * descriptor is closed, which must be soon. Advisory: waits a moment at most.
 */
void linux_lock(int fd);
void linux_unlock(int fd);
/* False if somebody else holds it, or that cannot be told. */
bool linux_try_lock(int fd);
/* The same file, by device and inode. */
bool linux_is_same_file(const struct stat *a, const struct stat *b);

/* ---- linux/attributes.c ---- */

bool linux_is_of_same_owner(const struct stat *a, const struct stat *b);
/*
 * Copies owner and extended attributes as far as permitted; *new describes the new file before and
 * after.
 */
int linux_take_after(int from, const struct stat *old, int to, struct stat *new);

/* ---- linux/remove.c ---- */

/*
 * Removes `last` in dir_fd and, if it is a directory, everything below it, never through a link or
 * onto another mount than dir_fd's. *budget counts down; ERR_TOO_LARGE at 0.
 */
int linux_remove_tree(int dir_fd, const char *last, uint64_t *budget, const struct cancel *cancel);

/*
 * Removes the directory that is open as `fd`, which is closed; ERR_NOT_FOUND if `last` is another
 * one by now.
 */
int linux_remove_held(int dir_fd, const char *last, int fd, uint64_t *budget);

/* ---- linux/private.c ---- */

/* Opens our own directory (0700, owned by us), created with its parents if missing. */
int linux_open_private(int dir_fd, const char *path, int flags, int *out_fd, struct err *err);

/* ---- linux/journal.c ---- */

enum linux_leftover { LINUX_LEFTOVER_FILE, LINUX_LEFTOVER_TREE };

/*
 * Opens the journal in the state directory and removes what dead processes have left behind, as far
 * as that is quick. One file per process, locked while it lives.
 */
int linux_journal_open(const char *state_dir, struct linux_journal **out_journal, struct err *err);
void linux_journal_close(struct linux_journal *journal);

/* Removes the rest, up to max_entries; in any thread. */
void linux_journal_sweep(struct linux_journal *journal, uint64_t max_entries,
                         const struct cancel *cancel);
bool linux_journal_has_leftovers(const struct linux_journal *journal);

/* Call when a directory has moved, or was created and may reuse the inode of a removed one. */
void linux_journal_moved(struct linux_journal *journal);

/*
 * Notes, before it is created, that `last` in the place's directory may have to be removed.
 * Survives kill -9 without a system call. ERR_BUSY if all slots are in use.
 */
int linux_journal_add(struct linux_journal *journal, const struct linux_place *place,
                      const char *last, enum linux_leftover kind, int *out_slot);
void linux_journal_remove(struct linux_journal *journal, int slot);

/*
 * Files are replaced together, by exchanging their temporary names with their final ones. Notes one
 * of them, whose temporary name has a slot, before that: `leader` is the slot of one of them, noted
 * last. Until linux_journal_commit() the next start after a kill undoes all of it.
 */
void linux_journal_note_swap(struct linux_journal *journal, int slot, int leader,
                             const char *target, const struct stat *old, const struct stat *new);
void linux_journal_commit(struct linux_journal *journal, int leader);

/* A unique name: ".gatehouse-" and 24 random characters. */
enum { LINUX_TEMP_NAME_BYTES = 40 };
void linux_temp_name(char out_name[LINUX_TEMP_NAME_BYTES]);

/* Creates a directory (0700) below the state directory, removed with the journal. */
int linux_temp_make(struct backend *backend, struct backend_root **out_root);
void linux_temp_drop(struct backend_root *root);

/* ---- linux/watch.c ---- */

void linux_watches_init(struct linux_watches *all);
/* Call after the last watch was freed. */
void linux_watches_done(struct linux_watches *all);

/* ---- the rest of the table, each in the file named after it ---- */

int linux_root_open(struct backend *backend, const char *path, struct backend_root **out_root);
void linux_root_close(struct backend_root *root);
int linux_root_path(struct backend_root *root, char out_path[PATH_MAX]);
int linux_stat(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
               struct authority_stat *out_stat);
int linux_file_open(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                    struct backend_file **out_file, struct authority_stat *out_stat);
int linux_file_from_fd(struct backend *backend, const struct backend_lookup *lookup, int fd,
                       struct backend_file **out_file, struct authority_stat *out_stat);
int linux_file_read(struct backend_file *file, uint64_t offset, void *bytes, size_t size,
                    size_t *out_got);
void linux_file_close(struct backend_file *file);
int linux_file_fd(const struct backend_file *file);
/* Opens a file in an open directory, by one component. */
int linux_file_open_at(const struct linux_backend *backend, int dir_fd, uint64_t mount_id,
                       const char *last, const struct backend_lookup *lookup,
                       struct backend_file **out_file, struct authority_stat *out_stat);
int linux_append(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                 struct str bytes, bool may_create, unsigned mode, bool is_synced);
int linux_stage(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                enum backend_create create, unsigned mode, struct backend_stage **out_stage);
int linux_stage_write(struct backend_stage *stage, const void *bytes, size_t len);
int linux_stage_copy(struct backend_stage *stage, struct backend_file *file, uint64_t *budget);
int linux_stage_dress(struct backend_stage *stage, unsigned mode, struct backend_file *after);
int linux_stage_date(struct backend_stage *stage, struct backend_file *after,
                     struct authority_stat *out_stat);
int linux_stage_exchange(struct backend_stage *stage, struct authority_exchange *exchange);
int linux_stage_publish(struct backend_stage *stage, bool is_synced);
int linux_stage_publish_all(struct backend_stage **stages, size_t count, bool is_synced,
                            size_t *out_at);
void linux_stage_drop(struct backend_stage *stage);
int linux_tree_stage(struct backend_root *root, const struct backend_lookup *lookup,
                     struct str name, struct backend_root **out_tree);
int linux_tree_snapshot(struct backend_root *root, const struct backend_lookup *lookup,
                        struct str name, struct backend_dir *dir, struct backend_root **out_tree);
int linux_tree_link(struct backend_root *tree, struct str name, struct backend_dir *dir,
                    struct str component, struct authority_stat *out_from,
                    struct authority_stat *out_to);
int linux_tree_set_mode(struct backend_root *tree, struct str name, unsigned mode);
/* The target of a link in an open directory, and what it is; in dir.c. */
int linux_dir_read_link(struct backend_dir *dir, struct str component, char out_target[PATH_MAX],
                        struct authority_stat *out_stat);
int linux_dir_fd(const struct backend_dir *dir);
int linux_tree_publish(struct backend_root *tree, unsigned mode, bool is_synced);
void linux_tree_drop(struct backend_root *tree);
int linux_dir_open(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                   struct backend_dir **out_dir);
int linux_dir_open_below(struct backend_dir *dir, struct str component,
                         struct backend_dir **out_dir);
bool linux_dir_next(struct backend_dir *dir, struct str *out_component,
                    enum authority_type *out_type, int *out_error);
int linux_dir_stat(struct backend_dir *dir, struct str component, struct authority_stat *out_stat);
int linux_dir_file_open(struct backend_dir *dir, const struct backend_lookup *lookup,
                        struct str component, struct backend_file **out_file,
                        struct authority_stat *out_stat);
int linux_dir_hold_own(struct backend_dir *dir);
void linux_dir_close(struct backend_dir *dir);
int linux_mkdir(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                unsigned mode, bool is_synced);
int linux_remove(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                 enum backend_removal removal, uint64_t max_entries);
int linux_rename(struct backend_root *from_root, const struct backend_lookup *from_lookup,
                 struct str from, struct backend_root *to_root,
                 const struct backend_lookup *to_lookup, struct str to, bool may_replace);
int linux_link(struct backend_root *from_root, const struct backend_lookup *from_lookup,
               struct str from, struct backend_root *to_root,
               const struct backend_lookup *to_lookup, struct str to);
int linux_clean(struct backend_root *root, const struct cancel *cancel, uint64_t *out_removed);
int linux_watch(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                struct backend_watch **out_watch, int *out_fd);
int linux_watch_read(struct backend_watch *watch,
                     void (*report)(void *data, enum authority_change change, struct str name),
                     void *data);
void linux_watch_free(struct backend_watch *watch);

#endif
