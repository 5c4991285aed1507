/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives, internal to the authority's operations: extracting into a tree that is not visible yet,
 * and packing a directory. libarchive decodes and encodes and touches no file; the backend provides
 * and takes the bytes.
 *
 * Reading has three parts, each of which can refuse the whole archive:
 *
 *     archive_stream   bytes → entries: one known format, one known filter
 *     archive_tar/_zip parses the same bytes a second time, for what libarchive hides
 *     archive_gate     entries → names, types, counts, bytes, ratio
 *
 * Everything written has passed the gate in the same pass, so the archive may change meanwhile
 * without harm. The caller drops the tree on any error.
 */
#ifndef AUTHORITY_ARCHIVE_INTERNAL_H
#define AUTHORITY_ARCHIVE_INTERNAL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "authority/backend.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cancel.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "gatehouse/authority.h"

enum {
    ARCHIVE_BLOCK_BYTES = 256 << 10, /* one read of the archive */
    /* Names and data about them, besides the limit on entries. */
    ARCHIVE_NAMES_BYTES = 64 << 20,
    /* What libarchive may read for one entry: long names, attributes, sparse maps. */
    ARCHIVE_HEADER_BYTES = 2 << 20,
    /* Average headers and padding of an entry in the decoded stream. */
    ARCHIVE_OVERHEAD_BYTES = 4096,
    /* Below this nothing is a bomb, and small files may have any ratio. */
    ARCHIVE_RATIO_FLOOR_BYTES = 1 << 20,
};

/* ---- Limits and rules ---- */

struct archive_limits {
    uint64_t archive_bytes;
    uint64_t entries; /* files and directories on disk, including those only implied by a name */
    uint64_t total_bytes;
    uint64_t entry_bytes;
    unsigned ratio;
    unsigned depth;
};

/* Replaces 0 by the defaults. */
struct archive_limits archive_limits_from(const struct authority_archive_options *options);

struct archive_rules {
    struct archive_limits limits;
    /*
     * Deny globs and the like. Extracting: false refuses the archive with ERR_DENIED_BY_POLICY.
     * Creating: false omits it, and for a directory everything below. NULL: everything.
     */
    bool (*admits)(void *context, struct str name, bool is_directory);
    void *context;
    const struct cancel *cancel; /* may be NULL */
    /* Extracting: see struct authority_archive_options. */
    void (*progress)(void *data, uint64_t bytes, uint64_t total_bytes);
    void *progress_data;
};

/* ---- Functions for the operations ---- */

/*
 * Fills `tree`, a new root of tree_stage(). Creates directories as needed; modes are 0755 and 0644,
 * 0755 for files with an execute bit.
 */
int archive_extract(struct backend *backend, struct backend_file *archive, uint64_t archive_size,
                    struct backend_root *tree, const struct backend_lookup *lookup,
                    const struct archive_rules *rules, struct authority_archive_result *out_result,
                    struct err *err);

/*
 * Packs what is below `source` into `out`, which the caller publishes or drops. Omits symbolic
 * links and special files; fails for a file that `lookup` rejects. The caller keeps the directory,
 * which must not have been read.
 */
int archive_create(struct backend *backend, struct backend_dir *source,
                   const struct backend_lookup *lookup, struct backend_stage *out,
                   enum authority_archive_format format, const struct archive_rules *rules,
                   struct authority_archive_result *out_result, struct err *err);

/* ---- The gate (archive/admit.c) ---- */

struct archive_gate {
    const struct archive_rules *rules;
    uint64_t archive_size;
    struct authority_archive_result result; /* so far */

    /* Called for every new directory, parents first; or NULL. */
    int (*make_directory)(void *context, struct str name);
    void *context;

    uint64_t headers;  /* entries seen, including those that name nothing new */
    uint64_t declared; /* of the current entry */
    uint64_t received; /* of the current entry */

    struct arena names;
    struct map table;       /* struct known_name by folded name */
    struct str last_parent; /* known to be a directory, in this spelling */
    size_t name_len;
    char name[PATH_MAX]; /* of the current entry, normalised */
};

struct archive_item {
    struct str name; /* NUL-terminated; "" for the tree itself */
    bool is_directory;
    unsigned mode;
    uint64_t size;
};

int archive_gate_init(struct archive_gate *gate, const struct archive_rules *rules,
                      uint64_t archive_size, struct err *err);
void archive_gate_done(struct archive_gate *gate);
#define cleanup_archive_gate cleanup_with(archive_gate_done)

/* The next entry, with its name as the archive writes it. *out_item is valid until the next one. */
int archive_gate_entry(struct archive_gate *gate, struct str raw_name, bool is_directory,
                       unsigned mode, uint64_t size, struct archive_item *out_item,
                       struct err *err);
/* More content of the current entry, including holes. */
int archive_gate_bytes(struct archive_gate *gate, uint64_t count, struct err *err);
/* The current entry ends; it must have had the declared size. */
int archive_gate_entry_end(struct archive_gate *gate, struct err *err);
/* Total number of bytes that the decoder has produced. */
int archive_gate_decoded(const struct archive_gate *gate, uint64_t decoded, struct err *err);

/* Whether both are valid and the same text, in any normal form. */
bool archive_is_same_text(struct str a, struct str b);

/* Sets an error with the entry's name as the field; cut if long. */
int archive_refuse(struct err *err, int code, struct str name, const char *text);

/* ---- The second parser (archive/tar.c, archive/zip.c) ---- */

/*
 * libarchive normalises names that an archive declares as UTF-8; files keep the form in which they
 * were packed. So the second parser also provides the names, which must otherwise equal
 * libarchive's.
 */

/* Parses a tar stream in parallel to libarchive: finds NULs in names, and where entries begin. */
struct archive_tar {
    enum {
        ARCHIVE_TAR_HEADER,
        ARCHIVE_TAR_SPECIAL, /* the body of a header about the next entry */
        ARCHIVE_TAR_SPARSE,  /* further maps of an old GNU sparse file */
        ARCHIVE_TAR_BODY,
        ARCHIVE_TAR_ENDED,
        ARCHIVE_TAR_HALTED, /* found something that is refused anyway */
    } state;
    int halted_error;
    uint64_t position; /* of the next byte */
    uint64_t entry_start;
    bool is_in_entry;
    bool has_size; /* from a pax header, for the next entry */
    uint64_t size;
    uint64_t body_left;
    uint64_t padding;
    char special_type;
    struct buf special;
    bool has_path; /* from a pax header, for the next entry */
    bool has_sparse_path;
    size_t path_len;
    char path[PATH_MAX];
    struct buf names; /* of entries that libarchive has not reached */
    size_t names_read;
    size_t filled;
    unsigned char header[512];
    uint64_t entries;
    uint64_t fingerprint;
};

void archive_tar_init(struct archive_tar *tar);
void archive_tar_done(struct archive_tar *tar);
int archive_tar_scan(struct archive_tar *tar, const void *bytes, size_t len, struct err *err);
/*
 * The name that a pax header gives to this entry, counted from 0; false if none does. Call in
 * order.
 */
bool archive_tar_name(struct archive_tar *tar, uint64_t index, struct str *out_name);
/* Call when libarchive has found an entry there; both parsers must have the same sum at the end. */
uint64_t archive_tar_mix(uint64_t fingerprint, uint64_t entry_start);
int archive_tar_finish(const struct archive_tar *tar, uint64_t entries, uint64_t fingerprint,
                       struct err *err);

/* Parses the central directory and every local header of a zip file. */
struct archive_zip {
    struct backend *backend;
    struct backend_file *file;
    uint64_t file_size;
    const struct archive_rules *rules;
    uint64_t entries;
    uint64_t total_size;            /* as declared */
    struct archive_zip_name *order; /* in file order, which is libarchive's */
    struct buf names;
};
int archive_zip_check(struct archive_zip *zip, struct err *err);
void archive_zip_done(struct archive_zip *zip);
/* Counted from 0; false if there are not so many. */
bool archive_zip_name(const struct archive_zip *zip, uint64_t index, struct str *out_name);

/* ---- The stream (archive/stream.c) ---- */

struct archive_stream;

int archive_stream_open(struct backend *backend, struct backend_file *file, uint64_t size,
                        struct archive_gate *gate, struct archive_stream **out_stream,
                        struct err *err);
void archive_stream_close(struct archive_stream *stream);
/* False at the end, and on an error. The content of the last entry must have been read. */
bool archive_stream_next(struct archive_stream *stream, struct archive_item *out_item,
                         int *out_error, struct err *err);
/* A part of the content, holes as zeros; empty at its end. Valid until the next call. */
int archive_stream_read(struct archive_stream *stream, struct str *out_bytes, struct err *err);
/* Size of all entries as the archive declares it beforehand; 0 if it does not. */
uint64_t archive_stream_total(const struct archive_stream *stream);

/*
 * libarchive converts names by the thread's locale. This makes it UTF-8 while it is held; without
 * that locale only ASCII names are possible.
 */
struct archive_locale {
    void *utf8;
    void *previous;
};
void archive_locale_begin(struct archive_locale *locale);
void archive_locale_end(struct archive_locale *locale);
#define cleanup_archive_locale cleanup_with(archive_locale_end)

#endif
