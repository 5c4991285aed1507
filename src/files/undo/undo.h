/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The undo log of a session: changes can be undone, newest first. The old content is kept in a
 * private temporary workspace, within a budget; it is deleted with the log, or at the next start
 * after a crash.
 *
 * A change announces each of its steps to the log, and reports it afterwards:
 *
 *     undo_open(log, tool)
 *     undo_will_write(log, name, …)     keeps the present content
 *     authority_write_text(…)
 *     undo_did(log) or undo_did_not(log)
 *     undo_close(log, &note)
 *
 * If the content cannot be kept, the change is made all the same, and the note says so. Undo never
 * touches what others have changed since: every object is compared with its state right after our
 * own last change.
 *
 * One change at a time: the caller needs exclusive use of the log. Creating and freeing the log
 * needs exclusive use of the authority.
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
    /* Older changes are forgotten, and what was kept for them is deleted. */
    UNDO_MAX_CHANGES = 10000,
    UNDO_MAX_NAME_BYTES = 16 << 20,
    /* Entries of a tree that is kept, or checked for changes until its change is undone. */
    UNDO_MAX_TREE_ENTRIES = 50000,
    /* Cost of an entry in the budget, besides its bytes. */
    UNDO_ENTRY_BYTES = 256,
    /* Items of one report. */
    UNDO_MAX_TOLD = 1000,
};

/*
 * Uses the authority, `files` and the budget of the configuration, which has its defaults filled
 * in. If the authority has no state directory, the log is created but keeps nothing.
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
/* A change without steps leaves no trace. */
void undo_close(struct undo_log *log, struct undo_note *out_note);

/* Announces a step. On an error (cancelled, grant ended, no memory) the change must not be made. */
int undo_will_write(struct undo_log *log, struct str name, const struct cancel *cancel,
                    struct err *err);
/*
 * Announces the write and does it. `seen` describes what was at `name` a moment ago, with inode 0
 * if unknown: a small file is kept and replaced in one operation. Then *out_old is what was in it,
 * until the next step; else its ptr is NULL.
 */
int undo_write(struct undo_log *log, struct str name, const struct authority_stat *seen,
               struct str content, const struct cancel *cancel, struct str *out_old,
               struct err *err);
int undo_will_make_directory(struct undo_log *log, struct str name, struct err *err);
/* `to` is a file, an empty directory or missing; an empty directory may be removed. */
int undo_will_move(struct undo_log *log, struct str from, struct str to,
                   const struct cancel *cancel, struct err *err);
int undo_will_extract(struct undo_log *log, struct str name, const struct cancel *cancel,
                      struct err *err);

/* The step was done: the present state is what undo compares with later. */
void undo_did(struct undo_log *log);
/* The step was not done, and nothing has changed. */
void undo_did_not(struct undo_log *log);
/* The same, because somebody else has changed something: what is there now is not ours. */
void undo_was_too_late(struct undo_log *log);

/* Announces and removes a file, a link or a tree; moves it into the store if possible. */
int undo_delete(struct undo_log *log, struct str name, const struct cancel *cancel,
                struct err *err);

/* ---- undoing ---- */

/* One object that the newest `count` changes affected; newest first. */
struct undo_told {
    struct str tool;
    struct str name;
    struct str from;   /* of a move */
    const char *stays; /* why it cannot be undone; NULL: it can */
};
/* A nonzero return stops and is returned. */
typedef int undo_tell_fn(void *data, const struct undo_told *told);
int undo_tell(const struct undo_log *log, uint64_t count, undo_tell_fn *visit, void *data);

/* Why changes are not kept; NULL if they are. */
const char *undo_why_not(const struct undo_log *log);
/* Changes that can still be undone. */
size_t undo_remaining(const struct undo_log *log);
/* No change is known, also none that can no longer be undone. */
bool undo_is_empty(const struct undo_log *log);
/* A number that differs after each change that was added or removed. */
uint64_t undo_state(const struct undo_log *log);
/* Changes that were dropped because they were too old. */
uint64_t undo_forgotten(const struct undo_log *log);

#endif
