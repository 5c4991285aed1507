/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON into a buffer by a sequence of calls; the writer adds commas, quotes and escapes. The
 * output is always valid: text that is not UTF-8 is an error, or replaced on request.
 *
 *     json_begin_object(&w);
 *     json_put_str(&w, STR("path"), path);
 *     json_end_object(&w);
 *     r = json_writer_finish(&w);
 *
 * The first error is kept and later calls do nothing, so only the end must be checked.
 */
#ifndef BASE_JSONWRITE_H
#define BASE_JSONWRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"

enum { JSON_WRITER_MAX_DEPTH = JSON_LARGEST_MAX_DEPTH };

struct json_writer {
    struct buf *out; /* used by the writer only, until json_writer_finish() */
    char *at;        /* the next byte */
    char *limit;     /* the end of the buffer's memory */
    int error;
    unsigned depth;
    bool needs_comma;
    bool has_key;
    bool is_pretty;
    uint64_t object_levels[JSON_WRITER_MAX_DEPTH / 64]; /* one bit per level: is it an object? */
};

void json_writer_init(struct json_writer *writer, struct buf *out);

/* Bytes in the buffer so far, with what was there before. */
static inline size_t json_writer_length(const struct json_writer *writer)
{
    return writer->at != NULL ? (size_t)(writer->at - writer->out->data) : 0;
}

/* Two-space indentation and newlines, for files that people read. */
void json_writer_set_pretty(struct json_writer *writer);

/* Returns 0 or the first error; everything opened must be closed, and one value written. */
int json_writer_finish(struct json_writer *writer);

void json_begin_object(struct json_writer *writer);
void json_end_object(struct json_writer *writer);
void json_begin_array(struct json_writer *writer);
void json_end_array(struct json_writer *writer);

/* The name of the next member. */
void json_key(struct json_writer *writer, struct str key);

/*
 * Same for a name that is known when we compile and needs no escapes, with its quotes and its
 * colon: copied as it is, which takes a fifth of the time. For what is written at every call.
 */
#define JSON_MADE_KEY(key) STR_LITERAL("\"" key "\":")
void json_made_key_slowly(struct json_writer *writer, struct str made);

/* Here, so that the compiler knows the length: a copy of a few bytes becomes one or two moves. */
static inline void json_made_key(struct json_writer *writer, struct str made)
{
    /* After an error there is no room. */
    if (writer->is_pretty || writer->has_key || (size_t)(writer->limit - writer->at) <= made.len) {
        json_made_key_slowly(writer, made);
        return;
    }
    *writer->at = ',';
    writer->at += writer->needs_comma;
    memcpy(writer->at, made.ptr, made.len);
    writer->at += made.len;
    writer->has_key = true;
}

void json_write_null(struct json_writer *writer);
void json_write_bool(struct json_writer *writer, bool is_true);
void json_write_int(struct json_writer *writer, int64_t number);

/* ERR_INVALID_UTF8 if the text is not valid UTF-8. */
void json_write_str(struct json_writer *writer, struct str text);

/* Every byte that belongs to no valid character becomes U+FFFD. */
void json_write_str_lossy(struct json_writer *writer, struct str text);

/* Writes a parsed value with its content. */
void json_write_value(struct json_writer *writer, const struct json_value *value);

/* Inserts finished JSON unchanged: one whole value that was made or checked elsewhere. */
void json_splice(struct json_writer *writer, struct str finished);

/* A whole member: its name, and what json_write_…() makes of the value. */
static inline void json_put_str(struct json_writer *writer, struct str key, struct str text)
{
    json_key(writer, key);
    json_write_str(writer, text);
}

static inline void json_put_str_lossy(struct json_writer *writer, struct str key, struct str text)
{
    json_key(writer, key);
    json_write_str_lossy(writer, text);
}

static inline void json_put_int(struct json_writer *writer, struct str key, int64_t number)
{
    json_key(writer, key);
    json_write_int(writer, number);
}

static inline void json_put_bool(struct json_writer *writer, struct str key, bool is_true)
{
    json_key(writer, key);
    json_write_bool(writer, is_true);
}

#endif
