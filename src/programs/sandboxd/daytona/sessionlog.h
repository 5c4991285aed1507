/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of a command of a session, as the API sends it: bytes of both streams as they came,
 * and before each change of the stream three bytes that name it, 01 01 01 for standard output and
 * 02 02 02 for standard error. The oldest bytes are dropped beyond a limit.
 */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_SESSIONLOG_H
#define PROGRAMS_SANDBOXD_DAYTONA_SESSIONLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum { SESSIONLOG_PREFIX_BYTES = 3 };

enum sessionlog_stream { SESSIONLOG_NONE, SESSIONLOG_STDOUT, SESSIONLOG_STDERR };

struct sessionlog {
    struct buf bytes;
    uint64_t dropped; /* before them */
    enum sessionlog_stream last;
};

void sessionlog_init(struct sessionlog *log);
void sessionlog_done(struct sessionlog *log);

/* Without memory the bytes are lost. */
void sessionlog_add(struct sessionlog *log, enum sessionlog_stream stream, struct str bytes);

/* Drops the oldest bytes, none from `keep` on, counted from the beginning of all. */
void sessionlog_trim(struct sessionlog *log, size_t max_bytes, uint64_t keep);

/* The position after all bytes. */
uint64_t sessionlog_end(const struct sessionlog *log);
/* What is kept from a position on; from the oldest kept byte if that is later. */
struct str sessionlog_from(const struct sessionlog *log, uint64_t position);

/* Appends the bytes of one stream, or of both, without the prefixes. */
int sessionlog_split(const struct sessionlog *log, bool has_stdout, bool has_stderr,
                     struct buf *out);

#endif
