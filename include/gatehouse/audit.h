/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record on disk: JSON lines, appended, rotated by size. An intent goes into
 * space that is allocated beforehand, so that a full disk refuses a change
 * before it happens and not after. A listener for authority_add_listener().
 *
 * Changes, refusals and grants have files of their own; everything else, and
 * what is refused too often, stands beside them in "….reads". So neither reading
 * nor being refused drives a change out.
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
    AUDIT_MAX_RECORD_BYTES = 56 << 10, /* a line without its end; nothing makes a longer one */
    AUDIT_KEPT_NAME_BYTES = 256,       /* of a name in a record that changes nothing */
    AUDIT_MAX_FILES = 64,              /* rotated ones of a kind */
};

enum audit_sync {
    AUDIT_SYNC_NEVER,   /* survives a crash of the process */
    AUDIT_SYNC_INTENTS, /* before each change: survives a power cut */
    AUDIT_SYNC_ALL,
};

struct audit_config {
    int dir_fd;       /* the directory it lives in; stays the caller's */
    const char *name; /* "audit.jsonl", and "audit.jsonl.reads"; rotated to "audit.jsonl.1", … */
    uint64_t max_bytes; /* of one file; 0: 16 MiB */
    unsigned max_files; /* rotated ones that are kept of each, at most AUDIT_MAX_FILES; 0: 8 */
    enum audit_sync sync;
    /*
     * How long to wait for another process that rotates a file or allocates space, before the
     * change is refused; 0: 5 s. A busy disk holds a process up for seconds.
     */
    unsigned lock_wait_ms;
    /*
     * Records of what changed nothing and succeeded wait in memory until there
     * are 32 KB of them, something else is recorded, or audit_file_flush(). Much
     * faster; a kill -9 takes those that wait. Changes and refusals never wait.
     */
    bool gathers_reads;
    const struct clock *clock; /* for counting refusals; NULL: the system's */
};

struct audit_file;

/* The host's directory for the record, private, made with those above it if it is missing. */
int audit_dir_open(const char *path, int *out_fd, struct err *err);

int audit_file_open(const struct audit_config *config, struct audit_file **out_file,
                    struct err *err);
void audit_file_close(struct audit_file *file);

/*
 * Writes what waits, and how often was refused what was refused too often: on a timer, say, or
 * before the program looks at its own record.
 */
void audit_file_flush(struct audit_file *file);
/* The same with all that is counted, for a program that ends and cannot close it. */
void audit_file_leave(struct audit_file *file);

/*
 * Records that could not be written and that none in the file tells of yet. Not 0 right after a
 * flush: the record cannot be kept just now, changes are refused, and what is read goes unrecorded.
 */
uint64_t audit_file_untold(struct audit_file *file);

/*
 * An authority_event_fn; `data` is the struct audit_file. 0 when the whole record is in the file
 * (and on the disk, where the policy asks for that), else ERR_NO_SPACE or ERR_AUDIT_UNAVAILABLE.
 *
 * An AUTHORITY_NOTICED is not recorded, and is 0: the watch itself was, and what a busy directory
 * tells would drive everything else out of the files.
 */
int audit_file_record(void *data, const struct authority_event *event);

/* One line without its end, as it is written; for a sink of the host's own any event. */
int audit_format(const struct authority_event *event, struct buf *out);

/*
 * What to look for; empty fields match everything. Texts are looked for in the
 * form that the record writes; lines of somebody else's making may be missed.
 */
struct audit_query {
    int64_t since_ms;      /* inclusive; 0: from the start */
    int64_t until_ms;      /* exclusive; 0: to the end */
    struct str subject_id; /* or its run */
    struct str root_id;
    struct str operation; /* by its name */
    struct str outcome;   /* by its name */
    struct str tool;
    struct str decision; /* what let it through, or what decided: policySource */
    /* By whole components, of name or destination. Of an absolute one each end counts: where the
     * root lies is not recorded. */
    struct str name_prefix;
    uint64_t request_id; /* 0: any */
    size_t max_records;  /* 0: all */
    bool newest_first;   /* else in the order of time */
};

/*
 * Reads all files, in the order of time, and calls `visit` with each record that fits; not 0 stops
 * and is returned. A torn or foreign line is skipped and counted in *out_skipped (which may be
 * NULL), unless it could be seen that it would not fit.
 */
int audit_query(const struct audit_config *config, const struct audit_query *query,
                int (*visit)(void *data, const struct json_value *record), void *data,
                uint64_t *out_skipped, struct err *err);

/* The same for who wants the lines as they are, reads them several times, or wants what comes. */
struct audit_reader;
typedef int audit_visit_fn(void *data, struct str line, const struct json_value *record);

/* The directory's descriptor stays the caller's and open; `follows` for audit_reader_follow(). */
int audit_reader_open(const struct audit_config *config, bool follows,
                      struct audit_reader **out_reader, struct err *err);
void audit_reader_close(struct audit_reader *reader);
/* All that was there when it was opened. */
int audit_reader_query(struct audit_reader *reader, const struct audit_query *query,
                       audit_visit_fn *visit, void *data, uint64_t *out_skipped, struct err *err);
/* What has come since it was opened, or since the last call, by time; whatever was rotated. */
int audit_reader_follow(struct audit_reader *reader, const struct audit_query *query,
                        audit_visit_fn *visit, void *data, uint64_t *out_skipped, struct err *err);
/* Readable when it is worth a call; for polling alone. */
int audit_reader_fd(const struct audit_reader *reader);

/* The directory of a record that is there, for reading it; ERR_NOT_FOUND. */
int audit_dir_find(const char *path, int *out_fd, struct err *err);

/* Whether it is of an operation that changes something, and has an intent before its outcome. */
bool audit_record_is_change(const struct json_value *record);

/* One line of the file as a record; ERR_INVALID_JSON for anything else. For the reader's fuzzing.
 */
int audit_parse(struct arena *arena, struct str line, const struct json_value **out_record);

/*
 * The bytes of a record's name, which is written as text or in hex: `field` is "relativePath" or
 * "destinationPath". Where the record also has "relativePathBytes", only the beginning was kept,
 * and of a command the end besides, as "relativePathEnd". False when the record has none. Of
 * records that audit_parse() has read.
 */
bool audit_record_name(const struct json_value *record, struct str field, char out_bytes[PATH_MAX],
                       size_t *out_len);

#endif
