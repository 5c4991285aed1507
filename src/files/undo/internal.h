/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to the undo log: undo.c (changes and their steps), write.c (writing a file), held.c
 * (small contents), print.c (fingerprints for comparing), store.c (what is kept) and back.c
 * (undoing).
 */
#ifndef FILES_UNDO_INTERNAL_H
#define FILES_UNDO_INTERNAL_H

#include <limits.h>

#include "base/list.h"
#include "files/undo/undo.h"

enum undo_kind {
    UNDO_NEW,      /* created where nothing was: a file or a tree */
    UNDO_REPLACED, /* a file got new content; the old one is in the store */
    UNDO_GONE,     /* removed; the object is in the store */
    UNDO_MOVED,    /* from `from` to `name` */
    UNDO_MADE_DIR, /* created one directory */
    UNDO_LOST,     /* existed and was not kept */
};

/* Room for the largest decimal and a NUL. */
enum { UNDO_SLOT_BYTES = 24 };

enum {
    /* Files up to this size are kept in memory, not in the store. */
    UNDO_HELD_FILE_BYTES = 32 << 10,
    UNDO_HELD_BYTES = 16 << 20, /* limit of all those */
};

struct undo_step {
    struct list link;
    struct list alive_link; /* of a closed change: see struct undo_log */
    struct list tree_link;  /* the same */
    enum undo_kind kind;
    bool is_pending;   /* announced, not done yet */
    bool is_tree;      /* its print covers everything below it */
    bool is_soft;      /* an implied parent directory: stays if in use by then */
    bool is_taken;     /* pending, and already in the store */
    bool is_disturbed; /* pending, failed, and perhaps put back */
    bool is_off;       /* changed by others, or could not be checked */
    uint64_t before;   /* print of what was there (of a move: at `from`); 0: nothing */
    uint64_t now;      /* print of what is there, as long as only we change it */
    bool is_aside;     /* during undo: gets no item of its own in the report */
    bool is_blocked;   /* a newer change of the same place could not be undone */
    uint64_t carrier;  /* the newer change that took it away; 0: none */
    uint64_t slot;     /* in the store; 0: none */
    uint64_t slot_bytes;
    bool is_slot_tree;
    bool is_slot_near; /* on the folder's file system */
    char *held;        /* of a small file: the bytes that differ, slot_bytes long; see held.c */
    size_t held_head;  /* number of bytes before them that are unchanged */
    size_t held_tail;  /* number of bytes after them that are unchanged */
    bool is_partial;   /* partly removed: the missing part is in the store */
    struct str name;
    struct str from;
    char text[];
};

struct undo_change {
    struct list link;
    uint64_t id;
    struct str tool;
    struct list steps; /* in the order in which they were made */
    size_t name_bytes;
    const char *lost; /* why it cannot be undone; NULL: it can */
    char lost_text[UNDO_NOTE_BYTES];
    bool is_waiting; /* to be undone, but waits until its place is free */
};

struct undo_log {
    struct authority_scope *files;
    /* Deleted with the log and all its content; NULL: nothing is kept. */
    struct authority_scope *temp;
    struct authority_scope *store; /* the same directory, where modes survive */
    uint64_t store_device;
    char why_not[UNDO_NOTE_BYTES];
    uint64_t max_bytes;
    uint64_t kept_bytes;
    uint64_t held_bytes; /* part of kept_bytes that is in memory */
    struct buf scratch;  /* for content that a write replaces */
    uint64_t last_slot;
    uint64_t last_id;
    struct list changes; /* oldest first */
    /*
     * Steps of closed changes that are compared by print and that no newer change has taken away:
     * those that another change may affect. Few, if the same file is written again and again.
     */
    struct list alive;
    struct list trees; /* those of them that are trees */
    size_t change_count;
    size_t lost_count;
    size_t name_bytes;
    uint64_t forgotten;
    struct undo_change *open;
};

static inline struct undo_step *undo_step_of(struct list *node)
{
    return list_entry(node, struct undo_step, link);
}

static inline struct undo_change *undo_change_of(struct list *node)
{
    return list_entry(node, struct undo_change, link);
}

/* ---- print.c ---- */

/* Result of a walk over an object. */
struct undo_measure {
    uint64_t print;
    uint64_t bytes;
    uint64_t entries;
    unsigned mode;
    uint64_t device; /* of the object itself */
    bool is_directory;
    bool has_others; /* links, devices and the like, which only a rename can move */
};

/* Measures the object, or the whole tree below it. A missing one has print 0 and no entries. */
int undo_measure(const struct undo_log *log, struct str name, bool is_tree,
                 struct undo_measure *out_measure);

/* Same, for one object whose stat is known. */
void undo_measure_seen(struct str name, const struct authority_stat *about,
                       struct undo_measure *out_measure);

/* The step's change was closed, or the step was brought back: newer changes may affect it. */
void undo_revive(struct undo_log *log, struct undo_step *step);
/* The opposite: none does any more. */
void undo_step_forget(struct undo_step *step);
/*
 * Call before change `id` changes `name`: what older changes left there now belongs to it. `seen`
 * is the measure of the file at `name`; NULL: it is measured here.
 */
void undo_carry(struct undo_log *log, uint64_t id, struct str name,
                const struct undo_measure *seen);
/* `name` is again as it was before change `id`, perhaps as new objects. */
void undo_bring_back(struct undo_log *log, uint64_t id, struct str name);
/* Change `id` did not change it: what older changes left there is compared as before. */
void undo_uncarry(struct undo_log *log, uint64_t id, struct str name);
/* As undo_bring_back(), and trees above it are told: before, it was `was` there. */
void undo_follow(struct undo_log *log, uint64_t id, struct str name, uint64_t was);
/* We changed something at `name` ourselves: adjusts the prints of the trees above it. */
void undo_shift(struct undo_log *log, struct str name, uint64_t difference);
/* `name` could not be measured: the trees above it can no longer be compared. */
void undo_lose_track(struct undo_log *log, struct str name);

/* ---- held.c ---- */

/* Keeps in memory that the step's file had the content `old`, and has or will have `new`. */
int undo_hold(struct undo_log *log, struct undo_step *step, struct str old, struct str new);
/* Restores the held content; ERR_BUSY if someone else has changed the file. */
int undo_held_give_back(struct undo_log *log, const struct undo_step *step,
                        const struct cancel *cancel, struct err *err);

/* ---- store.c ---- */

int undo_store_open(struct undo_log *log, struct authority *authority, struct err *err);
void undo_store_close(struct undo_log *log);

/*
 * Whether a file's content may be held in memory, and doing so. Small files are the usual case, and
 * a file in the store costs more than the change itself.
 */
bool undo_store_can_hold(const struct undo_log *log, const struct undo_measure *measure);
int undo_store_hold(struct undo_log *log, struct undo_step *step,
                    const struct undo_measure *measure, const struct cancel *cancel);

/* Whether it fits; if not, the reason goes to the open change. */
bool undo_store_has_room(struct undo_log *log, const struct undo_measure *measure);
/* Copies a file, or gives a link a second name; the object itself stays. */
int undo_store_copy(struct undo_log *log, struct undo_step *step,
                    const struct undo_measure *measure, const struct cancel *cancel);
/*
 * Moves the object into the store. On failure, *out_is_removal tells whether removing or keeping
 * failed, and everything is where it was; if even that failed, the step keeps a whole copy and sets
 * is_partial.
 */
int undo_store_take(struct undo_log *log, struct undo_step *step,
                    const struct undo_measure *measure, const struct cancel *cancel,
                    bool *out_is_removal, struct err *err);
/* Moves what the step keeps to its name, where nothing may be; on failure the store keeps it. */
int undo_store_restore(struct undo_log *log, struct undo_step *step, const struct cancel *cancel,
                       struct err *err);
/* Replaces the file at the step's name with what the step keeps. */
int undo_store_replace(struct undo_log *log, struct undo_step *step, const struct cancel *cancel,
                       struct err *err);
void undo_store_drop(struct undo_log *log, struct undo_step *step);
/*
 * Removes the file at the step's name if it is still what the step left there. Checks it once more
 * when it is no longer reachable by its name. ERR_BUSY if someone was faster: the file is put back
 * or, if even that fails, kept, and the step becomes one that restores it.
 */
int undo_store_discard(struct undo_log *log, struct undo_step *step, const struct cancel *cancel,
                       struct err *err);

/* ---- back.c ---- */

/* Drops the oldest waiting change to make room; false if there is none. */
bool undo_forget_waiting(struct undo_log *log);

/* ---- undo.c ---- */

/* Adds a step to the open change; NULL without memory. */
struct undo_step *undo_step_add(struct undo_log *log, enum undo_kind kind, struct str name,
                                struct str from);
void undo_step_free(struct undo_log *log, struct undo_change *change, struct undo_step *step);
/* Unlinks and frees the change, with what it keeps. */
void undo_change_drop(struct undo_log *log, struct undo_change *change);
/* Notes why the open change cannot be undone; the first reason stays. */
void undo_set_lost(struct undo_change *change, const char *why);

#endif
