/* SPDX-License-Identifier: Apache-2.0 */
#include "base/printable.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/scan.h"
#include "base/utf8.h"

/* Looks like a space but is none: to a shell it is part of a word, or of the program's name. */
static bool is_odd_blank(uint32_t code_point)
{
    return code_point == 0xA0 || code_point == 0x1680 ||
           (code_point >= 0x2000 && code_point <= 0x200A) || code_point == 0x202F ||
           code_point == 0x205F || code_point == 0x2800 || code_point == 0x3000;
}

static bool is_kept(uint32_t code_point, bool is_valid, unsigned rule)
{
    if (!is_valid)
        return false;
    if (code_point < 0x80)
        return code_point == '\t' ? (rule & PRINTABLE_TABS) != 0
                                  : code_point >= ' ' && code_point <= '~' &&
                                        !((rule & PRINTABLE_QUOTED) != 0 &&
                                          (code_point == '"' || code_point == '\\'));
    return (rule & PRINTABLE_ASCII) == 0 && utf8_is_printable(code_point) &&
           ((rule & PRINTABLE_BLANKS) != 0 || !is_odd_blank(code_point));
}

static int escape_json(uint32_t code_point, char out[PRINTABLE_BYTES])
{
    if (code_point <= 0xFFFF)
        return snprintf(out, PRINTABLE_BYTES, "\\u%04x", (unsigned)code_point);
    return snprintf(out, PRINTABLE_BYTES, "\\u%04x\\u%04x",
                    0xD800 + (unsigned)((code_point - 0x10000) >> 10),
                    0xDC00 + (unsigned)((code_point - 0x10000) & 0x3FF));
}

static int escape(uint32_t code_point, bool is_valid, unsigned char byte, unsigned rule,
                  char out[PRINTABLE_BYTES])
{
    static const struct {
        char from;
        char to;
    } letters[] = {{'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}, {'"', '"'}, {'\\', '\\'}};

    if ((rule & PRINTABLE_JSON) != 0)
        return escape_json(code_point, out);
    for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
        if (code_point == (unsigned char)letters[i].from)
            return snprintf(out, PRINTABLE_BYTES, "\\%c", letters[i].to);
    return is_valid && code_point >= 0x80
               ? snprintf(out, PRINTABLE_BYTES, "\\u{%x}", (unsigned)code_point)
               : snprintf(out, PRINTABLE_BYTES, "\\x%02x", byte);
}

/* Most characters, and kept under every rule. */
static bool is_plain(char c)
{
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

/* That of eight characters. Of ASCII, only DEL has its high bit set when it is one more. */
static bool are_eight_plain(const char *text)
{
    const uint64_t each = 0x0101010101010101U;
    uint64_t word;

    memcpy(&word, text, sizeof(word));
    return !scan_word_has_special(word) && ((word + each) & each * 0x80) == 0;
}

/* Length of the prefix that stays unchanged. */
static size_t kept_length(struct str text, unsigned rule)
{
    size_t at = 0;

    for (;;) {
        struct str rest;
        uint32_t code_point;
        bool is_valid;

        while (text.len - at >= sizeof(uint64_t) && are_eight_plain(text.ptr + at))
            at += sizeof(uint64_t);
        while (at < text.len && is_plain(text.ptr[at]))
            at++;
        if (at == text.len)
            return at;
        rest = str_slice(text, at, text.len);
        is_valid = utf8_next(&rest, &code_point);
        if (!is_kept(code_point, is_valid, rule))
            return at;
        at = text.len - rest.len;
    }
}

size_t printable_next(struct str *text, unsigned rule, char out[PRINTABLE_BYTES])
{
    struct str before = *text;
    uint32_t code_point;
    bool is_valid = utf8_next(text, &code_point);
    size_t len = before.len - text->len;

    if (!is_kept(code_point, is_valid, rule))
        return (size_t)escape(code_point, is_valid, (unsigned char)before.ptr[0], rule, out);
    memcpy(out, before.ptr, len);
    out[len] = '\0';
    return len;
}

bool printable_is_plain(struct str text, unsigned rule)
{
    return kept_length(text, rule) == text.len;
}

/* Appends unchanged text in the longest possible pieces; `mark` is NULL if the rest is escaped. */
static int append(struct buf *out, struct str text, unsigned rule, const struct str *mark)
{
    while (text.len > 0) {
        size_t kept = kept_length(text, rule);
        char escaped[PRINTABLE_BYTES];
        size_t len;
        int r = buf_append(out, text.ptr, kept);

        text = str_slice(text, kept, text.len);
        if (r == 0 && text.len > 0) {
            len = printable_next(&text, rule, escaped);
            r = buf_append_str(out, mark != NULL ? *mark : (struct str){escaped, len});
        }
        if (r < 0)
            return r;
    }
    return 0;
}

int printable_append(struct buf *out, struct str text, unsigned rule)
{
    return append(out, text, rule, NULL);
}

int printable_replace(struct buf *out, struct str text, unsigned rule, struct str mark)
{
    return append(out, text, rule, &mark);
}

size_t printable_cut(struct str text, unsigned rule, char *out, size_t max_bytes)
{
    /* Most texts stay as they are. A character that the slice splits is not kept. */
    size_t len = kept_length(str_slice(text, 0, max_bytes), rule);

    if (len > 0)
        memcpy(out, text.ptr, len);
    text = str_slice(text, len, text.len);
    while (text.len > 0) {
        char shown[PRINTABLE_BYTES];
        size_t more = printable_next(&text, rule, shown);

        if (len + more > max_bytes) {
            memcpy(out + len, "...", PRINTABLE_CUT_BYTES);
            return len + 3;
        }
        memcpy(out + len, shown, more);
        len += more;
    }
    out[len] = '\0';
    return len;
}

size_t printable_blanks(struct str *text, bool takes_tabs, char out[PRINTABLE_BLANKS_BYTES])
{
    size_t count = 0;

    while (count < text->len &&
           (text->ptr[count] == ' ' || (takes_tabs && text->ptr[count] == '\t')))
        count++;
    if (count <= PRINTABLE_MOST_BLANKS)
        return 0;
    *text = str_slice(*text, count, text->len);
    return (size_t)snprintf(out, PRINTABLE_BLANKS_BYTES, "\\s{%zu}", count);
}
