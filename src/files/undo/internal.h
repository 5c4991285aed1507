/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the log, for its own files: undo.c (changes and their steps),
 * write.c (writing a file), held.c (small contents), print.c (how things are
 * compared), store.c (what is kept) and back.c (taking back).
 */
#ifndef FILES_UNDO_INTERNAL_H
#define FILES_UNDO_INTERNAL_H

#include <limits.h>

#include "base/list.h"
#include "files/undo/undo.h"

enum undo_kind {
    UNDO_NEW,      /* made where nothing was: a file or a tree */
    UNDO_REPLACED, /* a file got other content; the old is in the store */
    UNDO_GONE,     /* what was there is in the store */
    UNDO_MOVED,    /* from `from` to `name` */
    UNDO_MADE_DIR, /* one directory */
    UNDO_LOST,     /* was there and was not kept */
};

/* The last decimal and a NUL. */
enum { UNDO_SLOT_BYTES = 24 };

enum {
    UNDO_HELD_FILE_BYTES = 32 << 10, /* a file up to this is kept in memory, not in the store */
    UNDO_HELD_BYTES = 16 << 20,      /* of all those */
};

struct undo_step {
    struct list link;
    struct list alive_link; /* of a change that is closed: see struct undo_log */
    enum undo_kind kind;
    bool is_pending;   /* announced, and not done yet */
    bool is_tree;      /* its print is that of all below it */
    bool is_soft;      /* a directory on the way: stays if it is used by then */
    bool is_taken;     /* pending, and in the store already */
    bool is_disturbed; /* pending, failed, and perhaps put together again */
    bool is_off;       /* somebody else has changed it, or it could not be looked at */
    uint64_t before;   /* print of what was there (of a move: at `from`); 0: nothing */
    uint64_t now;      /* print of what is there, as long as only we change it */
    bool is_aside;     /* while it is taken back: not worth a word of its own */
    bool is_blocked;   /* a newer change of the same place could not be undone */
    uint64_t carrier;  /* the change that has taken it away since; 0: none */
    uint64_t slot;     /* in the store; 0: none */
    uint64_t slot_bytes;
    bool is_slot_tree;
    bool is_slot_near; /* on the same file system as the folder */
    char *held;        /* of a small file, what differs; it has slot_bytes: see held.c */
    size_t held_head;  /* so many bytes before it are those that are there now */
    size_t held_tail;  /* and so many behind it */
    bool is_partial;   /* gone only in part: what is missing comes from the store */
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
    bool is_waiting; /* was to be taken back, and waits for its place to be free */
};

struct undo_log {
    struct authority_scope *files;
    struct authority_scope *temp;  /* goes with the log, and all in it; NULL: nothing is kept */
    struct authority_scope *store; /* the same place, where modes survive */
    uint64_t store_device;
    char why_not[UNDO_NOTE_BYTES];
    uint64_t max_bytes;
    uint64_t kept_bytes;
    uint64_t held_bytes; /* of kept_bytes, in memory */
    struct buf scratch;  /* for the content that a write replaces */
    uint64_t last_slot;
    uint64_t last_id;
    struct list changes; /* oldest first */
    /*
     * Steps of closed changes whose print is compared and that no newer change has
     * carried away: those that another change may concern. Few, where the same
     * file is written again and again.
     */
    struct list alive;
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

/* `name` is `above` or lies below it. */
bool undo_is_within(struct str name, struct str above);

/* ---- print.c ---- */

/* What a walk over a thing found. */
struct undo_measure {
    uint64_t print;
    uint64_t bytes;
    uint64_t entries;
    unsigned mode;
    uint64_t device; /* of the thing itself */
    bool is_directory;
    bool has_others; /* links, devices and the like, which come along only by a rename */
};

/* Of the thing itself, or of it and all below. A missing one has the print 0 and no entries. */
int undo_measure(const struct undo_log *log, struct str name, bool is_tree,
                 struct undo_measure *out_measure);

/* Of the thing itself, which was seen already. */
void undo_measure_seen(struct str name, const struct authority_stat *about,
                       struct undo_measure *out_measure);

/* Its change is closed, or it was brought back: others may concern it. */
void undo_revive(struct undo_log *log, struct undo_step *step);
/*
 * Before `name` is changed by change `id`: what older changes left there is with that one now.
 * `seen` is how a file at `name` looks then; NULL: it is looked at.
 */
void undo_carry(struct undo_log *log, uint64_t id, struct str name,
                const struct undo_measure *seen);
/* `name` is back as it was before change `id`, perhaps as other objects. */
void undo_bring_back(struct undo_log *log, uint64_t id, struct str name);
/* Something at `name` has changed by our own hand: trees above it look different by that much. */
void undo_shift(struct undo_log *log, struct str name, uint64_t difference);
/* It could not be looked at: trees above it cannot be compared any more. */
void undo_lose_track(struct undo_log *log, struct str name);

/* ---- held.c ---- */

/* The step's file had `old` in it and has `new` by now, or soon. */
int undo_hold(struct undo_log *log, struct undo_step *step, struct str old, struct str new);
/* Puts that back, unless somebody else has changed the file: ERR_BUSY. */
int undo_held_give_back(struct undo_log *log, const struct undo_step *step,
                        const struct cancel *cancel, struct err *err);

/* ---- store.c ---- */

int undo_store_open(struct undo_log *log, struct authority *authority, struct err *err);
void undo_store_close(struct undo_log *log);

/*
 * Small files are the usual case, and a file in the store costs more than the
 * change itself: whether its content may be held in memory, and doing so.
 */
bool undo_store_can_hold(const struct undo_log *log, const struct undo_measure *measure);
int undo_store_hold(struct undo_log *log, struct undo_step *step,
                    const struct undo_measure *measure, const struct cancel *cancel);

/* Whether it would fit; the reason goes to the change that is open. */
bool undo_store_has_room(struct undo_log *log, const struct undo_measure *measure);
/* A copy of a file, or a second name of a link; the thing itself stays. */
int undo_store_copy(struct undo_log *log, struct undo_step *step,
                    const struct undo_measure *measure, const struct cancel *cancel);
/*
 * Moves whatever it is into the store. When it fails, *out_is_removal tells
 * whether the removing failed or the keeping, and all is where it was; if even
 * that failed, the step keeps a whole copy and says so (is_partial).
 */
int undo_store_take(struct undo_log *log, struct undo_step *step,
                    const struct undo_measure *measure, const struct cancel *cancel,
                    bool *out_is_removal, struct err *err);
/* Puts what the step keeps to its name, where nothing is; the store keeps it when that fails. */
int undo_store_restore(struct undo_log *log, struct undo_step *step, const struct cancel *cancel,
                       struct err *err);
/* Puts what the step keeps in place of the file at its name. */
int undo_store_replace(struct undo_log *log, struct undo_step *step, const struct cancel *cancel,
                       struct err *err);
/* The old content stands there again, as new: where its mode was lost, what is kept takes its
 * place. */
void undo_store_mend(struct undo_log *log, struct undo_step *step);
void undo_store_drop(struct undo_log *log, struct undo_step *step);
/*
 * Removes the file at the step's name if it is still what the step left there. It is looked at
 * once more when nobody can reach it by its name; ERR_BUSY when somebody was faster, and it is
 * back or, where even that fails, kept: then the step is one that brings it back.
 */
int undo_store_discard(struct undo_log *log, struct undo_step *step, const struct cancel *cancel,
                       struct err *err);

/* ---- back.c ---- */

/* The oldest change that waits goes for good, to make room; false when none does. */
bool undo_forget_waiting(struct undo_log *log);

/* ---- undo.c ---- */

/* To the open change; NULL without memory. */
struct undo_step *undo_step_add(struct undo_log *log, enum undo_kind kind, struct str name,
                                struct str from);
void undo_step_free(struct undo_log *log, struct undo_change *change, struct undo_step *step);
/* Takes it out of the list and frees it, with what it keeps. */
void undo_change_drop(struct undo_log *log, struct undo_change *change);
/* Notes why the open change will not be undoable; the first reason stays. */
void undo_set_lost(struct undo_change *change, const char *why);

#endif
