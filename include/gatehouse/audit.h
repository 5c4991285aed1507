/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log on disk: JSON lines, appended, rotated by size. Space for an intent is allocated
 * beforehand, so that on a full disk a change is refused before it happens and not after. Register
 * audit_file_record() with authority_add_listener().
 *
 * Changes, refusals and grants have files of their own. Everything else, and refusals that repeat
 * too often, goes to "….reads" beside them, so that neither reads nor repeated refusals rotate
 * changes out.
 *
 * Several processes may use the same directory and name at once.
 */
#ifndef GATEHOUSE_AUDIT_H
#define GATEHOUSE_AUDIT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "gatehouse/authority.h"

enum {
    /* Of a line without its newline; no longer one is written. */
    AUDIT_MAX_RECORD_BYTES = 56 << 10,
    AUDIT_KEPT_NAME_BYTES = 256,        /* kept of a name in a record of a non-change */
    AUDIT_MAX_DETAILS_BYTES = 12 << 10, /* of a call; longer ones are left out */
    AUDIT_MAX_FILES = 64,               /* most rotated files of each kind */
};

enum audit_sync {
    AUDIT_SYNC_NEVER,   /* survives a crash of the process */
    AUDIT_SYNC_INTENTS, /* fsync before each change: survives a power cut */
    AUDIT_SYNC_ALL,
};

struct audit_config {
    int dir_fd;       /* directory of the files; the caller keeps ownership */
    const char *name; /* "audit.jsonl", and "audit.jsonl.reads"; rotated to "audit.jsonl.1", … */
    uint64_t max_bytes; /* limit of one file; 0: 16 MiB */
    unsigned max_files; /* rotated files to keep of each kind, at most AUDIT_MAX_FILES; 0: 8 */
    enum audit_sync sync;
    /*
     * How long to wait for another process that rotates a file or allocates space before refusing
     * the change; 0: 5 s. A busy disk can delay a process for seconds.
     */
    unsigned lock_wait_ms;
    /*
     * Buffers records of successful operations that changed nothing, until there are 32 KB of them,
     * something else is recorded, or audit_file_flush() is called. (Ends of calls alone also wait
     * while changes succeed.) Much faster, but a kill -9 loses
     * the buffered records. Changes and refusals are never buffered.
     */
    bool gathers_reads;
    const struct clock *clock; /* for counting refusals; NULL: the system clock */
};

struct audit_file;

/* Opens the private directory for the audit log; creates it and its parents if missing. */
int audit_dir_open(const char *path, int *out_fd, struct err *err);

int audit_file_open(const struct audit_config *config, struct audit_file **out_file,
                    struct err *err);
void audit_file_close(struct audit_file *file);

/*
 * Writes buffered records, and how often a repeated refusal occurred. Call it on a timer, or before
 * the program reads its own log.
 */
void audit_file_flush(struct audit_file *file);
/* Like audit_file_flush(), with all counts; for a program that exits and cannot close the file. */
void audit_file_leave(struct audit_file *file);

/*
 * Number of records that could not be written and that no record in the file reports yet. If it is
 * not 0 right after a flush, the log cannot be written at present: changes are refused, and reads
 * go unrecorded.
 */
uint64_t audit_file_untold(struct audit_file *file);

/*
 * An authority_event_fn; `data` is the struct audit_file. Returns 0 when the whole record is in the
 * file (and on disk, where the policy requires that), else ERR_NO_SPACE or ERR_AUDIT_UNAVAILABLE.
 * Ignores AUTHORITY_NOTICED and returns 0: the watch itself was recorded, and events of a busy
 * directory would rotate everything else out.
 */
int audit_file_record(void *data, const struct authority_event *event);

/* Formats any event as one line without its newline, as the log has it; for sinks of the host. */
int audit_format(const struct authority_event *event, struct buf *out);

/*
 * A search; empty fields match everything. Texts are compared in the form in which the log writes
 * them; lines written by other software may be missed.
 */
struct audit_query {
    int64_t since_ms;      /* inclusive; 0: from the start */
    int64_t until_ms;      /* exclusive; 0: to the end */
    struct str subject_id; /* or its run id */
    struct str root_id;
    struct str operation; /* by its name */
    struct str outcome;   /* by its name */
    struct str tool;
    struct str decision; /* what allowed or denied it: policySource */
    /*
     * Matches whole components of the name or destination. For an absolute prefix each of its
     * endings is tried, since records do not say where the root is.
     */
    struct str name_prefix;
    uint64_t request_id; /* 0: any */
    size_t max_records;  /* 0: all */
    bool newest_first;   /* else oldest first */
};

/*
 * Reads all files, oldest first, and calls `visit` with each matching record; a nonzero return
 * stops and is returned. Skips torn and foreign lines and counts them in *out_skipped (which may be
 * NULL), unless such a line clearly would not match.
 */
int audit_query(const struct audit_config *config, const struct audit_query *query,
                int (*visit)(void *data, const struct json_value *record), void *data,
                uint64_t *out_skipped, struct err *err);

/*
 * Like audit_query(), for callers that need the raw lines, query several times, or follow the log.
 */
struct audit_reader;
typedef int audit_visit_fn(void *data, struct str line, const struct json_value *record);

/*
 * The caller keeps the directory's fd and must leave it open. Set `follows` to use
 * audit_reader_follow().
 */
int audit_reader_open(const struct audit_config *config, bool follows,
                      struct audit_reader **out_reader, struct err *err);
void audit_reader_close(struct audit_reader *reader);
/* Visits the records that existed when the reader was opened. */
int audit_reader_query(struct audit_reader *reader, const struct audit_query *query,
                       audit_visit_fn *visit, void *data, uint64_t *out_skipped, struct err *err);
/*
 * Visits the records written since the reader was opened or last followed, oldest first, across
 * rotations.
 */
int audit_reader_follow(struct audit_reader *reader, const struct audit_query *query,
                        audit_visit_fn *visit, void *data, uint64_t *out_skipped, struct err *err);
/* An fd that becomes readable when audit_reader_follow() may have news; for polling only. */
int audit_reader_fd(const struct audit_reader *reader);

/* Opens the directory of an existing audit log for reading; ERR_NOT_FOUND if there is none. */
int audit_dir_find(const char *path, int *out_fd, struct err *err);

/* Whether the record's operation changes something, and so has an intent before its outcome. */
bool audit_record_is_change(const struct json_value *record);

/* Parses one line of the log; ERR_INVALID_JSON if it is no record. Public for the fuzz target. */
int audit_parse(struct arena *arena, struct str line, const struct json_value **out_record);

/*
 * The raw bytes of a name in a record from audit_parse(), which is written as text or in hex;
 * `field` is "relativePath" or "destinationPath". If the record also has "relativePathBytes", only
 * the beginning was kept; of a command also the end, as "relativePathEnd". False when the record
 * has no such name.
 */
bool audit_record_name(const struct json_value *record, struct str field, char out_bytes[PATH_MAX],
                       size_t *out_len);

#endif
