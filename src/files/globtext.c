/* SPDX-License-Identifier: Apache-2.0 */
#include "files/globtext.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_NESTING = 16, /* of braces and parentheses */
    MAX_RANGE = 256,  /* items; a glob has no more alternatives */
    MAX_BRACKETS = 4, /* components that are also read literally: they double the alternatives */
    RANGE_DIGITS = 18,
};

/* The length of a class that begins at `at`, or 0 if it is not closed. */
static size_t class_length(struct str text, size_t at)
{
    size_t i = at + 1;

    if (i < text.len && (text.ptr[i] == '!' || text.ptr[i] == '^'))
        i++;
    if (i < text.len && text.ptr[i] == ']')
        i++;
    for (; i < text.len && text.ptr[i] != '/'; i++) {
        if (text.ptr[i] == ']')
            return i + 1 - at;
        if (text.ptr[i] == '\\')
            i++;
    }
    return 0;
}

/* ---- parentheses and ranges ---- */

static bool is_number(struct str text, int64_t *out_number)
{
    return text.len > 0 && text.len <= RANGE_DIGITS && str_to_int64(text, out_number);
}

static int append_number(struct buf *out, int64_t number, size_t width)
{
    return number < 0
               ? buf_printf(out, "-%0*lld", (int)(width > 0 ? width - 1 : 0), (long long)-number)
               : buf_printf(out, "%0*lld", (int)width, (long long)number);
}

static bool is_padded(struct str text)
{
    if (text.len > 0 && text.ptr[0] == '-')
        text = str_slice(text, 1, text.len);
    return text.len > 1 && text.ptr[0] == '0';
}

static bool is_letter(struct str text)
{
    return text.len == 1 && ((text.ptr[0] >= 'a' && text.ptr[0] <= 'z') ||
                             (text.ptr[0] >= 'A' && text.ptr[0] <= 'Z'));
}

/* "a..c" between braces. Returns 1 if it is no range. */
static int append_range(struct str inside, struct buf *out, struct err *err)
{
    size_t dots = str_find(inside, STR(".."));
    struct str first;
    struct str last;
    int64_t from;
    int64_t to;
    size_t width = 0;
    bool has_letters;
    int r = 0;

    if (dots == SIZE_MAX)
        return 1;
    first = str_slice(inside, 0, dots);
    last = str_slice(inside, dots + 2, inside.len);
    has_letters = is_letter(first) && is_letter(last);
    if (has_letters) {
        from = (unsigned char)first.ptr[0];
        to = (unsigned char)last.ptr[0];
    } else if (!is_number(first, &from) || !is_number(last, &to)) {
        return 1;
    }
    if ((is_padded(first) || is_padded(last)) && !has_letters)
        width = first.len > last.len ? first.len : last.len;
    if (llabs(to - from) >= MAX_RANGE)
        return err_set(err, ERR_INVALID_ARGUMENT, "{%.*s} has more than %d items",
                       STR_ARG(str_slice(inside, 0, 64)), MAX_RANGE);
    r = buf_append_char(out, '{');
    for (int64_t step = from <= to ? 1 : -1; r == 0; from += step) {
        r = has_letters ? buf_append_char(out, (char)from) : append_number(out, from, width);
        if (from == to)
            break;
        if (r == 0)
            r = buf_append_char(out, ',');
    }
    return r == 0 ? buf_append_char(out, '}') : r;
}

struct nesting {
    char closes[MAX_NESTING]; /* what ends each level: ')' or '}' */
    size_t depth;
};

static bool is_closed(struct str rest)
{
    return memchr(rest.ptr, ')', rest.len) != NULL;
}

static int push(struct nesting *nesting, char closes, struct err *err)
{
    if (nesting->depth == MAX_NESTING)
        return err_set(err, ERR_INVALID_ARGUMENT, "braces are nested deeper than %d", MAX_NESTING);
    nesting->closes[nesting->depth++] = closes;
    return 0;
}

/* "@(" and the like. Returns 1 if it is none. */
static int open_group(struct str rest, struct nesting *nesting, struct buf *out, struct err *err)
{
    if (rest.len < 2 || rest.ptr[1] != '(' || memchr("@?+*!", rest.ptr[0], 5) == NULL ||
        !is_closed(rest))
        return 1;
    if (rest.ptr[0] != '@' && rest.ptr[0] != '?')
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "%c( is not supported: write {a,b} for either, or \\( for the character",
                       rest.ptr[0]);
    if (push(nesting, ')', err) < 0)
        return ERR_INVALID_ARGUMENT;
    return buf_append_str(out, rest.ptr[0] == '@' ? STR("{") : STR("{,"));
}

static int open_brace(struct str rest, struct nesting *nesting, struct buf *out, size_t *out_taken,
                      struct err *err)
{
    const char *end = memchr(rest.ptr, '}', rest.len);
    int r;

    *out_taken = 1;
    if (end != NULL) {
        size_t len = (size_t)(end - rest.ptr);

        r = append_range(str_slice(rest, 1, len - 1), out, err);
        if (r <= 0) {
            *out_taken = len + 1;
            return r;
        }
    }
    r = push(nesting, '}', err);
    return r == 0 ? buf_append_char(out, '{') : r;
}

static int append_plain(char c, struct nesting *nesting, struct buf *out)
{
    char closes = nesting->depth > 0 ? nesting->closes[nesting->depth - 1] : 0;

    if (closes != 0 && c == closes) {
        nesting->depth--;
        return buf_append_char(out, '}');
    }
    if (closes == ')' && c == '|')
        return buf_append_char(out, ',');
    if (closes == ')' && c == ',')
        return buf_append_str(out, STR("\\,"));
    return buf_append_char(out, c);
}

/* Turns parentheses and ranges into braces. */
static int expand(struct str text, struct buf *out, struct err *err)
{
    struct nesting nesting = {.depth = 0};
    int r = 0;

    for (size_t i = 0, taken; r == 0 && i < text.len; i += taken) {
        struct str rest = str_slice(text, i, text.len);

        taken = 1;
        if (rest.ptr[0] == '\\')
            taken = rest.len > 1 ? 2 : 1;
        else if (rest.ptr[0] == '[' && class_length(text, i) > 0)
            taken = class_length(text, i);
        if (taken > 1) {
            r = buf_append_str(out, str_slice(rest, 0, taken));
            continue;
        }
        if (rest.ptr[0] == '{') {
            r = open_brace(rest, &nesting, out, &taken, err);
            continue;
        }
        r = open_group(rest, &nesting, out, err);
        if (r == 0)
            taken = 2;
        else if (r > 0)
            r = append_plain(rest.ptr[0], &nesting, out);
    }
    return r;
}

/* ---- slashes ---- */

/* Without "." components and empty ones; "a/" is everything below a. */
static int clean(struct str text, struct buf *out)
{
    bool is_anchored = text.len > 0 && text.ptr[0] == '/';
    bool is_below = text.len > 0 && text.ptr[text.len - 1] == '/';
    size_t parts = 0;
    struct str rest = text;
    struct str part;
    int r = 0;

    while (r == 0 && str_cut(&rest, '/', &part)) {
        bool is_dot = str_eq(part, STR("."));

        is_anchored = is_anchored || (is_dot && parts == 0);
        is_below = is_below || (is_dot && rest.ptr == NULL);
        if (part.len == 0 || is_dot)
            continue;
        if (parts++ > 0)
            r = buf_append_char(out, '/');
        if (r == 0)
            r = buf_append_str(out, part);
    }
    if (r == 0 && is_below)
        r = buf_append_str(out, parts > 0 ? STR("/**") : STR("**"));
    /* What has no other slash would match at any depth. */
    if (r == 0 && is_anchored && parts == 1 && !is_below) {
        r = buf_append_char(out, ' ');
        if (r == 0) {
            memmove(out->data + 1, out->data, out->len - 1);
            out->data[0] = '/';
        }
    }
    return r;
}

/* ---- brackets ---- */

static bool has_class(struct str part)
{
    for (size_t i = 0; i < part.len; i++) {
        if (part.ptr[i] == '\\')
            i++;
        else if (part.ptr[i] == '[' && class_length(part, i) > 0)
            return true;
    }
    return false;
}

/* Whether braces open and close within the component. */
static bool is_balanced(struct str part)
{
    size_t depth = 0;

    for (size_t i = 0; i < part.len; i++) {
        if (part.ptr[i] == '\\')
            i++;
        else if (part.ptr[i] == '[' && class_length(part, i) > 0)
            i += class_length(part, i) - 1;
        else if (part.ptr[i] == '{')
            depth++;
        else if (part.ptr[i] == '}' && depth-- == 0)
            return false;
    }
    return depth == 0;
}

/* One choice between braces: its own commas are quoted, and brackets too if they are literal. */
static int append_choice(struct str part, bool is_literal, struct buf *out)
{
    size_t depth = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < part.len; i++) {
        char c = part.ptr[i];
        size_t class = c == '[' ? class_length(part, i) : 0;

        if (c == '\\' || (class > 0 && !is_literal)) {
            size_t len = c == '\\' ? 2 : class;

            r = buf_append_str(out, str_slice(part, i, len));
            i += len - 1;
            continue;
        }
        depth += c == '{';
        depth -= c == '}';
        if (c == '[' || c == ']' || (c == ',' && depth == 0))
            r = buf_append_char(out, '\\');
        if (r == 0)
            r = buf_append_char(out, c);
    }
    return r;
}

static int offer_literally(struct str text, struct buf *out)
{
    size_t brackets = 0;
    bool is_first = true;
    struct str part;
    int r = 0;

    while (r == 0 && str_cut(&text, '/', &part)) {
        if (!is_first)
            r = buf_append_char(out, '/');
        is_first = false;
        if (r < 0)
            break;
        if (!has_class(part) || !is_balanced(part) || brackets == MAX_BRACKETS) {
            r = buf_append_str(out, part);
            continue;
        }
        brackets++;
        r = buf_append_char(out, '{');
        if (r == 0)
            r = append_choice(part, true, out);
        if (r == 0)
            r = buf_append_char(out, ',');
        if (r == 0)
            r = append_choice(part, false, out);
        if (r == 0)
            r = buf_append_char(out, '}');
    }
    return r;
}

int globtext_rewrite(struct str text, struct buf *out, struct err *err)
{
    cleanup_buf struct buf expanded = BUF_INIT(out->max);
    cleanup_buf struct buf cleaned = BUF_INIT(out->max);
    int r = expand(text, &expanded, err);

    if (r == 0)
        r = clean(buf_view(&expanded), &cleaned);
    return r == 0 ? offer_literally(buf_view(&cleaned), out) : r;
}

bool globtext_is_literal(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (memchr("*?[]{}\\", text.ptr[i], 7) != NULL)
            return false;
    return str_find(text, STR("@(")) == SIZE_MAX;
}
