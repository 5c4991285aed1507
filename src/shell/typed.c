/* SPDX-License-Identifier: Apache-2.0 */
/* What is typed into a job, in words. */
#include "shell/internal.h"

#include <string.h>

enum { WORDS_BYTES = 8 * PROCESS_MAX_INPUT }; /* escaped, a byte takes six */

/* One line in quotes, with its end: a break that was typed differs from one that is only shown. */
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
    const char *copy;

    if (r == ERR_TOO_LARGE)
        return err_set(err, r, "this is too much to be typed at once; send it in parts");
    if (r < 0)
        return err_set_plain(err, r);
    copy = arena_copy(arena, buf_view(&words));
    if (copy == NULL)
        return err_set_plain(err, arena->error);
    *out_words = (struct str){copy, words.len};
    return 0;
}
