/* SPDX-License-Identifier: Apache-2.0 */
#include "files/passage.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

enum {
    INDENT_LINES = 64, /* the first lines of a match, which tell how its indentation differs */
    NEW_MAX_BYTES = 256 << 20, /* of a replacement; a message is smaller */
};

struct range {
    size_t start, end;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_space(char c)
{
    return is_blank(c) || c == '\r' || c == '\n';
}

/* ---- looking without some of the bytes ---- */

/* Whether the byte at `at` counts. Of a run of whitespace the first one stands for all. */
static bool is_kept(struct str text, size_t at, enum passage_kind kind)
{
    if (kind == PASSAGE_BLANKS)
        return !is_space(text.ptr[at]) || at == 0 || !is_space(text.ptr[at - 1]);
    return text.ptr[at] != '\r' || at + 1 == text.len || text.ptr[at + 1] != '\n';
}

static int squeeze(struct str text, enum passage_kind kind, struct buf *out)
{
    int r;

    buf_done(out);
    buf_init(out, text.len);
    r = buf_reserve(out, text.len);
    for (size_t i = 0; r == 0 && i < text.len; i++)
        if (is_kept(text, i, kind))
            out->data[out->len++] =
                kind == PASSAGE_BLANKS && is_space(text.ptr[i]) ? ' ' : text.ptr[i];
    return r;
}

/* Goes from match to match. */
struct search {
    const struct passage *passage;
    size_t at;   /* in the squeezed text */
    size_t i;    /* in the text */
    size_t kept; /* squeezed bytes before `i` */
    size_t end;  /* of the last match, in the text */
};

/* Moves to the byte of the text that is number `wanted` of the squeezed one. */
static void advance(struct search *search, size_t wanted)
{
    struct str text = search->passage->text;
    enum passage_kind kind = search->passage->kind;

    if (kind == PASSAGE_EXACT) {
        search->i = wanted;
        return;
    }
    for (; search->i < text.len; search->i++) {
        if (!is_kept(text, search->i, kind))
            continue;
        if (search->kept == wanted)
            return;
        search->kept++;
    }
}

/* Over blanks, and as many line ends as the passage has there. */
static size_t reach_back(struct str text, size_t at, struct str spaces)
{
    size_t to = at;

    if (spaces.len == 0)
        return at;
    while (to > 0 && is_blank(text.ptr[to - 1]))
        to--;
    at = to;
    for (size_t i = 0; i < spaces.len; i++) {
        if (spaces.ptr[i] != '\n')
            continue;
        while (to > 0 && is_blank(text.ptr[to - 1]))
            to--;
        if (to == 0 || text.ptr[to - 1] != '\n')
            break;
        at = --to;
    }
    return at;
}

static size_t reach_on(struct str text, size_t at, struct str spaces)
{
    size_t to = at;

    if (spaces.len == 0)
        return at;
    for (size_t i = 0; i < spaces.len; i++) {
        if (spaces.ptr[i] != '\n')
            continue;
        while (to < text.len && is_space(text.ptr[to]) && text.ptr[to] != '\n')
            to++;
        if (to == text.len || text.ptr[to] != '\n')
            break;
        at = ++to;
    }
    if (spaces.ptr[spaces.len - 1] != '\n')
        while (at < text.len && is_blank(text.ptr[at]))
            at++;
    return at;
}

static struct str leading(struct str text)
{
    struct str core = str_trim(text);

    return str_slice(text, 0, (size_t)(core.ptr - text.ptr));
}

static struct str trailing(struct str text)
{
    struct str core = str_trim(text);

    return str_slice(text, (size_t)(core.ptr - text.ptr) + core.len, text.len);
}

static bool find_next(struct search *search, struct range *out_range)
{
    const struct passage *passage = search->passage;
    bool is_exact = passage->kind == PASSAGE_EXACT;
    struct str text = is_exact ? passage->text : buf_view(&passage->small_text);
    struct str old = is_exact ? passage->old : buf_view(&passage->small_old);
    size_t found = str_find(str_slice(text, search->at, text.len), old);

    if (old.len == 0 || found == SIZE_MAX)
        return false;
    search->at += found;
    advance(search, search->at);
    out_range->start = search->i;
    search->at += old.len;
    advance(search, search->at - 1);
    out_range->end = search->i + 1;
    if (passage->kind == PASSAGE_BLANKS) {
        out_range->start = reach_back(passage->text, out_range->start, leading(passage->old));
        out_range->end = reach_on(passage->text, out_range->end, trailing(passage->old));
    }
    /* A line end is replaced whole. */
    if (out_range->start > 0 && passage->text.ptr[out_range->start] == '\n' &&
        passage->text.ptr[out_range->start - 1] == '\r')
        out_range->start--;
    if (out_range->start < search->end)
        out_range->start = search->end;
    search->end = out_range->end;
    return true;
}

static void note_line(struct passage *passage, size_t line)
{
    if (passage->line_count > 0 && passage->lines[passage->line_count - 1] == line)
        return;
    if (passage->line_count < PASSAGE_MAX_LINES)
        passage->lines[passage->line_count++] = line;
    else
        passage->has_more_lines = true;
}

static void count_matches(struct passage *passage)
{
    struct search search = {.passage = passage};
    struct range range;
    size_t line = 1;
    size_t at = 0;

    passage->count = 0;
    while (find_next(&search, &range)) {
        /* A passage that begins with a line end is told by the line behind. */
        for (; at < range.start || (at < range.end && is_space(passage->text.ptr[at])); at++)
            line += passage->text.ptr[at] == '\n';
        passage->count++;
        note_line(passage, line);
    }
}

int passage_find(struct passage *passage, struct str text, struct str old)
{
    int r = 0;

    *passage = (struct passage){.text = text, .old = old};
    buf_init(&passage->indented, NEW_MAX_BYTES);
    buf_init(&passage->with_lf, NEW_MAX_BYTES);
    buf_init(&passage->with_crlf, NEW_MAX_BYTES);
    passage->kind = PASSAGE_EXACT;
    count_matches(passage);
    while (r == 0 && passage->count == 0 && passage->kind != PASSAGE_BLANKS) {
        passage->kind++;
        r = squeeze(text, passage->kind, &passage->small_text);
        if (r == 0)
            r = squeeze(passage->kind == PASSAGE_BLANKS ? str_trim(old) : old, passage->kind,
                        &passage->small_old);
        if (r == 0)
            count_matches(passage);
    }
    return r;
}

void passage_done(struct passage *passage)
{
    buf_done(&passage->small_text);
    buf_done(&passage->small_old);
    buf_done(&passage->indented);
    buf_done(&passage->with_lf);
    buf_done(&passage->with_crlf);
}

/* ---- indentation ---- */

static struct str indent_of(struct str line)
{
    size_t len = 0;

    while (len < line.len && is_blank(line.ptr[len]))
        len++;
    return str_slice(line, 0, len);
}

/* What the file has where the passage has something else. */
struct indents {
    struct str old[INDENT_LINES];
    struct str file[INDENT_LINES];
    size_t count;
};

/* Both from the beginning of a line, if `begins_line`. Nothing if they break lines elsewhere. */
static void compare_indents(struct str old, struct str file, bool begins_line,
                            struct indents *out_indents)
{
    struct str old_line;
    struct str file_line;
    bool is_first = true;

    out_indents->count = 0;
    while (out_indents->count < INDENT_LINES && str_cut(&old, '\n', &old_line) &&
           str_cut(&file, '\n', &file_line)) {
        bool is_empty = str_trim(old_line).len == 0;

        if (is_empty != (str_trim(file_line).len == 0)) {
            out_indents->count = 0;
            return;
        }
        if (!is_empty && (begins_line || !is_first)) {
            out_indents->old[out_indents->count] = indent_of(old_line);
            out_indents->file[out_indents->count++] = indent_of(file_line);
        }
        is_first = false;
    }
}

static bool is_all(struct str text, char c)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != c)
            return false;
    return text.len > 0;
}

/* "        " when "    " is a tab: two tabs. False if it does not come out even. */
static bool scale(struct str indent, struct str old, struct str file, struct buf *out, int *out_r)
{
    char from = old.len > 0 ? old.ptr[0] : 0;
    char to = file.len > 0 ? file.ptr[0] : 0;
    size_t len;

    if (from == to || !is_all(old, from) || !is_all(file, to) || !is_all(indent, from) ||
        indent.len * file.len % old.len != 0)
        return false;
    len = indent.len * file.len / old.len;
    *out_r = buf_reserve(out, len);
    if (*out_r < 0)
        return true;
    memset(out->data + out->len, to, len);
    out->len += len;
    return true;
}

static int append_indent(const struct indents *indents, struct str indent, struct buf *out)
{
    size_t best = SIZE_MAX;
    int r = 0;

    for (size_t i = 0; i < indents->count; i++) {
        if (!str_starts_with(indent, indents->old[i]))
            continue;
        if (best == SIZE_MAX || indents->old[i].len > indents->old[best].len)
            best = i;
    }
    if (best == SIZE_MAX || indents->old[best].len < indent.len)
        for (size_t i = 0; i < indents->count; i++)
            if (scale(indent, indents->old[i], indents->file[i], out, &r))
                return r;
    if (best == SIZE_MAX)
        return buf_append_str(out, indent);
    r = buf_append_str(out, indents->file[best]);
    return r == 0 ? buf_append_str(out, str_slice(indent, indents->old[best].len, indent.len)) : r;
}

static int reindent(const struct indents *indents, struct str new, bool begins_line,
                    struct buf *out)
{
    bool is_first = true;
    struct str line;
    int r = 0;

    while (r == 0 && str_cut(&new, '\n', &line)) {
        struct str indent = indent_of(line);

        if (!is_first)
            r = buf_append_char(out, '\n');
        if (r == 0 && str_trim(line).len > 0 && (begins_line || !is_first)) {
            r = append_indent(indents, indent, out);
            line = str_slice(line, indent.len, line.len);
        }
        if (r == 0)
            r = buf_append_str(out, line);
        is_first = false;
    }
    return r;
}

/* The new text with the indentation of the one match. */
static int follow_indentation(const struct passage *passage, struct buf *out)
{
    struct search search = {.passage = passage};
    struct str before = leading(passage->old);
    bool begins_line = before.len > 0 && memchr(before.ptr, '\n', before.len) == NULL;
    struct indents indents;
    struct range range;

    if (!find_next(&search, &range))
        return ERR_INTERNAL;
    begins_line = begins_line && (range.start == 0 || passage->text.ptr[range.start - 1] == '\n');
    compare_indents(passage->old, str_slice(passage->text, range.start, range.end - range.start),
                    begins_line, &indents);
    return reindent(&indents, passage->new, begins_line, out);
}

/* ---- replacing ---- */

static int set_line_ends(struct str text, struct str line_end, struct buf *out)
{
    struct str line;
    bool is_first = true;
    int r = 0;

    while (r == 0 && str_cut(&text, '\n', &line)) {
        if (!is_first)
            r = buf_append_str(out, line_end);
        if (text.ptr != NULL && line.len > 0 && line.ptr[line.len - 1] == '\r')
            line.len--;
        if (r == 0)
            r = buf_append_str(out, line);
        is_first = false;
    }
    return r;
}

/* The new text for a match: with the line ends of the line it begins on. */
static struct str inserted(const struct passage *passage, size_t start)
{
    struct str text = passage->text;
    const char *end = memchr(text.ptr + start, '\n', text.len - start);

    if (!passage->has_lines)
        return passage->new;
    if (end == NULL)
        end = memrchr(text.ptr, '\n', start);
    if (end == NULL)
        return passage->new;
    return buf_view(end > text.ptr && end[-1] == '\r' ? &passage->with_crlf : &passage->with_lf);
}

int passage_replace_with(struct passage *passage, struct str new, uint64_t *out_size)
{
    struct search search = {.passage = passage};
    uint64_t size = passage->text.len;
    struct range range;
    int r = 0;

    passage->new = new;
    if (passage->kind == PASSAGE_BLANKS && passage->count == 1) {
        r = follow_indentation(passage, &passage->indented);
        passage->new = buf_view(&passage->indented);
    }
    passage->has_lines = memchr(passage->new.ptr, '\n', passage->new.len) != NULL;
    if (r == 0 && passage->has_lines)
        r = set_line_ends(passage->new, STR("\n"), &passage->with_lf);
    if (r == 0 && passage->has_lines)
        r = set_line_ends(passage->new, STR("\r\n"), &passage->with_crlf);
    if (r < 0)
        return r;
    while (find_next(&search, &range))
        size = size - (range.end - range.start) + inserted(passage, range.start).len;
    *out_size = size;
    return 0;
}

int passage_append_replaced(const struct passage *passage, struct buf *out)
{
    struct search search = {.passage = passage};
    struct range range;
    size_t at = 0;
    int r = 0;

    while (r == 0 && find_next(&search, &range)) {
        r = buf_append_str(out, str_slice(passage->text, at, range.start - at));
        if (r == 0)
            r = buf_append_str(out, inserted(passage, range.start));
        at = range.end;
    }
    return r == 0 ? buf_append_str(out, str_slice(passage->text, at, passage->text.len)) : r;
}

/* ---- words ---- */

void passage_name_lines(const struct passage *passage, char out_text[PASSAGE_HINT_BYTES])
{
    size_t len = (size_t)snprintf(out_text, PASSAGE_HINT_BYTES, "%s",
                                  passage->line_count == 1 ? "line" : "lines");

    for (size_t i = 0; i < passage->line_count && len < PASSAGE_HINT_BYTES; i++)
        len += (size_t)snprintf(out_text + len, PASSAGE_HINT_BYTES - len, "%s %zu",
                                i == 0 ? "" : ",", passage->lines[i]);
    if (passage->has_more_lines && len < PASSAGE_HINT_BYTES)
        snprintf(out_text + len, PASSAGE_HINT_BYTES - len, ", …");
}
