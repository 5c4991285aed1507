/* SPDX-License-Identifier: Apache-2.0 */
/* Describes what is typed into a job. */
#include "shell/internal.h"

#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "base/sha256.h"
#include "base/utf8.h"

enum {
    WORDS_BYTES = 8 * PROCESS_MAX_INPUT, /* escaped, a byte takes six */
    KEPT_BYTES = 48,                     /* in the record: whole, or half of it from each end */
};

/* One quoted line, with its newline: a typed line break differs from one that is only displayed. */
static int add_line(struct str line, struct buf *out)
{
    struct json_writer w;
    int r;

    json_writer_init(&w, out);
    json_write_str(&w, line);
    r = json_writer_finish(&w);
    return r == 0 ? buf_append_char(out, '\n') : r;
}

static int add_text(struct str text, struct buf *out)
{
    int r = 0;

    while (text.len > 0 && r == 0) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t len = end != NULL ? (size_t)(end - text.ptr) + 1 : text.len;

        r = add_line(str_slice(text, 0, len), out);
        text = str_slice(text, len, text.len);
    }
    return r;
}

static int add_words(const struct json_value *arguments, struct buf *out)
{
    const struct json_value *keys = json_get(arguments, STR("keys"));
    struct str text = STR_EMPTY;
    bool is_closing = false;
    int r;

    (void)json_get_str(arguments, STR("text"), &text);
    (void)json_get_bool(arguments, STR("close"), &is_closing);
    r = add_text(text, out);
    if (keys != NULL)
        json_each_item (key, keys) {
            if (r == 0)
                r = buf_append_str(out, STR("key "));
            if (r == 0)
                r = add_line(json_str(key), out);
        }
    if (r == 0 && is_closing)
        r = buf_append_str(out, STR("end of the input\n"));
    if (r == 0 && out->len == 0)
        r = buf_append_str(out, STR("nothing\n"));
    return r;
}

int typed_words(struct arena *arena, const struct json_value *arguments, struct str *out_words,
                struct err *err)
{
    cleanup_buf struct buf words = BUF_INIT(WORDS_BYTES);
    int r = add_words(arguments, &words);

    if (r == ERR_TOO_LARGE)
        return err_set(err, r, "the input is too long for one call; send it in parts");
    if (r < 0)
        return err_set_plain(err, r);
    return arena_copy_str(arena, buf_view(&words), out_words) ? 0
                                                              : err_set_plain(err, arena->error);
}

/* ---- for the record ---- */

static int add_quoted(struct str text, struct buf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_write_str_lossy(&w, text);
    return json_writer_finish(&w);
}

static int add_ends(struct str bytes, struct buf *out)
{
    struct str tail;
    int r;

    if (bytes.len <= KEPT_BYTES)
        return add_quoted(bytes, out);
    tail = str_slice(bytes, bytes.len - KEPT_BYTES / 2, bytes.len);
    while (tail.len > 0 && ((unsigned char)tail.ptr[0] & 0xC0) == 0x80)
        tail = str_slice(tail, 1, tail.len);
    r = add_quoted(utf8_cut(bytes, KEPT_BYTES / 2), out);
    if (r == 0)
        r = buf_append_str(out, STR(" ... "));
    return r == 0 ? add_quoted(tail, out) : r;
}

int typed_reason(struct str bytes, bool is_closing, char out_reason[TYPED_REASON_BYTES])
{
    cleanup_buf struct buf ends = BUF_INIT(TYPED_REASON_BYTES);
    unsigned char digest[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];
    int r = add_ends(bytes, &ends);

    if (r < 0)
        return r;
    sha256_of(bytes, digest);
    hex_text(hex, digest, sizeof(digest));
    snprintf(out_reason, TYPED_REASON_BYTES,
             "input for a running job: %zu bytes%s, SHA-256 %s: %.*s", bytes.len,
             is_closing ? " and its end" : "", hex, STR_ARG(buf_view(&ends)));
    return 0;
}
