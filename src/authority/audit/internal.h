/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the audit share: audit/format.c makes lines, audit/store.c
 * looks after the files that all processes share, audit/ring.c appends to them,
 * audit/flood.c counts what is refused too often, audit/file.c says what is
 * recorded where and when. audit/match.c says what a search looks for, audit/logs.c
 * opens the files, audit/scan.c reads those of their lines that can be it,
 * audit/query.c brings the rings together.
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
    AUDIT_CHUNK_BYTES = 64 << 10,           /* space is allocated in steps of this */
    AUDIT_MAX_NAME = NAME_MAX - 16,         /* leaves room for ".reads", and ".lock" or ".64" */
    AUDIT_MAX_STEM = AUDIT_MAX_NAME + 8,    /* with ".reads" */
    AUDIT_NAME_BYTES = AUDIT_MAX_STEM + 16, /* one of those names, terminated */
};

/* Nothing that reads can be repeated so often that a change or a refusal is forgotten for it. */
enum audit_kind {
    AUDIT_CHANGES, /* what changed something or was to, what was refused, grants */
    AUDIT_READS,   /* everything else, and what is refused too often */
    AUDIT_KINDS
};

/* ---- Lines ---- */

#define AUDIT_HEX_SUFFIX "Hex"

/* What a line tells besides its event. */
struct audit_extra {
    uint64_t dropped; /* so many records before it could not be written */
    uint64_t more;    /* so many like it were written to the other ring */
    /* Only what its intent had too, and the result; never needs more than the intent's length and
     * AUDIT_OUTCOME_EXTRA_BYTES. */
    bool is_brief;
};
enum { AUDIT_OUTCOME_EXTRA_BYTES = 1024 };

/* Appends a record's line without its end. */
int audit_write_record(const struct authority_event *event, const struct audit_extra *extra,
                       struct buf *out);

/* Texts compare like the times they stand for. Outside the years 1970 to 9999: the nearest one. */
void audit_timestamp(int64_t wall_ms, char out_text[AUDIT_TIMESTAMP_BYTES]);

/* The number's digits, at most 20; how many. */
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

/* Opens for reading what a person may have put there: a regular file and no link, or ERR_*. */
int audit_open_to_read(int dir_fd, const char *name, struct stat *out_about);
bool audit_name_is_usable(const char *name);
/* "audit.jsonl" or "audit.jsonl.reads". */
void audit_stem(const char *name, enum audit_kind kind, char out_stem[AUDIT_NAME_BYTES]);
/* "audit.jsonl.3"; 0 is the current file. */
void audit_file_name(const char *stem, unsigned number, char out_name[AUDIT_NAME_BYTES]);

/* Between processes; ERR_TIMED_OUT when one holds it for too long. All below need it. */
int audit_store_lock(struct audit_store *store);
void audit_store_unlock(struct audit_store *store);

/* The current file, created where it is missing. Finishes what a killed rotation left. */
int audit_store_open_current(struct audit_store *store, int *out_fd);
bool audit_store_is_current(const struct audit_store *store, int fd);
/* Rotated files are read-only, which is how those who still have them open see it. */
static inline bool audit_is_sealed(const struct stat *about)
{
    return (about->st_mode & S_IWUSR) == 0;
}

/*
 * At least `least` bytes of the file's allocated space for this process alone. Who writes no more
 * than was leased never meets a full disk, whatever others write.
 */
int audit_store_lease(struct audit_store *store, int fd, size_t least, size_t *out_bytes);
void audit_store_give_back(struct audit_store *store, int fd, size_t bytes);

/* Moves the files up one number; the new current file has room for `least` bytes. */
int audit_store_rotate(struct audit_store *store, int fd, size_t least);

/* Frees space that was allocated to a sealed file, if nobody else can still write there. */
void audit_store_trim(int fd);

/* ---- Appending ---- */

/* A file with those who still use it: a thread may be syncing it while another moves on. */
struct audit_segment {
    int fd;
    unsigned users;
};

/* A file and the older ones that it was rotated to. Its users have a lock of their own. */
struct audit_ring {
    struct audit_store store;
    struct audit_segment *segment;
    uint64_t expected_end; /* of the file, if nobody else has written; its last line is whole */
    uint64_t rotate_at;
    size_t credit;   /* leased bytes that were not written yet */
    size_t reserved; /* of those, promised to outcomes */
};

/* What is to be written. */
struct audit_lines {
    struct buf text;  /* a line end, then whole lines */
    uint64_t carried; /* lost records that the first of those lines tells of */
};

/* *ring is zeroed or closed; closing one like that is fine. */
int audit_ring_open(struct audit_ring *ring, const struct audit_config *config,
                    enum audit_kind kind, struct err *err);
void audit_ring_close(struct audit_ring *ring);

/*
 * Writes the lines and leaves `later` bytes for another. What was promised may use its own space
 * in the old file when there is no new one. Afterwards *lines holds what was not written.
 */
int audit_ring_append(struct audit_ring *ring, struct audit_lines *lines, size_t later,
                      bool is_promised);

void audit_segment_release(struct audit_segment *segment);

/* ---- Reading ---- */

enum {
    AUDIT_BLOCK_BYTES = 64 << 10, /* of a file, read at once; longer than any line */
    AUDIT_MAX_NEEDLES = 8,
    /* Clocks are set back, and processes overtake each other: lines that are so far out of order
     * are found by their time all the same. */
    AUDIT_DISORDER_MS = 10 * 60 * 1000,
};

/* Bytes that stand in every line that can match, as the record writes them. */
struct audit_needle {
    struct str text;
    struct str other; /* or these; may be empty */
};

/* A query, ready to be held against lines. */
struct audit_match {
    const struct audit_query *query;
    char since[AUDIT_TIMESTAMP_BYTES];
    char until[AUDIT_TIMESTAMP_BYTES];
    char request_id[20];
    size_t request_id_len;
    struct arena arena; /* of the needles */
    size_t needle_count;
    struct audit_needle needles[AUDIT_MAX_NEEDLES]; /* the longest first */
};

/* Done with in any case. The query must outlive it. */
int audit_match_init(struct audit_match *match, const struct audit_query *query);
void audit_match_done(struct audit_match *match);
/* False: no record that fits can be in this line. */
bool audit_match_line(const struct audit_match *match, struct str line);
bool audit_match_record(const struct audit_match *match, const struct json_value *record);
/* Its timestamp, where the line begins as the record's do; else empty. */
struct str audit_line_time(struct str line);

/* One file: what of it is to be read, in whole lines. */
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
    uint64_t torn; /* files with half a line at their end, and what is no file in place of one */
};

/* *logs is zeroed or done. */
int audit_logs_open(struct audit_logs *logs, const struct audit_config *config,
                    enum audit_kind kind);
void audit_logs_done(struct audit_logs *logs);
/* From now on it is what was added since it was opened or advanced, also to files that are new. */
int audit_logs_advance(struct audit_logs *logs, const struct audit_config *config,
                       enum audit_kind kind);

/* The lines of a ring that may match, one by one. */
struct audit_scan {
    const struct audit_logs *logs;
    const struct audit_match *match;
    bool is_backward;
    size_t left;      /* files that were not begun */
    int fd;           /* of the file that is being read; -1 before the first */
    uint64_t low;     /* what was not read of it begins here */
    uint64_t high;    /* and ends here */
    bool is_too_long; /* it is in the middle of a line that no record has */
    uint64_t skipped;
    size_t found_count;
    size_t next_found;
    size_t block_end;                      /* of the lines in the block */
    uint16_t found[AUDIT_BLOCK_BYTES / 2]; /* where those begin; no line is shorter than two */
    char block[AUDIT_BLOCK_BYTES];
};

void audit_scan_init(struct audit_scan *scan, const struct audit_logs *logs,
                     const struct audit_match *match, bool is_backward);
/* The line without its end, valid until the next call. ERR_NOT_FOUND when there is none. */
int audit_scan_next(struct audit_scan *scan, struct str *out_line);

/* ---- Floods ---- */

enum {
    AUDIT_FLOOD_MS = 20 * 60 * 1000, /* from the first of a kind until it may come again */
    AUDIT_FLOOD_FIRST = 32,          /* of a kind within that time, among the changes */
    AUDIT_FLOOD_KINDS = 64,          /* at a time; the last is shared by those without a place */
};

/* Refusals and failures of one subject, operation and code. */
struct audit_flood_kind {
    int64_t begun_ms;
    unsigned seen; /* 0: the place was never used */
    uint64_t more; /* beyond the first, and not told of yet */
    enum authority_operation operation;
    enum authority_outcome outcome;
    int error;
    enum authority_subject_type subject_type;
    char subject_id[AUDIT_TEXT_BYTES + 1];
    /* Of the last one. */
    uint64_t request_id;
    enum authority_root_kind root_kind;
    char root_id[AUDIT_TEXT_BYTES + 1];
};

struct audit_flood_failing {
    int64_t begun_ms;
    unsigned count;
};

/* Zeroed at birth. */
struct audit_flood {
    struct audit_flood_kind kinds[AUDIT_FLOOD_KINDS];
    struct audit_flood_failing failing[AUTHORITY_OPERATIONS]; /* after their intent */
};

/* Whether this refusal or failure is one of the first of its kind; else it is counted. */
bool audit_flood_admits(struct audit_flood *flood, const struct authority_event *event,
                        int64_t now_ms);

/* An intent is written before it fails, so intents of what keeps failing are no better. */
void audit_flood_note_failed(struct audit_flood *flood, enum authority_operation operation,
                             int64_t now_ms);
bool audit_flood_is_failing(const struct audit_flood *flood, enum authority_operation operation,
                            const struct clock *clock);

/* A kind whose count is to be told now; it is told by setting `more` to 0. NULL: none. */
struct audit_flood_kind *audit_flood_to_tell(struct audit_flood *flood, int64_t now_ms,
                                             bool is_end);

#endif
