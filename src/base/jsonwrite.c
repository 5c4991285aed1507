/* SPDX-License-Identifier: Apache-2.0 */
#include "base/jsonwrite.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/scan.h"
#include "base/utf8.h"

enum {
    LONGEST_ESCAPE = 6, /* \u001f */
    INT64_TEXT_BYTES = 20,
};

void json_writer_init(struct json_writer *writer, struct buf *out)
{
    *writer = (struct json_writer){.out = out};
}

void json_writer_set_pretty(struct json_writer *writer)
{
    writer->is_pretty = true;
}

void json_writer_set_flush(struct json_writer *writer, json_flush_fn *flush, void *context)
{
    writer->flush = flush;
    writer->flush_context = context;
}

static void fail(struct json_writer *writer, int code)
{
    if (writer->error == 0)
        writer->error = code;
}

/* Room for `extra` bytes; false after an error. */
static inline bool reserve(struct json_writer *writer, size_t extra)
{
    int r;

    if (writer->error != 0)
        return false;
    r = buf_reserve(writer->out, extra);
    if (r < 0)
        fail(writer, r);
    return r == 0;
}

/* For bytes that reserve() has made room for. */
static inline void put(struct json_writer *writer, char c)
{
    writer->out->data[writer->out->len++] = c;
}

static inline void put_all(struct json_writer *writer, const char *bytes, size_t len)
{
    memcpy(writer->out->data + writer->out->len, bytes, len);
    writer->out->len += len;
}

static bool in_object(const struct json_writer *writer)
{
    unsigned level = writer->depth - 1;

    return writer->depth > 0 && (writer->object_levels[level / 64] >> (level % 64) & 1) != 0;
}

static void new_line(struct json_writer *writer)
{
    size_t spaces = (size_t)writer->depth * 2;

    if (!reserve(writer, spaces + 1))
        return;
    put(writer, '\n');
    memset(writer->out->data + writer->out->len, ' ', spaces);
    writer->out->len += spaces;
}

/* The comma and line end before an item or a key. */
static inline bool separate(struct json_writer *writer)
{
    if (!reserve(writer, 1))
        return false;
    if (writer->needs_comma)
        put(writer, ',');
    if (writer->is_pretty && writer->depth > 0)
        new_line(writer);
    return writer->error == 0;
}

/* What comes before any value. A member's value follows its key, anything else needs a comma. */
static inline bool begin_value(struct json_writer *writer)
{
    if (writer->has_key) {
        writer->has_key = false;
        return writer->error == 0;
    }
    assert(!in_object(writer) && "a member needs a key");
    assert((writer->depth > 0 || !writer->needs_comma) && "a document is one value");
    return separate(writer);
}

static inline void end_value(struct json_writer *writer)
{
    writer->needs_comma = true;
    if (writer->flush != NULL && writer->out->len >= JSON_FLUSH_BYTES && writer->error == 0) {
        int r = writer->flush(writer->flush_context, writer->out);

        if (r < 0)
            fail(writer, r);
    }
}

static void begin_container(struct json_writer *writer, char bracket)
{
    uint64_t bit;

    if (!begin_value(writer) || !reserve(writer, 1))
        return;
    if (writer->depth == JSON_WRITER_MAX_DEPTH) {
        fail(writer, ERR_JSON_DEPTH);
        return;
    }
    put(writer, bracket);
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
    put(writer, bracket);
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
    static const char hex[] = "0123456789abcdef";
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
    out_text[4] = hex[c >> 4];
    out_text[5] = hex[c & 15];
    return LONGEST_ESCAPE;
}

/* One character that is not plain, at `from`; how many bytes it took, 0 after an error. */
static size_t write_special(struct json_writer *writer, const char *from, size_t left,
                            bool replace_invalid)
{
    struct buf *out = writer->out;
    size_t len;

    if ((signed char)*from >= 0) {
        out->len += escape((unsigned char)*from, out->data + out->len);
        return 1;
    }
    len = utf8_sequence(from, left);
    if (len > 0) {
        put_all(writer, from, len);
        return len;
    }
    if (!replace_invalid) {
        fail(writer, ERR_INVALID_UTF8);
        return 0;
    }
    put_all(writer, UTF8_REPLACEMENT, sizeof(UTF8_REPLACEMENT) - 1);
    return 1;
}

/* Quotes included. */
static void write_quoted(struct json_writer *writer, struct str text, bool replace_invalid)
{
    const char *from = text.ptr;
    const char *end = text.ptr + text.len;
    /* Room for one escape at any moment, whole-step copies, and the quotes. */
    const size_t slack = LONGEST_ESCAPE + SCAN_STEP + 2;

    if (text.len > SIZE_MAX - slack) {
        fail(writer, ERR_TOO_LARGE);
        return;
    }
    if (!reserve(writer, text.len + slack))
        return;
    put(writer, '"');
    while (true) {
        char *to = writer->out->data + writer->out->len;

        from = scan_copy_plain(from, end, &to);
        writer->out->len = (size_t)(to - writer->out->data);
        if (from == end)
            break;
        if (!reserve(writer, (size_t)(end - from) + slack))
            return;
        from += write_special(writer, from, (size_t)(end - from), replace_invalid);
        if (writer->error != 0)
            return;
    }
    put(writer, '"');
}

void json_key(struct json_writer *writer, struct str key)
{
    if (writer->error != 0)
        return;
    assert(in_object(writer) && !writer->has_key);
    if (!separate(writer))
        return;
    write_quoted(writer, key, false);
    if (!reserve(writer, 2))
        return;
    put(writer, ':');
    if (writer->is_pretty)
        put(writer, ' ');
    writer->has_key = true;
}

static void write_literal(struct json_writer *writer, struct str text)
{
    if (!begin_value(writer) || !reserve(writer, text.len))
        return;
    put_all(writer, text.ptr, text.len);
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

void json_write_int(struct json_writer *writer, int64_t number)
{
    char digits[INT64_TEXT_BYTES];
    char *first = digits + sizeof(digits);
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;

    do {
        *--first = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0)
        *--first = '-';
    write_literal(writer, (struct str){first, (size_t)(digits + sizeof(digits) - first)});
}

void json_write_str(struct json_writer *writer, struct str text)
{
    if (!begin_value(writer))
        return;
    write_quoted(writer, text, false);
    end_value(writer);
}

void json_write_str_lossy(struct json_writer *writer, struct str text)
{
    if (!begin_value(writer))
        return;
    write_quoted(writer, text, true);
    end_value(writer);
}

void json_splice(struct json_writer *writer, struct str finished)
{
    assert(finished.len > 0);
    write_literal(writer, finished);
}

/* Recursion ends with the reader's depth limit. */
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
    int r;

    if (writer->error != 0)
        return writer->error;
    assert(writer->depth == 0 && writer->needs_comma && !writer->has_key);
    if (writer->flush != NULL && writer->out->len > 0) {
        r = writer->flush(writer->flush_context, writer->out);
        if (r < 0)
            return r;
    }
    return 0;
}
