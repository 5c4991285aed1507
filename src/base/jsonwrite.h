/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing JSON as a stream of calls into a buffer; commas, quotes and escapes
 * are put in by the writer. What it produces is always valid: text that is not
 * UTF-8 is an error, or replaced where the caller asks for that.
 *
 *     json_begin_object(&w);
 *     json_key(&w, STR("path"));
 *     json_write_str(&w, path);
 *     json_end_object(&w);
 *     r = json_writer_finish(&w);
 *
 * The first error stays; later calls do nothing, so only the end is checked.
 */
#ifndef BASE_JSONWRITE_H
#define BASE_JSONWRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"

enum { JSON_WRITER_MAX_DEPTH = JSON_LARGEST_MAX_DEPTH };

struct json_writer {
    struct buf *out; /* the writer's alone until json_writer_finish() */
    char *at;        /* the next byte */
    char *limit;     /* the end of the buffer's memory */
    int error;
    unsigned depth;
    bool needs_comma;
    bool has_key;
    bool is_pretty;
    uint64_t object_levels[JSON_WRITER_MAX_DEPTH / 64]; /* a bit for each level: an object? */
};

void json_writer_init(struct json_writer *writer, struct buf *out);

/* Two-space indentation and line ends, for files that people read. */
void json_writer_set_pretty(struct json_writer *writer);

/* 0 or the first error; everything opened must be closed again, and one value written. */
int json_writer_finish(struct json_writer *writer);

void json_begin_object(struct json_writer *writer);
void json_end_object(struct json_writer *writer);
void json_begin_array(struct json_writer *writer);
void json_end_array(struct json_writer *writer);

/* The name of the member that comes next. */
void json_key(struct json_writer *writer, struct str key);

void json_write_null(struct json_writer *writer);
void json_write_bool(struct json_writer *writer, bool is_true);
void json_write_int(struct json_writer *writer, int64_t number);

/* ERR_INVALID_UTF8 if the text is not valid UTF-8. */
void json_write_str(struct json_writer *writer, struct str text);

/* Every byte that belongs to no valid character becomes U+FFFD. */
void json_write_str_lossy(struct json_writer *writer, struct str text);

/* A value that was read, whole. */
void json_write_value(struct json_writer *writer, const struct json_value *value);

/* Finished JSON, taken as it is: one whole value that somebody else has made or checked. */
void json_splice(struct json_writer *writer, struct str finished);

#endif
