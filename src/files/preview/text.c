/* SPDX-License-Identifier: Apache-2.0 */
#include "files/preview/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/jsonwrite.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "files/preview/preview.h"

enum {
    /* All arguments as lines, before they are cut; a text is cut before that. */
    ARGUMENTS_BYTES = 1 << 20,
    ARGUMENT_TEXT_BYTES = 32 << 10,
    ARGUMENT_NAME_BYTES = 100,
};

#define CR_SIGN "\xE2\x90\x8D" /* U+240D */

/* ---- numbers ---- */

const char *preview_count(uint64_t count, char out_text[PREVIEW_NUMBER_BYTES])
{
    char digits[PREVIEW_NUMBER_BYTES];
    size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, count);
    size_t at = 0;

    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            out_text[at++] = ',';
        out_text[at++] = digits[i];
    }
    out_text[at] = '\0';
    return out_text;
}

const char *preview_size(uint64_t bytes, char out_text[PREVIEW_NUMBER_BYTES])
{
    static const char *const units[] = {"KB", "MB", "GB", "TB", "PB", "EB"};
    uint64_t tenths = bytes / 100; /* of a unit */
    size_t unit = 0;

    if (bytes < 1000) {
        snprintf(out_text, PREVIEW_NUMBER_BYTES, "%" PRIu64 " byte%s", bytes,
                 bytes == 1 ? "" : "s");
        return out_text;
    }
    for (; tenths >= 10000 && unit + 1 < array_size(units); unit++)
        tenths /= 1000;
    snprintf(out_text, PREVIEW_NUMBER_BYTES, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10,
             units[unit]);
    return out_text;
}

uint64_t preview_line_count(struct str text)
{
    uint64_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += text.ptr[i] == '\n';
    return count + (text.len > 0 && text.ptr[text.len - 1] != '\n');
}

/* ---- lines ---- */

int preview_add_harmless(struct buf *out, struct str text)
{
    struct str part;
    int r = 0;

    while (r == 0 && str_cut(&text, '\r', &part)) {
        r = printable_replace(out, part, PRINTABLE_TABS | PRINTABLE_BLANKS, STR(UTF8_REPLACEMENT));
        if (r == 0 && text.ptr != NULL)
            r = buf_append_str(out, STR(CR_SIGN));
    }
    return r;
}

/* One line, cut, with a newline. */
static int add_line(struct buf *out, struct str line)
{
    struct str shown = utf8_cut(line, PREVIEW_LINE_BYTES);
    char left[PREVIEW_NUMBER_BYTES];
    int r = preview_add_harmless(out, shown);

    if (r == 0 && shown.len < line.len)
        r = buf_printf(out, " … (%s more)", preview_size(line.len - shown.len, left));
    return r < 0 ? r : buf_append_char(out, '\n');
}

static size_t lines_in(const struct buf *out)
{
    return (size_t)preview_line_count(buf_view(out));
}

int preview_add_lines(struct buf *out, struct str text)
{
    size_t count = lines_in(out);
    char more[PREVIEW_NUMBER_BYTES];

    while (text.len > 0) {
        size_t before = out->len;
        const char *end = memchr(text.ptr, '\n', text.len);
        struct str line = str_slice(text, 0, end != NULL ? (size_t)(end - text.ptr) : text.len);
        int r = count < PREVIEW_MAX_LINES ? add_line(out, line) : 0;

        if (r < 0)
            return r;
        if (count == PREVIEW_MAX_LINES || out->len > PREVIEW_MAX_BYTES) {
            uint64_t left = preview_line_count(text);

            out->len = before;
            return buf_printf(out, "… and %s more line%s\n", preview_count(left, more),
                              left == 1 ? "" : "s");
        }
        count++;
        text = str_slice(text, line.len + 1, text.len);
    }
    return 0;
}

/* ---- arguments ---- */

/* Untrusted text is never printed with a format: a NUL would hide the rest. */
static int add_piece(struct buf *out, struct str before, struct str text)
{
    int r = buf_append_str(out, before);

    if (r == 0)
        r = buf_append_str(out, text);
    return r < 0 ? r : buf_append_char(out, '\n');
}

/* Indented by four, so that no text can imitate another argument. */
static int add_text(struct buf *out, struct str text)
{
    struct str shown = utf8_cut(text, ARGUMENT_TEXT_BYTES);
    char size[PREVIEW_NUMBER_BYTES];
    struct str rest = shown;
    int r = 0;

    if (text.len == 0)
        return buf_append_str(out, STR(" (empty)\n"));
    if (memchr(text.ptr, '\n', text.len) == NULL && text.len <= PREVIEW_LINE_BYTES)
        return add_piece(out, STR(" "), text);
    r = buf_printf(out, " (%s)\n", preview_size(text.len, size));
    while (rest.len > 0 && r == 0) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        struct str line = str_slice(rest, 0, end != NULL ? (size_t)(end - rest.ptr) : rest.len);

        r = add_piece(out, STR("    "), line);
        rest = str_slice(rest, line.len + 1, rest.len);
    }
    if (r == 0 && shown.len < text.len)
        r = buf_printf(out, "    … (%s more)\n", preview_size(text.len - shown.len, size));
    return r;
}

static int add_value(struct buf *out, const struct json_value *value)
{
    cleanup_buf struct buf json = BUF_INIT(ARGUMENT_TEXT_BYTES);
    struct json_writer w;
    int r;

    if (value->type == JSON_STRING)
        return add_text(out, json_str(value));
    json_writer_init(&w, &json);
    json_write_value(&w, value);
    r = json_writer_finish(&w);
    if (r == ERR_TOO_LARGE)
        return buf_printf(out, " (%s, too long to show)\n", json_type_name(value->type));
    return r < 0 ? r : add_text(out, buf_view(&json));
}

int preview_add_arguments(struct buf *out, const struct json_value *arguments)
{
    cleanup_buf struct buf lines = BUF_INIT(ARGUMENTS_BYTES);
    uint64_t left = arguments->size;
    char count[PREVIEW_NUMBER_BYTES];
    int r = 0;

    json_each_member (key, arguments) {
        if (lines.len > PREVIEW_MAX_BYTES) /* that much is not shown anyway */
            break;
        r = preview_add_harmless(&lines, utf8_cut(json_str(key), ARGUMENT_NAME_BYTES));
        if (r == 0)
            r = buf_append_char(&lines, ':');
        if (r == 0)
            r = add_value(&lines, key + 1);
        if (r < 0)
            return r;
        left--;
    }
    if (left > 0)
        r = buf_printf(&lines, "… and %s more argument%s\n", preview_count(left, count),
                       left == 1 ? "" : "s");
    return r < 0 ? r : preview_add_lines(out, buf_view(&lines));
}
