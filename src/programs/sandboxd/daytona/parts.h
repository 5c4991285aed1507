/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that clients upload in parts, until they are complete: in memory, up to limits for one
 * upload, one owner and all. An upload that gets no part for a while is dropped. If all of them
 * together have too much, the owner that has most loses an upload to one that has less, but none
 * that began just now: uploads that go on are done first.
 */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_PARTS_H
#define PROGRAMS_SANDBOXD_DAYTONA_PARTS_H

#include <stdint.h>

#include "base/list.h"
#include "base/str.h"
#include "store/sandboxstore.h"

enum {
    PARTS_MOST = 64,              /* of an upload */
    PARTS_MAX_BYTES = 48 << 20,   /* of an upload */
    PARTS_OWNER_BYTES = 48 << 20, /* of all of an owner */
    PARTS_ALL_BYTES = 128 << 20,  /* of all */
    PARTS_MOST_OF_OWNER = 8,      /* uploads */
    PARTS_IDLE_MS = 15 * 60 * 1000,
    PARTS_SAFE_MS = 2 * 60 * 1000, /* from its beginning on, no upload goes for another owner's */
    PARTS_ID_BYTES = 33,           /* of ids and tags, with their NUL */
    PARTS_MAX_LIST_BYTES = 64 << 10,
};

struct parts_part; /* its bytes */

struct parts_upload {
    struct list node;
    char owner[SANDBOXSTORE_ID_BYTES];
    char name[SANDBOXSTORE_KEY_BYTES];
    char id[PARTS_ID_BYTES];
    int64_t began_ms;
    int64_t touched_ms;
    size_t bytes;
    struct parts_part *parts[PARTS_MOST]; /* by number, from 1 on; or NULL */
};

struct parts {
    struct list uploads;
    size_t bytes;
};

void parts_init(struct parts *parts);
void parts_done(struct parts *parts);

/* ERR_BUSY if the owner has too many, ERR_NO_MEMORY. */
int parts_begin(struct parts *parts, const char *owner, struct str name, int64_t now_ms,
                struct parts_upload **out_upload);
/* NULL if there is none of that owner, name and id. */
struct parts_upload *parts_find(const struct parts *parts, const char *owner, struct str name,
                                struct str id);
/*
 * Keeps a part, instead of the one that had the number. ERR_INVALID_ARGUMENT for an impossible
 * number, ERR_TOO_LARGE for the upload, ERR_BUSY, ERR_NO_MEMORY.
 */
int parts_put(struct parts *parts, struct parts_upload *upload, int64_t number, struct str bytes,
              int64_t now_ms, char out_tag[PARTS_ID_BYTES]);
void parts_drop(struct parts *parts, struct parts_upload *upload);
/* Drops what nobody has added to for PARTS_IDLE_MS. */
void parts_expire(struct parts *parts, int64_t now_ms);

/*
 * The parts that a client lists, in order: <Part><PartNumber>1</PartNumber><ETag>…</ETag></Part>
 * within <CompleteMultipartUpload>. ERR_INVALID_ARGUMENT if that is not what it says, or if it is
 * not what is there.
 */
int parts_read_list(const struct parts_upload *upload, struct str xml,
                    struct str out_pieces[PARTS_MOST], size_t *out_count);

#endif
