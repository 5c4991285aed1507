/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the memory backend share. Only they and its tests include this.
 *
 *     memory/tree.c     nodes, their names, and their cost
 *     memory/lookup.c   resolves a name below a root to a node
 *     memory/file.c     reading, staging, appending
 *     memory/dir.c      reading and making directories, removing, renaming
 *     memory/backend.c  roots, staged trees, the table
 *
 * One lock guards the whole backend. Locks otherwise exist only in the loop, but a backend's
 * operations run in any thread of the host; finer locks would gain nothing, since under this one
 * only memory is moved.
 */
#ifndef AUTHORITY_MEMORY_INTERNAL_H
#define AUTHORITY_MEMORY_INTERNAL_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "authority/backend.h"
#include "authority/names/path.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "base/map.h"
#include "base/str.h"

/* Of one backend, including staged and open objects; ERR_NO_SPACE beyond. */
#define MEMORY_MAX_BYTES ((uint64_t)256 << 20)
enum {
    MEMORY_MAX_NODES = 1 << 18,
    MEMORY_MAX_LINK_HOPS = 40, /* as on Linux */
    MEMORY_MODE_BITS = 07777,
};

struct memory_backend {
    struct backend base;
    pthread_mutex_t lock; /* guards the rest, all nodes and all handles */
    const struct clock *clock;
    /* Holds the roots, each under the host's path as if it were one name. */
    struct memory_node *top;
    uint64_t max_bytes;
    uint64_t max_nodes;
    uint64_t bytes;
    uint64_t nodes;
    uint64_t last_inode;
    uint64_t last_serial;
    uint64_t last_stamp_ns;
};

/* A file, directory, link or other object. Lives as long as a name or a handle refers to it. */
struct memory_node {
    enum authority_type type;
    unsigned refs;  /* names and handles */
    unsigned links; /* names */
    unsigned mode;
    uint64_t inode;
    uint64_t modified_ns; /* since 1970 */
    uint64_t changed_ns;
    struct buf content; /* of a file; of a link: its target */
    /* Of a directory: */
    struct memory_node *parent; /* not counted; NULL if it has no name */
    struct memory_entry *self;  /* its name there */
    struct map children;        /* struct memory_entry by name */
    struct list entries;        /* same, oldest first */
    struct list readers;        /* struct backend_dir */
    struct memory_node *next_dead;
};

/* A name in a directory. */
struct memory_entry {
    struct list node;
    struct memory_node *target; /* counted */
    uint64_t serial;            /* grows along the list */
    size_t name_len;
    char name[];
};

/* A resolved name. Points into the tree: valid while the lock is held. */
struct memory_place {
    struct memory_node *parent;
    struct memory_node *node; /* NULL: does not exist yet */
    bool is_named;    /* else it is the root, or a ".." at the end, and must not be changed */
    bool is_dangling; /* a link at the end was followed to nothing */
    size_t last_len;
    char last[NAME_MAX + 1];
};

/* The destination of something being created. */
struct memory_target {
    struct memory_node *root; /* counted, like the other; or NULL */
    struct memory_node *parent;
    struct backend_lookup lookup;
    size_t last_len;
    char last[NAME_MAX + 1];
};

struct backend_root {
    struct memory_backend *backend;
    struct memory_node *node;    /* counted */
    struct memory_target target; /* of a staged tree */
    struct path_name name;       /* of a staged tree: its name when it was begun */
};

struct backend_dir {
    struct list node; /* in the directory's readers */
    struct memory_backend *backend;
    struct memory_node *directory; /* counted */
    struct list *next;             /* next entry to show, or the list's head */
    /* Later entries are not shown, or a reader that renames would never end. */
    uint64_t last_serial;
    char name[NAME_MAX + 1]; /* the last one shown, which may be gone */
};

/* ---- The lock, held until the end of the block ---- */

static inline struct memory_backend *memory_lock(struct memory_backend *backend)
{
    pthread_mutex_lock(&backend->lock);
    return backend;
}

static inline void memory_unlock_(struct memory_backend **backend)
{
    pthread_mutex_unlock(&(*backend)->lock);
}
#define MEMORY_LOCKED(backend)                                                                     \
    cleanup_with(memory_unlock_) struct memory_backend *locked_ __attribute__((unused)) =          \
        memory_lock(backend)

/* ---- memory/tree.c; the lock is held ---- */

/* With one reference, for the caller. */
int memory_node_new(struct memory_backend *backend, enum authority_type type, unsigned mode,
                    struct memory_node **out_node);
struct memory_node *memory_ref(struct memory_node *node);
/* The last reference frees the node and everything that only it holds. NULL is fine. */
void memory_unref(struct memory_backend *backend, struct memory_node *node);

/* Appends everything or nothing: ERR_NO_SPACE. */
int memory_content_append(struct memory_backend *backend, struct memory_node *node,
                          const void *bytes, size_t len);

/* NULL if there is none. */
struct memory_entry *memory_entry_find(const struct memory_node *directory, struct str name);
/* Takes its own reference. ERR_NOT_FOUND in a directory that was itself removed. */
int memory_entry_add(struct memory_backend *backend, struct memory_node *directory, struct str name,
                     struct memory_node *target);
void memory_entry_remove(struct memory_backend *backend, struct memory_node *directory,
                         struct memory_entry *entry);
/* Makes an existing name refer to `target`. */
void memory_entry_retarget(struct memory_backend *backend, struct memory_node *directory,
                           struct memory_entry *entry, struct memory_node *target);

/* Removes everything below, even directories that a handle still holds. */
void memory_empty(struct memory_backend *backend, struct memory_node *directory);
/* Counts the nodes of the tree, including itself; ERR_TOO_LARGE over `max`. */
int memory_count(struct memory_node *top, uint64_t max, const struct cancel *cancel);
/* Whether `node` is `directory` or lies below it. */
bool memory_is_within(const struct memory_node *node, const struct memory_node *directory);

void memory_fill_stat(const struct memory_node *node, struct authority_stat *out_stat);

/* ---- memory/lookup.c; the lock is held ---- */

/*
 * Resolves by the lookup's rules. With `follows_last` a link at the end is followed, or refused;
 * without, it is the object itself. A missing component is an error only if it is not the last one.
 * Calls admits(), which therefore must not call the backend.
 */
int memory_resolve(const struct backend_root *root, const struct backend_lookup *lookup,
                   struct str name, bool follows_last, struct memory_place *out_place);

/* Same for an object that must exist: a link at the end is followed or refused. */
int memory_resolve_node(const struct backend_root *root, const struct backend_lookup *lookup,
                        struct str name, struct memory_node **out_node);
/* Same for something to be written: neither the root nor behind a dangling link. */
int memory_resolve_target(const struct backend_root *root, const struct backend_lookup *lookup,
                          struct str name, struct memory_place *out_place);

/* For a resolved place, with references of its own. */
void memory_target_init(struct memory_target *target, const struct backend_root *root,
                        const struct backend_lookup *lookup, const struct memory_place *place);
void memory_target_done(struct memory_backend *backend, struct memory_target *target);
static inline struct str memory_target_last(const struct memory_target *target)
{
    return (struct str){target->last, target->last_len};
}
/* Its future name, relative to its root; ERR_INVALID_PATH if that is too long. */
int memory_target_name(const struct memory_target *target, struct path_name *out_name);
/* Its directory may have been removed, or moved to where the lookup does not permit it. */
int memory_target_check(const struct memory_target *target);

/* ERR_INVALID_PATH unless it is one component. */
int memory_check_component(struct str component);

/* Regular, not linked elsewhere, not too large; else the code for the reason. */
int memory_check_file(const struct memory_node *node, const struct backend_lookup *lookup);

/* Checks the owner's bits, since there is one owner: of 0400, 0200 and 0100. */
int memory_check_mode(const struct memory_node *node, unsigned bits);

/* ---- the rest of the table ---- */

int memory_stat(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                struct authority_stat *out_stat);
int memory_file_open(struct backend_root *root, const struct backend_lookup *lookup,
                     struct str name, struct backend_file **out_file,
                     struct authority_stat *out_stat);
/* Opens a handle on the node, after checking it. */
int memory_file_open_node(struct memory_backend *backend, const struct backend_lookup *lookup,
                          struct memory_node *node, struct backend_file **out_file,
                          struct authority_stat *out_stat);
int memory_file_from_fd(struct backend *backend, const struct backend_lookup *lookup, int fd,
                        struct backend_file **out_file, struct authority_stat *out_stat);
int memory_file_read(struct backend_file *file, uint64_t offset, void *bytes, size_t size,
                     size_t *out_got);
void memory_file_close(struct backend_file *file);
int memory_stage(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                 enum backend_create create, unsigned mode, struct backend_stage **out_stage);
int memory_stage_write(struct backend_stage *stage, const void *bytes, size_t len);
int memory_stage_copy(struct backend_stage *stage, struct backend_file *file, uint64_t *budget);
int memory_stage_dress(struct backend_stage *stage, unsigned mode, struct backend_file *after);
int memory_stage_date(struct backend_stage *stage, struct backend_file *after,
                      struct authority_stat *out_stat);
int memory_stage_exchange(struct backend_stage *stage, struct authority_exchange *exchange);
int memory_stage_publish(struct backend_stage *stage, bool is_synced);
int memory_stage_publish_all(struct backend_stage **stages, size_t count, bool is_synced,
                             size_t *out_at);
void memory_stage_drop(struct backend_stage *stage);
int memory_append(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                  struct str bytes, bool may_create, unsigned mode, bool is_synced);
int memory_dir_open(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                    struct backend_dir **out_dir);
int memory_dir_open_below(struct backend_dir *dir, struct str component,
                          struct backend_dir **out_dir);
bool memory_dir_next(struct backend_dir *dir, struct str *out_component,
                     enum authority_type *out_type, int *out_error);
int memory_dir_stat(struct backend_dir *dir, struct str component, struct authority_stat *out_stat);
int memory_dir_file_open(struct backend_dir *dir, const struct backend_lookup *lookup,
                         struct str component, struct backend_file **out_file,
                         struct authority_stat *out_stat);
void memory_dir_close(struct backend_dir *dir);
int memory_mkdir(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                 unsigned mode, bool is_synced);
int memory_remove(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                  enum backend_removal removal, uint64_t max_entries);
int memory_rename(struct backend_root *from_root, const struct backend_lookup *from_lookup,
                  struct str from, struct backend_root *to_root,
                  const struct backend_lookup *to_lookup, struct str to, bool may_replace);
int memory_link(struct backend_root *from_root, const struct backend_lookup *from_lookup,
                struct str from, struct backend_root *to_root,
                const struct backend_lookup *to_lookup, struct str to);

#endif
