/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is remembered about the copy of a project: where it came from, what was left out, and what
 * each file looked like, here and there, when both were last known to be the same. A text of lines
 * with percent-encoded names; see docs/internals/copies.md.
 */
#ifndef COPIES_RECORD_H
#define COPIES_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "gatehouse/authority.h"

enum {
    COPIES_MAX_ENTRIES = 1000000,
    COPIES_MAX_RECORD_BYTES = 512 << 20,
    COPIES_MAX_LEFT_OUT = 1000, /* names; beyond that they are only counted */
};

/* How a file is recognised as unchanged without reading it. */
struct copies_print {
    bool is_there;
    uint64_t size;
    uint64_t changed_ns;
    uint64_t inode;
};

struct copies_entry {
    struct str name;
    enum authority_type type;
    struct copies_print original;
    struct copies_print copy;
};

struct copies_record {
    struct str original; /* absolute path of the project */
    int64_t created_ms;
    bool has_git;
    bool has_sensitive;
    /*
     * Both are snapshots, so that the prints of both are those of a third one, which nobody
     * changes: the entries are not written.
     */
    bool has_base;
    uint64_t left_out_count; /* files that usually hold secrets */
    struct str *left_out;    /* the first of their names */
    size_t left_out_shown;
    struct copies_entry *entries; /* by name */
    size_t count;
    size_t room;
    struct arena arena;
};

#define COPIES_RECORD_INIT                                                                         \
    {                                                                                              \
        .original = STR_EMPTY, .arena = ARENA_INIT((size_t)2 * COPIES_MAX_RECORD_BYTES)            \
    }

void copies_record_done(struct copies_record *record);
#define cleanup_record cleanup_with(copies_record_done)

/* Adds an entry at the end, with a copy of its name; sort when all are there. */
int copies_record_add(struct copies_record *record, const struct copies_entry *entry);
void copies_record_sort(struct copies_record *record);
/* Notes a name that was left out. */
int copies_record_leave_out(struct copies_record *record, struct str name);
/* Of a sorted record; NULL if there is none. */
struct copies_entry *copies_record_find(const struct copies_record *record, struct str name);

int copies_record_write(const struct copies_record *record, struct buf *out);
/* ERR_STATE_INVALID for anything that copies_record_write() does not write. */
int copies_record_parse(struct str text, struct copies_record *out_record);
/* Only what stands before the entries, for lists. */
int copies_record_parse_head(struct str text, struct copies_record *out_record);

struct copies_print copies_print_of(const struct authority_stat *about);
bool copies_is_same(const struct copies_print *a, const struct copies_print *b);

/* ---- lines of such texts, also of the notes for undo ---- */

int copies_put_name(struct buf *out, struct str name);
/* Into the arena. */
int copies_take_name(struct arena *arena, struct str encoded, struct str *out_name);

#endif
