/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of the audit log: audit/format.c formats lines, audit/store.c manages the
 * files that all processes share, audit/ring.c appends to them, audit/flood.c counts refusals that
 * repeat too often, audit/file.c decides what is recorded where and when. audit/match.c prepares a
 * search, audit/logs.c opens the files, audit/scan.c reads the lines that may match, audit/query.c
 * merges the rings.
 */
#ifndef AUTHORITY_AUDIT_INTERNAL_H
#define AUTHORITY_AUDIT_INTERNAL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "gatehouse/audit.h"

enum {
    AUDIT_TIMESTAMP_BYTES = 24,             /* 2026-03-01T12:00:00.123Z */
    AUDIT_TEXT_BYTES = 256,                 /* of an id or a word from the host */
    AUDIT_CHUNK_BYTES = 64 << 10,           /* allocation step */
    AUDIT_MAX_NAME = NAME_MAX - 16,         /* leaves room for ".reads", and ".lock" or ".64" */
    AUDIT_MAX_STEM = AUDIT_MAX_NAME + 8,    /* with ".reads" */
    AUDIT_NAME_BYTES = AUDIT_MAX_STEM + 16, /* one of those names, NUL-terminated */
};

/* Separate files, so that no number of reads can rotate a change or a refusal out. */
enum audit_kind {
    AUDIT_CHANGES, /* changes and attempts, refusals, grants */
    AUDIT_READS,   /* everything else, and refusals that repeat too often */
    AUDIT_KINDS
};

/* ---- Lines ---- */

#define AUDIT_HEX_SUFFIX "Hex"

/* The subject and the root of the last line, written out: most lines have the same. */
struct audit_origin {
    enum authority_subject_type type;
    enum authority_root_kind kind;
    struct {
        bool is_there;
        char text[AUDIT_TEXT_BYTES + 1];
    } texts[4];     /* id and run of the subject, id and display name of the root */
    size_t key_len; /* of `json`, up to the value of "root"; 0: nothing is known */
    size_t len;
    char json[4 * 6 * AUDIT_TEXT_BYTES + 256]; /* an escape has six bytes */
};

enum { AUDIT_FACTS_BYTES = 1024 };

/* The line of the last intent: that of its outcome differs in the time and the outcome alone. */
struct audit_intent {
    size_t outcome_at; /* in the text; 0: nothing is known */
    size_t len;
    size_t facts_len;
    char text[1024]; /* longer lines are seldom */
    /* What the line tells. Compared whole: hosts may have other words in the same place then. */
    char facts[AUDIT_FACTS_BYTES];
};

/* What a line contains besides its event. */
struct audit_extra {
    struct audit_origin *origin; /* makes the next line quicker; or NULL */
    struct audit_intent *intent; /* the same */
    uint64_t dropped;            /* number of records before it that could not be written */
    uint64_t more;               /* number of similar ones written to the other ring */
    /*
     * Contains only what its intent had too, and the result; never needs more than the intent's
     * length plus AUDIT_OUTCOME_EXTRA_BYTES.
     */
    bool is_brief;
};
enum { AUDIT_OUTCOME_EXTRA_BYTES = 1024 };

/* Appends a record's line without its newline. */
int audit_write_record(const struct authority_event *event, const struct audit_extra *extra,
                       struct buf *out);

/* Texts sort like their times. Times outside the years 1970 to 9999 are clamped. */
void audit_timestamp(int64_t wall_ms, char out_text[AUDIT_TIMESTAMP_BYTES]);

/* Writes the decimal digits, at most 20; returns how many. */
size_t audit_digits(uint64_t number, char out_text[20]);

/* ---- The files, shared with other processes ---- */

struct audit_store {
    int dir_fd;
    int lock_fd;
    uint64_t max_bytes;
    unsigned max_files;
    unsigned lock_wait_ms;
    enum audit_sync sync;
    char stem[AUDIT_NAME_BYTES];
};

/* *store is zeroed or done; on failure it needs no audit_store_done(). */
int audit_store_init(struct audit_store *store, const struct audit_config *config,
                     enum audit_kind kind, struct err *err);
void audit_store_done(struct audit_store *store);

/*
 * Opens a file, which the user may have replaced, for reading: ERR_* unless it is a regular file
 * and no link.
 */
int audit_open_to_read(int dir_fd, const char *name, struct stat *out_about);
bool audit_name_is_usable(const char *name);
/* "audit.jsonl" or "audit.jsonl.reads". */
void audit_stem(const char *name, enum audit_kind kind, char out_stem[AUDIT_NAME_BYTES]);
/* "audit.jsonl.3"; 0 is the current file. */
void audit_file_name(const char *stem, unsigned number, char out_name[AUDIT_NAME_BYTES]);

/*
 * Locks against other processes; ERR_TIMED_OUT if one holds it for too long. All functions below
 * need it.
 */
int audit_store_lock(struct audit_store *store);
void audit_store_unlock(struct audit_store *store);

/* Opens the current file, creating it if missing. Completes an interrupted rotation. */
int audit_store_open_current(struct audit_store *store, int *out_fd);
bool audit_store_is_current(const struct audit_store *store, int fd);
/* Rotated files are made read-only, so that processes that have them open notice. */
static inline bool audit_is_sealed(const struct stat *about)
{
    return (about->st_mode & S_IWUSR) == 0;
}

/*
 * Leases at least `least` bytes of the file's allocated space to this process. Writing no more than
 * was leased never fails for lack of disk space, whatever others write.
 */
int audit_store_lease(struct audit_store *store, int fd, size_t least, size_t *out_bytes);
void audit_store_give_back(struct audit_store *store, int fd, size_t bytes);

/* Renumbers the files; the new current file has room for `least` bytes. */
int audit_store_rotate(struct audit_store *store, int fd, size_t least);

/* Frees allocated space of a sealed file, if no other process can still write there. */
void audit_store_trim(int fd);

/* ---- Appending ---- */

/* A reference-counted file: a thread may be syncing it while another moves on. */
struct audit_segment {
    int fd;
    unsigned users;
};

/* A file and its rotated predecessors. Its users have their own lock. */
struct audit_ring {
    struct audit_store store;
    struct audit_segment *segment;
    uint64_t expected_end; /* of the file, if nobody else has written; its last line is complete */
    uint64_t rotate_at;
    size_t credit;   /* leased bytes not written yet */
    size_t reserved; /* part of credit promised to outcomes */
};

/* Lines to be written. */
struct audit_lines {
    struct buf text;  /* a newline, then whole lines */
    uint64_t carried; /* lost records that the first of those lines reports */
};

/* *ring is zeroed or closed; such a ring may be closed again. */
int audit_ring_open(struct audit_ring *ring, const struct audit_config *config,
                    enum audit_kind kind, struct err *err);
void audit_ring_close(struct audit_ring *ring);

/*
 * Writes the lines and reserves `later` bytes for another one. A promised line may use its own
 * space in the old file if there is no new one. Afterwards *lines holds what was not written.
 */
int audit_ring_append(struct audit_ring *ring, struct audit_lines *lines, size_t later,
                      bool is_promised);

void audit_segment_release(struct audit_segment *segment);

/* ---- Reading ---- */

enum {
    AUDIT_BLOCK_BYTES = 64 << 10, /* read at once; longer than any line */
    AUDIT_MAX_NEEDLES = 8,
    /*
     * Clocks are set back, and processes overtake each other: lines that are out of order by up to
     * this much are still found by time.
     */
    AUDIT_DISORDER_MS = 10 * 60 * 1000,
};

/* Bytes that every matching line contains, as the log writes them. */
struct audit_needle {
    struct str text;
    struct str other; /* or these; may be empty */
};

/* A query, prepared for matching lines. */
struct audit_match {
    const struct audit_query *query;
    char since[AUDIT_TIMESTAMP_BYTES];
    char until[AUDIT_TIMESTAMP_BYTES];
    char request_id[20];
    size_t request_id_len;
    struct arena arena; /* of the needles */
    size_t needle_count;
    struct audit_needle needles[AUDIT_MAX_NEEDLES]; /* longest first */
};

/* Call audit_match_done() even on failure. The query must outlive it. */
int audit_match_init(struct audit_match *match, const struct audit_query *query);
void audit_match_done(struct audit_match *match);
/* False: this line cannot contain a matching record. */
bool audit_match_line(const struct audit_match *match, struct str line);
bool audit_match_record(const struct audit_match *match, const struct json_value *record);
/* The line's timestamp if it begins like a record; else empty. */
struct str audit_line_time(struct str line);

/* One file, and the part of it to read, in whole lines. */
struct audit_log {
    int fd;
    uint64_t from;
    uint64_t end;
    dev_t device;
    ino_t inode;
};

/* A ring's files, newest first. */
struct audit_logs {
    size_t count;
    struct audit_log files[AUDIT_MAX_FILES + 1];
    uint64_t torn; /* files that end in an incomplete line, or names that are not a file */
};

/* *logs is zeroed or done. */
int audit_logs_open(struct audit_logs *logs, const struct audit_config *config,
                    enum audit_kind kind);
void audit_logs_done(struct audit_logs *logs);
/* Restricts it to what was added since it was opened or last advanced, including new files. */
int audit_logs_advance(struct audit_logs *logs, const struct audit_config *config,
                       enum audit_kind kind);

/* Iterates over the lines of a ring that may match. */
struct audit_scan {
    const struct audit_logs *logs;
    const struct audit_match *match;
    bool is_backward;
    size_t left;      /* files not started yet */
    int fd;           /* of the present file; -1 before the first */
    uint64_t low;     /* start of its unread part */
    uint64_t high;    /* end of its unread part */
    bool is_too_long; /* inside a line that is longer than any record */
    uint64_t skipped;
    size_t found_count;
    size_t next_found;
    size_t block_end;                      /* of the lines in the block */
    uint16_t found[AUDIT_BLOCK_BYTES / 2]; /* start of each; no line is shorter than two bytes */
    char block[AUDIT_BLOCK_BYTES];
};

void audit_scan_init(struct audit_scan *scan, const struct audit_logs *logs,
                     const struct audit_match *match, bool is_backward);
/* The line without its newline, valid until the next call. ERR_NOT_FOUND at the end. */
int audit_scan_next(struct audit_scan *scan, struct str *out_line);

/* ---- Floods ---- */

enum {
    AUDIT_FLOOD_MS = 20 * 60 * 1000, /* from the first of a kind until they are counted anew */
    AUDIT_FLOOD_FIRST = 32,          /* of a kind within that time, recorded among the changes */
    AUDIT_FLOOD_KINDS = 64,          /* at a time; the last is shared by those that do not fit */
};

/* Refusals and failures of one subject, operation and code. */
struct audit_flood_kind {
    int64_t begun_ms;
    unsigned seen; /* 0: unused */
    uint64_t more; /* beyond the first, and not reported yet */
    enum authority_operation operation;
    enum authority_outcome outcome;
    int error;
    enum authority_subject_type subject_type;
    char subject_id[AUDIT_TEXT_BYTES + 1];
    /* Of the most recent one. */
    uint64_t request_id;
    enum authority_root_kind root_kind;
    char root_id[AUDIT_TEXT_BYTES + 1];
};

struct audit_flood_failing {
    int64_t begun_ms;
    unsigned count;
};

/* Zero-initialised but for the kinds, which are large and rarely used. */
struct audit_flood {
    struct audit_flood_failing failing[AUTHORITY_OPERATIONS]; /* after their intent */
    size_t initialised;                                       /* of the kinds */
    struct audit_flood_kind kinds[AUDIT_FLOOD_KINDS];
};

/* Whether this refusal or failure is among the first of its kind; else it is counted. */
bool audit_flood_admits(struct audit_flood *flood, const struct authority_event *event,
                        int64_t now_ms);

/*
 * An intent is recorded before it fails, so intents of operations that keep failing are limited as
 * well.
 */
void audit_flood_note_failed(struct audit_flood *flood, enum authority_operation operation,
                             int64_t now_ms);
bool audit_flood_is_failing(const struct audit_flood *flood, enum authority_operation operation,
                            const struct clock *clock);

/* A kind whose count must be reported now; set `more` to 0 afterwards. NULL: none. */
struct audit_flood_kind *audit_flood_to_tell(struct audit_flood *flood, int64_t now_ms,
                                             bool is_end);

#endif
