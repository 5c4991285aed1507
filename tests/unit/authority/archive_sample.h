/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives for tests: ordinary ones by libarchive's writer, the others block by
 * block. And a memory backend to put them in and take them out again.
 */
#ifndef TESTS_UNIT_AUTHORITY_ARCHIVE_SAMPLE_H
#define TESTS_UNIT_AUTHORITY_ARCHIVE_SAMPLE_H

#include <archive.h>
#include <archive_entry.h>

#include "authority/archive/internal.h"
#include "base/buf.h"
#include "base/str.h"

enum { SAMPLE_MAX_BYTES = 256 << 20 };

/* ---- Tar, block by block ---- */

/* A header with its checksum; 'type' as it is in the file. */
void sample_tar_header(struct buf *out, const char *name, char type, uint64_t size,
                       const char *link);
/* Bytes, filled up to a whole block. */
void sample_tar_body(struct buf *out, struct str bytes);
void sample_tar_file(struct buf *out, const char *name, struct str bytes);
void sample_tar_directory(struct buf *out, const char *name);
/* A header about the next one, of any type: GNU's long name, pax records. */
void sample_tar_special(struct buf *out, char type, struct str bytes);
void sample_pax_record(struct buf *out, const char *key, struct str value);
/* A header with one such record. */
void sample_tar_pax(struct buf *out, char type, const char *key, struct str value);
void sample_tar_end(struct buf *out);

/* ---- By libarchive ---- */

struct sample_entry {
    const char *name;
    __LA_MODE_T type; /* 0: a regular file */
    unsigned mode;    /* 0: 0644 */
    struct str content;
    const char *link; /* of a symbolic link */
};

/* format: ARCHIVE_FORMAT_*, filter: ARCHIVE_FILTER_*, options: libarchive's, or NULL. */
void sample_write(struct buf *out, int format, int filter, const char *options,
                  const struct sample_entry *entries, size_t count);
/* Packs bytes that need not be an archive. */
void sample_pack(struct buf *out, int filter, struct str bytes);

/* Replaces every occurrence; both are of one length. How many there were. */
size_t sample_patch(struct buf *bytes, struct str from, struct str to);

/* ---- Where it happens ---- */

struct sample_disk {
    struct backend *backend;
    struct backend_ops ops; /* to be changed by a test */
    struct backend_root *root;
    struct backend_lookup lookup;
    struct archive_rules rules;
    struct authority_archive_result result;
    struct err err;
    uint64_t bytes_left; /* in use after a refusal, beyond what was before */
    uint64_t nodes_left;
};

void sample_disk_init(struct sample_disk *disk);
void sample_disk_done(struct sample_disk *disk);
#define cleanup_sample_disk cleanup_with(sample_disk_done)

/* Into "out": staged, extracted, published. On a refusal the tree is dropped, as operations do. */
int sample_extract(struct sample_disk *disk, struct str archive);
/* Fails the test unless it was refused so, with words, and left nothing anywhere. */
void sample_check_refused(struct sample_disk *disk, int r, int code);
/* Both on a disk of their own; limits may be NULL. */
void sample_refuses(struct str archive, const struct archive_limits *limits, int code);
void sample_accepts(struct str archive, const struct archive_limits *limits);
/* On this disk. */
void sample_extract_or_fail(struct sample_disk *disk, struct str archive);
/* So many zero bytes, in `memory`. */
struct str sample_zeros(struct buf *memory, size_t len);
/* What is there, "!ERROR" for what is not; valid until the next call. */
struct str sample_content(struct sample_disk *disk, const char *name);
/* Type and permissions: "f644", "d755", "none". */
const char *sample_kind(struct sample_disk *disk, const char *name);

#endif
