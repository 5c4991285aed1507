/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/mcp/splice.h"

#include <string.h>

/* What a line of the text is. */
enum kind { LINE_EMPTY, LINE_HEADER, LINE_PAIR, LINE_MORE /* of a value */ };

enum place { PLACE_TOP, PLACE_SERVERS, PLACE_OURS, PLACE_BELOW, PLACE_ELSEWHERE };

struct reading {
    struct str text;
    struct str group;
    struct str name;
    size_t at;   /* the beginning of the next line */
    size_t line; /* its number, less one */
    long depth;  /* of open brackets */
    enum place place;
    const char *problem;
    /* Our table: behind its header, and behind its last pair. */
    bool has_found;
    size_t from;
    size_t to;
    /* Without our tables: where the text goes, up to the end of the last line that is not empty; or
     * NULL. */
    struct buf *rest;
    size_t kept;
    int error;
};

static struct str between(struct str text, size_t from, size_t to)
{
    return str_slice(text, from, to - from);
}

static bool fails(struct reading *reading, const char *problem)
{
    if (reading->problem == NULL)
        reading->problem = problem;
    return false;
}

/* Behind the string that begins at `at`, or SIZE_MAX. */
static size_t string_end(struct str line, size_t at)
{
    char quote = line.ptr[at];

    for (at++; at < line.len; at++) {
        if (line.ptr[at] == '\\' && quote == '"')
            at++;
        else if (line.ptr[at] == quote)
            return at + 1;
    }
    return SIZE_MAX;
}

/* Follows brackets to the end of the line. */
static bool follow(struct reading *reading, struct str line)
{
    for (size_t at = 0; at < line.len;) {
        char c = line.ptr[at];

        if (c == '#')
            break;
        if (c == '"' || c == '\'') {
            at = string_end(line, at);
            if (at == SIZE_MAX)
                return fails(reading, "a string has no end");
            continue;
        }
        reading->depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
        if (reading->depth < 0)
            return fails(reading, "a bracket is closed that was not opened");
        at++;
    }
    return true;
}

static bool is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* Takes one part of a dotted key off the text; false at the end, or if it is none. */
static bool take_part(struct str *text, struct str *out_part)
{
    size_t len = 0;

    *text = str_trim(*text);
    if (text->len == 0)
        return false;
    if (text->ptr[0] == '"' || text->ptr[0] == '\'') {
        len = string_end(*text, 0);
        if (len == SIZE_MAX)
            return false;
        *out_part = between(*text, 1, len - 1);
    } else {
        while (len < text->len && is_bare(text->ptr[len]))
            len++;
        if (len == 0)
            return false;
        *out_part = between(*text, 0, len);
    }
    *text = str_trim(between(*text, len, text->len));
    if (text->len > 0 && text->ptr[0] == '.')
        *text = between(*text, 1, text->len);
    return true;
}

/* "[a.b]", "[[a]]", with a comment behind. */
static bool read_header(struct reading *reading, struct str line)
{
    bool is_list = str_starts_with(line, STR("[["));
    size_t end = 0;
    struct str parts[3] = {STR_EMPTY, STR_EMPTY, STR_EMPTY};
    size_t count = 0;
    struct str text;
    struct str part;

    while (end < line.len && line.ptr[end] != ']') {
        if (line.ptr[end] == '"' || line.ptr[end] == '\'')
            end = string_end(line, end);
        else
            end++;
    }
    if (end >= line.len)
        return fails(reading, "a table has no ]");
    text = str_trim(between(line, is_list ? 2 : 1, end));
    while (text.len > 0) {
        if (!take_part(&text, &part))
            return fails(reading, "the name of a table is not understood");
        if (count < 3)
            parts[count] = part;
        count++;
    }
    reading->place = PLACE_ELSEWHERE;
    if (count == 0 || !str_eq(parts[0], reading->group))
        return true;
    if (is_list)
        return fails(reading, "the servers are a list");
    if (count == 1)
        reading->place = PLACE_SERVERS;
    if (count == 2 && str_eq(parts[1], reading->name)) {
        if (reading->has_found)
            return fails(reading, "the table occurs twice");
        reading->place = PLACE_OURS;
        reading->has_found = true;
    }
    if (count > 2 && str_eq(parts[1], reading->name))
        reading->place = PLACE_BELOW;
    return true;
}

/* "a.b = value" */
static bool read_pair(struct reading *reading, struct str line)
{
    struct str rest = line;
    struct str part;

    if (!take_part(&rest, &part))
        return fails(reading, "it is not understood");
    if (reading->place == PLACE_TOP && str_eq(part, reading->group))
        return fails(reading, "the servers are not written as tables");
    if (reading->place == PLACE_SERVERS && str_eq(part, reading->name))
        return fails(reading, "the server is not written as a table");
    return follow(reading, line);
}

static enum kind kind_of(const struct reading *reading, struct str line)
{
    if (reading->depth > 0)
        return LINE_MORE;
    if (line.len == 0 || line.ptr[0] == '#')
        return LINE_EMPTY;
    return line.ptr[0] == '[' ? LINE_HEADER : LINE_PAIR;
}

/* Empty lines and comments belong to what follows them; one empty line in front of us goes with us.
 */
static void keep_line(struct reading *reading, enum kind kind, size_t next)
{
    bool is_ours = reading->place == PLACE_OURS || reading->place == PLACE_BELOW;
    struct str before;

    if (kind == LINE_EMPTY)
        return;
    before = between(reading->text, reading->kept, reading->at);
    if (is_ours && kind != LINE_HEADER)
        before = STR_EMPTY;
    else if (is_ours && str_ends_with(before, STR("\n")) && str_trim(before).len == 0)
        before.len--;
    if (reading->error == 0)
        reading->error = buf_append_str(reading->rest, before);
    if (reading->error == 0 && !is_ours)
        reading->error = buf_append_str(reading->rest, between(reading->text, reading->at, next));
    reading->kept = next;
}

static bool read_line(struct reading *reading)
{
    struct str rest = between(reading->text, reading->at, reading->text.len);
    size_t len = str_find(rest, STR("\n"));
    struct str line = str_trim(between(rest, 0, len == SIZE_MAX ? rest.len : len));
    size_t next = reading->at + (len == SIZE_MAX ? rest.len : len + 1);
    enum kind kind = kind_of(reading, line);
    bool is_good = kind == LINE_EMPTY;

    if (kind == LINE_HEADER)
        is_good = read_header(reading, line);
    else if (kind == LINE_PAIR)
        is_good = read_pair(reading, line);
    else if (kind == LINE_MORE)
        is_good = follow(reading, line);
    if (reading->rest != NULL)
        keep_line(reading, kind, next);
    reading->at = next;
    if (reading->place == PLACE_OURS && kind == LINE_HEADER)
        reading->from = reading->to = next;
    if (reading->place == PLACE_OURS && (kind == LINE_PAIR || kind == LINE_MORE))
        reading->to = next;
    reading->line += is_good;
    return is_good;
}

static bool read_all(struct reading *reading)
{
    if (str_find(reading->text, STR("\"\"\"")) != SIZE_MAX ||
        str_find(reading->text, STR("'''")) != SIZE_MAX)
        return fails(reading, "a string has several lines");
    while (reading->at < reading->text.len)
        if (!read_line(reading))
            return false;
    return reading->depth == 0 || fails(reading, "a bracket is not closed");
}

static int take_out(struct reading *reading, struct buf *out, struct err *err)
{
    reading->rest = out;
    if (!read_all(reading))
        return err_set(err, ERR_UNSUPPORTED, "line %zu: %s", reading->line + 1, reading->problem);
    if (reading->error == 0)
        reading->error =
            buf_append_str(out, between(reading->text, reading->kept, reading->text.len));
    return reading->error < 0 ? err_set_plain(err, reading->error) : 0;
}

int splice_toml(struct str text, struct str group, struct str name, struct str body,
                struct buf *out, struct err *err)
{
    struct reading reading = {.text = text, .group = group, .name = name};
    bool needs_newline = text.len > 0 && text.ptr[text.len - 1] != '\n';
    int r;

    if (body.len == 0)
        return take_out(&reading, out, err);
    if (!read_all(&reading))
        return err_set(err, ERR_UNSUPPORTED, "line %zu: %s", reading.line + 1, reading.problem);
    if (!reading.has_found) {
        r = buf_append_str(out, text);
        if (r == 0)
            r = buf_printf(out, "%s%s[%.*s.%.*s]\n", needs_newline ? "\n" : "",
                           text.len > 0 ? "\n" : "", STR_ARG(group), STR_ARG(name));
        if (r == 0)
            r = buf_append_str(out, body);
        return r < 0 ? err_set_plain(err, r) : 0;
    }
    r = buf_append_str(out, between(text, 0, reading.from));
    if (r == 0 && needs_newline && reading.from == text.len)
        r = buf_append_char(out, '\n');
    if (r == 0)
        r = buf_append_str(out, body);
    if (r == 0)
        r = buf_append_str(out, between(text, reading.to, text.len));
    return r < 0 ? err_set_plain(err, r) : 0;
}
