/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text, a NUL, a passage of it, a NUL, what replaces it: what is found exactly is what a plain
 * search finds, and is replaced literally but for line ends; the size is told before, and lines of
 * matches are lines of the text.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "files/missing.h"
#include "files/passage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OUT_BYTES = 64 << 20 };

static struct str take(struct str *rest)
{
    struct str part;

    (void)str_cut(rest, '\0', &part);
    if (rest->ptr == NULL)
        *rest = STR_EMPTY;
    return part;
}

static size_t count_lines(struct str text)
{
    size_t lines = 1;

    for (size_t i = 0; i < text.len; i++)
        lines += text.ptr[i] == '\n';
    return lines;
}

/* Replaces every occurrence; returns how many there are. */
static size_t replace_plainly(struct str text, struct str old, struct str new, struct buf *out)
{
    size_t count = 0;
    size_t at;

    while ((at = str_find(text, old)) != SIZE_MAX) {
        assert(buf_append_str(out, str_slice(text, 0, at)) == 0 && buf_append_str(out, new) == 0);
        text = str_slice(text, at + old.len, text.len);
        count++;
    }
    assert(buf_append_str(out, text) == 0);
    return count;
}

static void check_lines(const struct passage *passage, struct str text)
{
    char words[PASSAGE_HINT_BYTES];

    assert(passage->line_count <= PASSAGE_MAX_LINES && passage->line_count <= passage->count);
    for (size_t i = 0; i < passage->line_count; i++)
        assert(passage->lines[i] >= 1 && passage->lines[i] <= count_lines(text) &&
               (i == 0 || passage->lines[i] > passage->lines[i - 1]));
    passage_name_lines(passage, words);
    assert(memchr(words, '\0', sizeof(words)) != NULL);
}

static void check_explanation(struct str text, struct str old)
{
    char hint[MISSING_HINT_BYTES];

    memset(hint, 'x', sizeof(hint));
    missing_explain(text, old, hint);
    assert(hint[0] != '\0' && memchr(hint, '\0', sizeof(hint)) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size};
    struct str text = take(&rest);
    struct str old = take(&rest);
    struct str new = take(&rest);
    cleanup_passage struct passage passage = {0};
    cleanup_buf struct buf plain = BUF_INIT(OUT_BYTES);
    cleanup_buf struct buf out = BUF_INIT(OUT_BYTES);
    uint64_t told;
    size_t count;

    if (old.len == 0) /* the schema wants more */
        return 0;
    assert(passage_find(&passage, text, old) == 0);
    count = replace_plainly(text, old, new, &plain);
    assert(count == 0 ? passage.count == 0 || passage.kind != PASSAGE_EXACT
                      : passage.count == count && passage.kind == PASSAGE_EXACT);
    check_lines(&passage, text);
    if (passage.count == 0)
        check_explanation(text, old);
    if (passage.count == 0 || (passage.count > 1 && passage.kind == PASSAGE_BLANKS))
        return 0;
    assert(passage_replace_with(&passage, new, &told) == 0);
    assert(passage_append_replaced(&passage, &out) == 0);
    assert(out.len == told);
    /* With the line end that it begins with, the CR before that goes too. */
    if (count > 0 && memchr(new.ptr, '\n', new.len) == NULL && old.ptr[0] != '\n')
        assert(str_eq(buf_view(&out), buf_view(&plain)));
    return 0;
}
