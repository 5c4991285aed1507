/* SPDX-License-Identifier: Apache-2.0 */
#include "search/excerpt.h"

#include <stdbool.h>

#include "base/utf8.h"

/* Characters shown before the match if there is more after it than fits. */
enum { BEFORE = EXCERPT_MAX_CHARACTERS / 4 };

#define CUT "\xE2\x80\xA6"

static size_t step_forward(struct str line, size_t at)
{
    size_t len = utf8_sequence(line.ptr + at, line.len - at);

    return at + (len > 0 ? len : 1);
}

/* Start of the character that ends here; an invalid byte stands alone. */
static size_t step_back(struct str line, size_t at)
{
    for (size_t len = 2; len <= 4 && len <= at; len++)
        if (utf8_sequence(line.ptr + at - len, len) == len)
            return at - len;
    return at - 1;
}

/* A match by bytes may begin inside a character. */
static size_t character_start(struct str line, size_t at)
{
    for (size_t back = 1; back <= 3 && back <= at; back++)
        if (utf8_sequence(line.ptr + at - back, line.len - at + back) > back)
            return at - back;
    return at;
}

static void append(struct excerpt *excerpt, const char *bytes, size_t len)
{
    memcpy(excerpt->text + excerpt->len, bytes, len);
    excerpt->len += len;
}

static void choose(struct str line, size_t match_start, size_t *out_begin, size_t *out_end)
{
    size_t begin = character_start(line, match_start);
    size_t end = begin;
    size_t count = 0;

    for (; count < BEFORE && begin > 0; count++)
        begin = step_back(line, begin);
    for (; count < EXCERPT_MAX_CHARACTERS && end < line.len; count++)
        end = step_forward(line, end);
    for (; count < EXCERPT_MAX_CHARACTERS && begin > 0; count++)
        begin = step_back(line, begin);
    *out_begin = begin;
    *out_end = end;
}

void excerpt_make(struct str line, size_t match_start, size_t match_end,
                  struct excerpt *out_excerpt)
{
    size_t begin, end;

    if (line.len > 0 && line.ptr[line.len - 1] == '\r')
        line.len--;
    if (match_start > line.len)
        match_start = line.len;
    choose(line, match_start, &begin, &end);
    out_excerpt->len = 0;
    if (begin > 0)
        append(out_excerpt, CUT, sizeof(CUT) - 1);
    out_excerpt->match_start = out_excerpt->match_end = out_excerpt->len;
    for (size_t at = begin; at < end;) {
        size_t len = (signed char)line.ptr[at] >= 0 ? 1 : utf8_sequence(line.ptr + at, end - at);

        if (at <= match_start)
            out_excerpt->match_start = out_excerpt->match_end = out_excerpt->len;
        if (len == 0)
            append(out_excerpt, UTF8_REPLACEMENT, sizeof(UTF8_REPLACEMENT) - 1);
        else
            append(out_excerpt, line.ptr + at, len);
        if (at < match_end)
            out_excerpt->match_end = out_excerpt->len;
        at += len > 0 ? len : 1;
    }
    if (match_start >= end)
        out_excerpt->match_start = out_excerpt->match_end = out_excerpt->len;
    if (match_end <= match_start)
        out_excerpt->match_end = out_excerpt->match_start;
    if (end < line.len)
        append(out_excerpt, CUT, sizeof(CUT) - 1);
}
