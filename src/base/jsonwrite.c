/* SPDX-License-Identifier: Apache-2.0 */
#include "base/jsonwrite.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/hex.h"
#include "base/scan.h"
#include "base/utf8.h"

enum {
    LONGEST_ESCAPE = 6, /* \u001f */
    INT64_TEXT_BYTES = 20,
};

void json_writer_init(struct json_writer *writer, struct buf *out)
{
    *writer = (struct json_writer){.out = out};
    if (out->data != NULL) {
        writer->at = out->data + out->len;
        writer->limit = out->data + out->capacity;
    }
}

void json_writer_set_pretty(struct json_writer *writer)
{
    writer->is_pretty = true;
}

/*
 * After an error there is no room for anything, so that the usual check for room also detects
 * errors.
 */
static void fail(struct json_writer *writer, int code)
{
    if (writer->error == 0)
        writer->error = code;
    writer->limit = writer->at;
}

/* Updates the buffer's own length, which lags behind while the writer works. */
static void sync_length(struct json_writer *writer)
{
    if (writer->out->data != NULL)
        writer->out->len = (size_t)(writer->at - writer->out->data);
}

static bool make_room(struct json_writer *writer, size_t extra)
{
    int r;

    if (writer->error != 0)
        return false;
    sync_length(writer);
    r = buf_reserve(writer->out, extra);
    if (r < 0) {
        fail(writer, r);
        return false;
    }
    assert(writer->out->data != NULL);
    writer->at = writer->out->data + writer->out->len;
    writer->limit = writer->out->data + writer->out->capacity;
    return true;
}

/* Reserves `extra` bytes, not 0; false after an error. */
static inline bool reserve(struct json_writer *writer, size_t extra)
{
    return extra <= (size_t)(writer->limit - writer->at) || make_room(writer, extra);
}

static inline bool in_object(const struct json_writer *writer)
{
    unsigned level = writer->depth - 1;

    return writer->depth > 0 && (writer->object_levels[level / 64] >> (level % 64) & 1) != 0;
}

static void new_line(struct json_writer *writer)
{
    size_t spaces = (size_t)writer->depth * 2;

    if (!reserve(writer, spaces + 1))
        return;
    *writer->at++ = '\n';
    memset(writer->at, ' ', spaces);
    writer->at += spaces;
}

/* Writes the comma and newline before an item or a key, and reserves `extra` bytes. */
static inline bool separate(struct json_writer *writer, size_t extra)
{
    if (!reserve(writer, extra + 1))
        return false;
    if (writer->needs_comma)
        *writer->at++ = ',';
    if (writer->is_pretty && writer->depth > 0) {
        new_line(writer);
        return reserve(writer, extra);
    }
    return true;
}

/*
 * Writes what comes before any value, and reserves room for it. A member's value follows its key,
 * anything else needs a comma.
 */
static inline bool begin_value(struct json_writer *writer, size_t extra)
{
    if (writer->has_key) {
        writer->has_key = false;
        return reserve(writer, extra);
    }
    if (writer->error != 0)
        return false;
    assert(!in_object(writer) && "a member needs a key");
    assert((writer->depth > 0 || !writer->needs_comma) && "a document is one value");
    return separate(writer, extra);
}

static inline void end_value(struct json_writer *writer)
{
    writer->needs_comma = true;
}

static void begin_container(struct json_writer *writer, char bracket)
{
    uint64_t bit;

    if (!begin_value(writer, 1))
        return;
    if (writer->depth == JSON_WRITER_MAX_DEPTH) {
        fail(writer, ERR_JSON_DEPTH);
        return;
    }
    *writer->at++ = bracket;
    bit = (uint64_t)1 << (writer->depth % 64);
    if (bracket == '{')
        writer->object_levels[writer->depth / 64] |= bit;
    else
        writer->object_levels[writer->depth / 64] &= ~bit;
    writer->depth++;
    writer->needs_comma = false;
}

static void end_container(struct json_writer *writer, char bracket)
{
    if (writer->error != 0)
        return;
    assert(writer->depth > 0 && !writer->has_key && in_object(writer) == (bracket == '}'));
    writer->depth--;
    if (writer->is_pretty && writer->needs_comma)
        new_line(writer);
    if (!reserve(writer, 1))
        return;
    *writer->at++ = bracket;
    end_value(writer);
}

void json_begin_object(struct json_writer *writer)
{
    begin_container(writer, '{');
}

void json_end_object(struct json_writer *writer)
{
    end_container(writer, '}');
}

void json_begin_array(struct json_writer *writer)
{
    begin_container(writer, '[');
}

void json_end_array(struct json_writer *writer)
{
    end_container(writer, ']');
}

static size_t escape(unsigned char c, char out_text[LONGEST_ESCAPE])
{
    static const char letters[] = {
        ['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
        ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't',
    };

    out_text[0] = '\\';
    if (letters[c] != 0) {
        out_text[1] = letters[c];
        return 2;
    }
    memcpy(out_text + 1, "u00", 3);
    out_text[4] = HEX_DIGITS[c >> 4];
    out_text[5] = HEX_DIGITS[c & 15];
    return LONGEST_ESCAPE;
}

/*
 * Writes one character that is not plain, from `from` to *at; returns how many bytes of the source
 * it took, 0 for a byte that belongs to no valid character.
 */
static size_t write_special(const char *from, size_t left, bool replace_invalid, char **at)
{
    size_t len;

    if ((signed char)*from >= 0) {
        *at += escape((unsigned char)*from, *at);
        return 1;
    }
    len = utf8_sequence(from, left);
    if (len > 0) {
        memcpy(*at, from, len);
        *at += len;
        return len;
    }
    if (!replace_invalid)
        return 0;
    memcpy(*at, UTF8_REPLACEMENT, sizeof(UTF8_REPLACEMENT) - 1);
    *at += sizeof(UTF8_REPLACEMENT) - 1;
    return 1;
}

/* Room beside the text itself: one escape at any moment, whole-step copies, quotes, a colon. */
enum { QUOTED_SLACK = LONGEST_ESCAPE + SCAN_STEP + 4 };
/* Same if all of a block may have to be escaped; not reserved, but used if available. */
enum { BLOCK_SLACK = LONGEST_ESCAPE * SCAN_STEP + QUOTED_SLACK };

static inline size_t quoted_room(struct str text)
{
    return text.len < SIZE_MAX / 2 ? text.len + QUOTED_SLACK : SIZE_MAX / 2;
}

/*
 * Writes blocks of SCAN_STEP bytes, escaped, up to the first byte that is not ASCII, and while
 * there is room for the worst; returns where it stopped, SCAN_STEP bytes before `end` at the
 * latest. Finds all special bytes of a block at once, which helps with text full of quotes; blocks
 * without any need no check for room.
 */
static inline const char *write_blocks(const char *from, const char *end, char **at,
                                       const char *limit)
{
    char *to = *at;

    while (end - from >= 2 * SCAN_STEP &&
           (size_t)(limit - to) >= (size_t)(end - from) + BLOCK_SLACK) {
        uint64_t specials = scan_specials(from);
        size_t done = 0;

        while (specials == 0 && end - from >= 3 * SCAN_STEP) {
            memcpy(to, from, SCAN_STEP);
            to += SCAN_STEP;
            from += SCAN_STEP;
            specials = scan_specials(from);
        }
        for (; specials != 0; specials &= specials - 1) {
            size_t next = scan_first(specials);

            memcpy(to, from + done, SCAN_STEP);
            to += next - done;
            done = next;
            if ((signed char)from[next] < 0) {
                *at = to;
                return from + done;
            }
            to += escape((unsigned char)from[next], to);
            done++;
        }
        memcpy(to, from + done, SCAN_STEP);
        to += SCAN_STEP - done;
        from += SCAN_STEP;
    }
    *at = to;
    return from;
}

/*
 * Writes the rest of a quoted text, from its first character that is not plain. NULL after an
 * error.
 */
static char *write_quoted_rest(struct json_writer *writer, struct str text, bool replace_invalid,
                               char *at)
{
    const char *from = text.ptr;
    const char *end = text.ptr + text.len;

    while (from < end) {
        size_t taken;

        writer->at = at;
        if (!reserve(writer, (size_t)(end - from) + QUOTED_SLACK))
            return NULL;
        at = writer->at;
        from = write_blocks(from, end, &at, writer->limit);
        if (scan_is_plain(*from)) { /* the last block ended before it */
            from = scan_copy_plain(from, end, &at);
            continue;
        }
        taken = write_special(from, (size_t)(end - from), replace_invalid, &at);
        if (taken == 0) {
            fail(writer, ERR_INVALID_UTF8);
            return NULL;
        }
        from = scan_copy_plain(from + taken, end, &at);
    }
    return at;
}

/*
 * With quotes. quoted_room() bytes are reserved; returns the end of the text, with room for a few
 * more. NULL after an error.
 */
static inline char *write_quoted(struct json_writer *writer, struct str text, bool replace_invalid)
{
    const char *start = text.len > 0 ? text.ptr : "";
    const char *end = start + text.len;
    const char *from;
    char *at = writer->at;

    *at++ = '"';
    from = scan_copy_plain(start, end, &at);
    if (from < end) {
        at = write_quoted_rest(writer, (struct str){from, (size_t)(end - from)}, replace_invalid,
                               at);
        if (at == NULL)
            return NULL;
    }
    *at++ = '"';
    return at;
}

void json_key(struct json_writer *writer, struct str key)
{
    char *at;

    if (writer->error != 0)
        return;
    assert(in_object(writer) && !writer->has_key);
    if (!separate(writer, quoted_room(key)))
        return;
    at = write_quoted(writer, key, false);
    if (at == NULL)
        return;
    *at++ = ':';
    if (writer->is_pretty)
        *at++ = ' ';
    writer->at = at;
    writer->has_key = true;
}

void json_made_key_slowly(struct json_writer *writer, struct str made)
{
    if (writer->error != 0)
        return;
    assert(in_object(writer) && !writer->has_key);
    if (!separate(writer, made.len + 1))
        return;
    memcpy(writer->at, made.ptr, made.len);
    writer->at += made.len;
    if (writer->is_pretty)
        *writer->at++ = ' ';
    writer->has_key = true;
}

static inline void write_literal(struct json_writer *writer, struct str text)
{
    if (!begin_value(writer, text.len))
        return;
    memcpy(writer->at, text.ptr, text.len);
    writer->at += text.len;
    end_value(writer);
}

void json_write_null(struct json_writer *writer)
{
    write_literal(writer, STR("null"));
}

void json_write_bool(struct json_writer *writer, bool is_true)
{
    write_literal(writer, is_true ? STR("true") : STR("false"));
}

static inline size_t count_digits(uint64_t number)
{
    size_t count = 1;

    for (; number >= 1000; number /= 1000)
        count += 3;
    return count + (number >= 10) + (number >= 100);
}

/* Writes the digits before `end`, two at a time: half the divisions. */
static inline void put_digits(uint64_t number, char *end)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";

    while (number >= 100) {
        end -= 2;
        memcpy(end, &pairs[number % 100 * 2], 2);
        number /= 100;
    }
    if (number >= 10)
        memcpy(end - 2, &pairs[number * 2], 2);
    else
        end[-1] = (char)('0' + number);
}

void json_write_int(struct json_writer *writer, int64_t number)
{
    uint64_t magnitude = number < 0 ? -(uint64_t)number : (uint64_t)number;
    char *at;

    if (!begin_value(writer, INT64_TEXT_BYTES))
        return;
    at = writer->at;
    if (number < 0)
        *at++ = '-';
    at += count_digits(magnitude);
    put_digits(magnitude, at);
    writer->at = at;
    end_value(writer);
}

static inline void write_text(struct json_writer *writer, struct str text, bool replace_invalid)
{
    char *at;

    if (!begin_value(writer, quoted_room(text)))
        return;
    at = write_quoted(writer, text, replace_invalid);
    if (at == NULL)
        return;
    writer->at = at;
    end_value(writer);
}

void json_write_str(struct json_writer *writer, struct str text)
{
    write_text(writer, text, false);
}

void json_write_str_lossy(struct json_writer *writer, struct str text)
{
    write_text(writer, text, true);
}

void json_splice(struct json_writer *writer, struct str finished)
{
    assert(finished.len > 0);
    write_literal(writer, finished);
}

/* The parser's depth limit bounds the recursion. */
void json_write_value(struct json_writer *writer, const struct json_value *value)
{
    switch ((enum json_type)value->type) {
    case JSON_NULL:
        json_write_null(writer);
        break;
    case JSON_BOOL:
        json_write_bool(writer, value->integer != 0);
        break;
    case JSON_INT:
        json_write_int(writer, value->integer);
        break;
    case JSON_NUMBER:
        write_literal(writer, json_str(value));
        break;
    case JSON_STRING:
        json_write_str(writer, json_str(value));
        break;
    case JSON_ARRAY:
        json_begin_array(writer);
        json_each_item (item, value)
            json_write_value(writer, item);
        json_end_array(writer);
        break;
    case JSON_OBJECT:
        json_begin_object(writer);
        json_each_member (key, value) {
            json_key(writer, json_str(key));
            json_write_value(writer, key + 1);
        }
        json_end_object(writer);
        break;
    }
}

int json_writer_finish(struct json_writer *writer)
{
    assert(writer->error != 0 || (writer->depth == 0 && writer->needs_comma && !writer->has_key));
    sync_length(writer);
    return writer->error;
}
