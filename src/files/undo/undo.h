/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a session's changes, so that they can be taken back, newest first.
 * What a change replaces or removes is kept in a private temporary workspace,
 * within a budget; it goes with the log, or with the next start after a crash.
 *
 * A change tells the log about each of its steps, before and after:
 *
 *     undo_open(log, tool)
 *     undo_will_write(log, name, …)     what is there now is kept
 *     authority_write_text(…)
 *     undo_did(log) or undo_did_not(log)
 *     undo_close(log, &note)
 *
 * What cannot be kept is done all the same, and the note says so. Taking back
 * never touches what somebody else has changed since: every object is compared
 * with what it was right after our own last change.
 *
 * One change at a time: whoever changes something has the log to itself. Making
 * and freeing the log has the whole authority to itself.
 */
#ifndef FILES_UNDO_UNDO_H
#define FILES_UNDO_UNDO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsonwrite.h"
#include "base/str.h"
#include "files/toolbox.h"

struct undo_log;

enum {
    /* Older changes than these are forgotten, with what was kept for them. */
    UNDO_MAX_CHANGES = 10000,
    UNDO_MAX_NAME_BYTES = 16 << 20,
    /* Of a tree that is kept, or watched over until its change is undone. */
    UNDO_MAX_TREE_ENTRIES = 50000,
    /* What an entry costs of the budget besides its bytes. */
    UNDO_ENTRY_BYTES = 256,
    /* Items of one report. */
    UNDO_MAX_TOLD = 1000,
};

/*
 * Of the configuration, which has its defaults filled in, it uses the authority,
 * `files` and the budget. An authority without a state directory has no place
 * for it: then the log is made and keeps nothing.
 */
int undo_log_new(const struct toolbox_config *config, struct undo_log **out_log, struct err *err);
void undo_log_free(struct undo_log *log);

/* ---- one change ---- */

enum { UNDO_NOTE_BYTES = 160 };

struct undo_note {
    bool is_lost; /* the change was made and cannot be undone */
    char text[UNDO_NOTE_BYTES];
};

void undo_open(struct undo_log *log, struct str tool);
/* Without steps it leaves no trace. */
void undo_close(struct undo_log *log, struct undo_note *out_note);

/*
 * What is about to happen. An error means that the change must not be made:
 * cancelled, the grant is over, no memory.
 */
int undo_will_write(struct undo_log *log, struct str name, const struct cancel *cancel,
                    struct err *err);
/*
 * Announces it, and writes it. `seen` is what was at `name` a moment ago, its inode 0 if that
 * is not known: a small file is kept and replaced in one go.
 */
int undo_write(struct undo_log *log, struct str name, const struct authority_stat *seen,
               struct str content, const struct cancel *cancel, struct err *err);
int undo_will_make_directory(struct undo_log *log, struct str name, struct err *err);
/* What stands at `to` is a file, an empty directory or missing; the latter may be taken away. */
int undo_will_move(struct undo_log *log, struct str from, struct str to,
                   const struct cancel *cancel, struct err *err);
int undo_will_extract(struct undo_log *log, struct str name, const struct cancel *cancel,
                      struct err *err);

/* It happened: how things look now is what they are compared with. */
void undo_did(struct undo_log *log);
/* It did not, and all is as it was. */
void undo_did_not(struct undo_log *log);

/* Removes a file, a link or a tree itself, into the store where that can be. */
int undo_delete(struct undo_log *log, struct str name, const struct cancel *cancel,
                struct err *err);

/* The file at `name`, a step of the open change that was done, has its old content again. */
void undo_rolled_back(struct undo_log *log, struct str name);

/* ---- taking back ---- */

struct undo_report {
    struct json_writer *items; /* an array is open */
    uint64_t told;             /* past UNDO_MAX_TOLD they are only counted */
};

/*
 * The newest `count` changes, with an item for each file in the report. An error
 * is ERR_CANCELLED and the like; what was taken back by then is.
 */
int undo_take_back(struct undo_log *log, uint64_t count, const struct cancel *cancel,
                   struct undo_report *report);

/* What the newest `count` changes did, newest first, one for each thing that was changed. */
struct undo_told {
    struct str tool;
    struct str name;
    struct str from;   /* of a move */
    const char *stays; /* why it cannot be undone; NULL: it can */
};
/* Not 0 stops, and is returned. */
typedef int undo_tell_fn(void *data, const struct undo_told *told);
int undo_tell(const struct undo_log *log, uint64_t count, undo_tell_fn *visit, void *data);

/* NULL when changes are kept; else why they are not. */
const char *undo_why_not(const struct undo_log *log);
/* Changes that can still be undone. */
size_t undo_remaining(const struct undo_log *log);
/* Another number as soon as a change came or went. */
uint64_t undo_state(const struct undo_log *log);
/* Changes that were too old to be kept any longer. */
uint64_t undo_forgotten(const struct undo_log *log);

#endif
