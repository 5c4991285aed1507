/* SPDX-License-Identifier: Apache-2.0 */
#include "files/passage.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"

/* What is ignored when two texts are compared. */
enum squeeze {
    SQUEEZE_LINE_ENDS, /* the CR of a CR LF */
    SQUEEZE_BLANKS,    /* every run of blanks and line ends becomes one blank */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Whether the byte at `at` is kept. */
static bool is_kept(struct str text, size_t at, enum squeeze how)
{
    if (how == SQUEEZE_BLANKS)
        return !is_blank(text.ptr[at]) || at == 0 || !is_blank(text.ptr[at - 1]);
    return text.ptr[at] != '\r' || at + 1 == text.len || text.ptr[at + 1] != '\n';
}

static int squeeze(struct str text, enum squeeze how, struct buf *out)
{
    int r = buf_reserve(out, text.len);

    for (size_t i = 0; r == 0 && i < text.len; i++)
        if (is_kept(text, i, how))
            out->data[out->len++] =
                how == SQUEEZE_BLANKS && is_blank(text.ptr[i]) ? ' ' : text.ptr[i];
    return r;
}

/* The line, from 1, of the byte that is number `wanted` after squeezing. */
static size_t line_of_squeezed(struct str text, enum squeeze how, size_t wanted)
{
    size_t line = 1;
    size_t kept = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (is_kept(text, i, how) && kept++ == wanted)
            break;
        line += text.ptr[i] == '\n';
    }
    return line;
}

/* The line where the passage is found when both are squeezed; 0 if nowhere. */
static size_t find_squeezed(struct str text, struct str passage, enum squeeze how)
{
    cleanup_buf struct buf small_text = BUF_INIT(text.len);
    cleanup_buf struct buf small_passage = BUF_INIT(passage.len);
    size_t at;

    if (how == SQUEEZE_BLANKS)
        passage = str_trim(passage);
    if (passage.len == 0 || squeeze(text, how, &small_text) < 0 ||
        squeeze(passage, how, &small_passage) < 0)
        return 0;
    at = str_find(buf_view(&small_text), buf_view(&small_passage));
    return at == SIZE_MAX ? 0 : line_of_squeezed(text, how, at);
}

static size_t line_of(struct str text, size_t at)
{
    size_t line = 1;

    for (size_t i = 0; i < at; i++)
        line += text.ptr[i] == '\n';
    return line;
}

/* Finds the first non-blank line of the passage; 0 if it is nowhere. */
static size_t find_first_line(struct str text, struct str passage)
{
    struct str rest = passage;
    struct str line;

    while (str_cut(&rest, '\n', &line)) {
        size_t at;

        line = str_trim(line);
        if (line.len == 0)
            continue;
        at = str_find(text, line);
        return at == SIZE_MAX ? 0 : line_of(text, at);
    }
    return 0;
}

void passage_explain_missing(struct str text, struct str passage, char out_hint[PASSAGE_HINT_BYTES])
{
    size_t lines = line_of(text, text.len);
    bool has_crlf = str_find(text, STR("\r\n")) != SIZE_MAX;
    size_t at = find_squeezed(text, passage, SQUEEZE_LINE_ENDS);

    if (at > 0) {
        snprintf(out_hint, PASSAGE_HINT_BYTES,
                 "it would match at line %zu of %zu with other line endings; the file has %s", at,
                 lines, has_crlf ? "CR LF" : "LF alone");
        return;
    }
    at = find_squeezed(text, passage, SQUEEZE_BLANKS);
    if (at > 0) {
        snprintf(out_hint, PASSAGE_HINT_BYTES,
                 "it would match at line %zu of %zu except for whitespace and line endings; read "
                 "the file there and copy the text exactly",
                 at, lines);
        return;
    }
    at = find_first_line(text, passage);
    if (at > 0)
        snprintf(out_hint, PASSAGE_HINT_BYTES,
                 "its first line is line %zu of %zu, but the following lines differ", at, lines);
    else
        snprintf(out_hint, PASSAGE_HINT_BYTES, "the file has %zu lines; read it first", lines);
}
