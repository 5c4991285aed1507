/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/mcp/splice.h"

#include <string.h>

/* Where something is: offsets into the text. */
struct span {
    size_t from;
    size_t to;
};

struct scan {
    struct str text;
    size_t at;
    const char *problem; /* the first one */
};

/* An object, and the member of it that was looked for. */
struct object {
    struct span whole; /* with its braces */
    struct span first; /* the key of the first member; empty: there is none */
    size_t last_end;   /* behind the last value */
    bool has_comma;    /* behind that */
    bool has_found;
    struct span found; /* the value of the member */
    size_t key;        /* where the member begins */
    size_t before;     /* the comma in front of it; 0: it is the first */
    size_t behind;     /* past the comma that follows it; 0: none does */
};

static struct str between(struct str text, size_t from, size_t to)
{
    return str_slice(text, from, to - from);
}

static bool fails(struct scan *scan, const char *problem)
{
    if (scan->problem == NULL)
        scan->problem = problem;
    return false;
}

static bool is_next(const struct scan *scan, const char *word)
{
    return str_starts_with(between(scan->text, scan->at, scan->text.len), str_from(word));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* White space and comments. */
static bool skip_blanks(struct scan *scan)
{
    for (;;) {
        if (scan->at < scan->text.len && is_blank(scan->text.ptr[scan->at])) {
            scan->at++;
        } else if (is_next(scan, "//")) {
            while (scan->at < scan->text.len && scan->text.ptr[scan->at] != '\n')
                scan->at++;
        } else if (is_next(scan, "/*")) {
            size_t end = str_find(between(scan->text, scan->at + 2, scan->text.len), STR("*/"));

            if (end == SIZE_MAX)
                return fails(scan, "a comment has no end");
            scan->at += end + 4;
        } else {
            return true;
        }
    }
}

static bool skip_string(struct scan *scan)
{
    if (!is_next(scan, "\""))
        return fails(scan, "a string is missing");
    for (scan->at++; scan->at < scan->text.len; scan->at++) {
        char c = scan->text.ptr[scan->at];

        if (c == '\\' && scan->at + 1 < scan->text.len)
            scan->at++;
        else if (c == '\n')
            break;
        else if (c == '"') {
            scan->at++;
            return true;
        }
    }
    return fails(scan, "a string has no end");
}

/* A number, true, false or null: any word will do, since it is only passed over. */
static bool skip_word(struct scan *scan)
{
    size_t from = scan->at;

    while (scan->at < scan->text.len &&
           (strchr("+-.", scan->text.ptr[scan->at]) != NULL ||
            (scan->text.ptr[scan->at] >= '0' && scan->text.ptr[scan->at] <= '9') ||
            (scan->text.ptr[scan->at] >= 'A' && scan->text.ptr[scan->at] <= 'z')) &&
           scan->text.ptr[scan->at] != '\0' && strchr("[]\\^`", scan->text.ptr[scan->at]) == NULL)
        scan->at++;
    return scan->at > from || fails(scan, "a value is missing");
}

static bool skip_value(struct scan *scan, unsigned depth);

/* NOLINTBEGIN(misc-no-recursion): up to SPLICE_MAX_DEPTH */

/* Passes over one object and remembers the member of this name. */
static bool read_object(struct scan *scan, struct str name, unsigned depth, struct object *object)
{
    size_t comma = 0;

    *object = (struct object){.whole.from = scan->at};
    scan->at++;
    for (;;) {
        struct span key;
        size_t value;
        struct str text;
        bool is_it;

        if (!skip_blanks(scan))
            return false;
        if (is_next(scan, "}"))
            break;
        if (object->first.to > 0 && !object->has_comma)
            return fails(scan, "a comma is missing");
        key.from = scan->at;
        if (!skip_string(scan))
            return false;
        key.to = scan->at;
        if (!skip_blanks(scan) || !is_next(scan, ":"))
            return fails(scan, "a colon is missing");
        scan->at++;
        if (!skip_blanks(scan))
            return false;
        value = scan->at;
        if (!skip_value(scan, depth))
            return false;
        if (object->first.to == 0)
            object->first = key;
        object->last_end = scan->at;
        text = between(scan->text, key.from + 1, key.to - 1);
        is_it = name.len > 0 && str_eq(text, name);
        if (is_it) {
            if (object->has_found)
                return fails(scan, "a name occurs twice");
            object->has_found = true;
            object->found = (struct span){value, scan->at};
            object->key = key.from;
            object->before = comma;
        } else if (name.len > 0 && memchr(text.ptr, '\\', text.len) != NULL) {
            return fails(scan, "a name has an escaped character"); /* it might be ours */
        }
        if (!skip_blanks(scan))
            return false;
        object->has_comma = is_next(scan, ",");
        comma = scan->at;
        if (object->has_comma)
            scan->at++;
        if (is_it && object->has_comma)
            object->behind = scan->at;
    }
    scan->at++;
    object->whole.to = scan->at;
    return true;
}

static bool skip_array(struct scan *scan, unsigned depth)
{
    bool has_comma = true;

    for (scan->at++;;) {
        if (!skip_blanks(scan))
            return false;
        if (is_next(scan, "]")) {
            scan->at++;
            return true;
        }
        if (!has_comma)
            return fails(scan, "a comma is missing");
        if (!skip_value(scan, depth) || !skip_blanks(scan))
            return false;
        has_comma = is_next(scan, ",");
        if (has_comma)
            scan->at++;
    }
}

static bool skip_value(struct scan *scan, unsigned depth)
{
    struct object ignored;

    if (depth == SPLICE_MAX_DEPTH)
        return fails(scan, "it is nested too deeply");
    if (is_next(scan, "{"))
        return read_object(scan, STR_EMPTY, depth + 1, &ignored);
    if (is_next(scan, "["))
        return skip_array(scan, depth + 1);
    return is_next(scan, "\"") ? skip_string(scan) : skip_word(scan);
}

/* NOLINTEND(misc-no-recursion) */

/* ---- writing ---- */

struct splicing {
    struct str text;
    struct str newline;
    struct str unit; /* one step of indentation */
    struct buf *out;
    int error; /* the first one */
};

static void put(struct splicing *splicing, struct str text)
{
    if (splicing->error == 0)
        splicing->error = buf_append_str(splicing->out, text);
}

static void put_text(struct splicing *splicing, size_t from, size_t to)
{
    put(splicing, between(splicing->text, from, to));
}

/* The blanks at the beginning of the line of `at`. */
static struct str indent_of(struct str text, size_t at)
{
    size_t from = at;
    size_t to;

    while (from > 0 && text.ptr[from - 1] != '\n')
        from--;
    to = from;
    while (to < at && (text.ptr[to] == ' ' || text.ptr[to] == '\t'))
        to++;
    return between(text, from, to);
}

static bool starts_line(struct str text, size_t at)
{
    struct str indent = indent_of(text, at);

    return indent.ptr + indent.len == text.ptr + at && indent.ptr != text.ptr;
}

struct indent {
    struct str of; /* of a line of the text */
    unsigned more; /* units in addition */
};

static void put_line_start(struct splicing *splicing, struct indent indent)
{
    put(splicing, splicing->newline);
    put(splicing, indent.of);
    for (unsigned i = 0; i < indent.more; i++)
        put(splicing, splicing->unit);
}

/* The lines of a value, whose first one is written already as far as here. */
static void put_value(struct splicing *splicing, struct str value, struct indent indent)
{
    struct str line;
    bool is_first = true;

    while (str_cut(&value, '\n', &line)) {
        struct indent own = indent;

        while (str_starts_with(line, STR("  "))) {
            line = between(line, 2, line.len);
            own.more++;
        }
        if (!is_first)
            put_line_start(splicing, own);
        is_first = false;
        put(splicing, line);
    }
}

static void put_key(struct splicing *splicing, struct str key)
{
    put(splicing, STR("\""));
    put(splicing, key);
    put(splicing, STR("\": "));
}

/* A new member of the group, or the group with the member in it. */
static void put_member(struct splicing *splicing, struct str group, struct str name,
                       struct str value, struct indent indent)
{
    if (group.len > 0) {
        struct indent inner = {indent.of, indent.more + 1};

        put_key(splicing, group);
        put(splicing, STR("{"));
        put_line_start(splicing, inner);
        put_key(splicing, name);
        put_value(splicing, value, inner);
        put_line_start(splicing, indent);
        put(splicing, STR("}"));
        return;
    }
    put_key(splicing, name);
    put_value(splicing, value, indent);
}

/* Behind the last member and the comments that follow it. */
static void put_into(struct splicing *splicing, const struct object *object, struct str group,
                     struct str name, struct str value)
{
    struct str text = splicing->text;
    size_t close = object->whole.to - 1;
    size_t end = close;
    struct indent own = {indent_of(text, object->whole.from), 0};
    struct indent inner = {own.of, 1};

    while (end > object->whole.from + 1 && is_blank(text.ptr[end - 1]))
        end--;
    if (object->first.to > 0 && starts_line(text, object->first.from))
        inner = (struct indent){indent_of(text, object->first.from), 0};
    if (object->first.to > 0 && !object->has_comma) {
        put_text(splicing, 0, object->last_end);
        put(splicing, STR(","));
        put_text(splicing, object->last_end, end);
    } else {
        put_text(splicing, 0, end);
    }
    put_line_start(splicing, inner);
    put_member(splicing, group, name, value, inner);
    if (object->has_comma)
        put(splicing, STR(","));
    if (memchr(text.ptr + end, '\n', close - end) != NULL)
        put_text(splicing, end, close);
    else
        put_line_start(splicing, own);
    put_text(splicing, close, text.len);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* The member with its lines, if there is nothing else on them. */
static struct span lines_of(struct str text, struct span member)
{
    size_t end = member.to;

    while (end < text.len && (is_space(text.ptr[end]) || text.ptr[end] == '\r'))
        end++;
    if (!starts_line(text, member.from) || end == text.len || text.ptr[end] != '\n') {
        while (member.to < text.len && is_space(text.ptr[member.to]))
            member.to++;
        return member;
    }
    return (struct span){member.from - indent_of(text, member.from).len, end + 1};
}

static bool is_blank_between(struct str text, size_t from, size_t to)
{
    while (from < to && is_blank(text.ptr[from]))
        from++;
    return from == to;
}

/* The comma in front goes, too, if none follows: most clients want none at the end. */
static void put_without(struct splicing *splicing, const struct object *object)
{
    struct str text = splicing->text;
    bool is_last = object->behind == 0;
    struct span gone = {object->key, is_last ? object->found.to : object->behind};

    if (object->before == 0 && is_blank_between(text, object->whole.from + 1, gone.from) &&
        is_blank_between(text, gone.to, object->whole.to - 1)) {
        put_text(splicing, 0, object->whole.from + 1);
        put_text(splicing, object->whole.to - 1, text.len);
        return;
    }
    gone = lines_of(text, gone);
    if (is_last && object->before > 0) {
        put_text(splicing, 0, object->before);
        put_text(splicing, object->before + 1, gone.from);
    } else {
        put_text(splicing, 0, gone.from);
    }
    put_text(splicing, gone.to, text.len);
}

static int refuse(const struct scan *scan, struct err *err)
{
    size_t line = 1;

    for (size_t i = 0; i < scan->at && i < scan->text.len; i++)
        line += scan->text.ptr[i] == '\n';
    return err_set(err, ERR_UNSUPPORTED, "line %zu: %s", line, scan->problem);
}

static void put_new(struct splicing *splicing, struct str group, struct str name, struct str value)
{
    size_t end = splicing->text.len;

    while (end > 0 && is_blank(splicing->text.ptr[end - 1]))
        end--;
    put_text(splicing, 0, end);
    if (end > 0)
        put(splicing, splicing->newline);
    put(splicing, STR("{"));
    put_line_start(splicing, (struct indent){STR_EMPTY, 1});
    put_member(splicing, group, name, value, (struct indent){STR_EMPTY, 1});
    put(splicing, splicing->newline);
    put(splicing, STR("}"));
    put(splicing, splicing->newline);
}

static void put_found(struct splicing *splicing, const struct span *found, struct str value)
{
    put_text(splicing, 0, found->from);
    put_value(splicing, value, (struct indent){indent_of(splicing->text, found->from), 0});
    put_text(splicing, found->to, splicing->text.len);
}

/* How much deeper than the object its members stand. */
static struct str unit_of(struct str text, const struct object *object)
{
    struct str inner = indent_of(text, object->first.from);
    size_t outer = indent_of(text, object->whole.from).len;

    return inner.len > outer ? between(inner, outer, inner.len) : STR("  ");
}

/* The text without the server, or with it. */
static int finish(struct splicing *splicing, const struct object *servers, struct str name,
                  struct str value, struct err *err)
{
    if (servers->has_found && value.len == 0)
        put_without(splicing, servers);
    else if (servers->has_found)
        put_found(splicing, &servers->found, value);
    else if (value.len == 0)
        put(splicing, splicing->text);
    else
        put_into(splicing, servers, STR_EMPTY, name, value);
    return splicing->error < 0 ? err_set_plain(err, splicing->error) : 0;
}

/* There is no group of servers yet. */
static int finish_first(struct splicing *splicing, const struct object *top, struct str group,
                        struct str name, struct str value, struct err *err)
{
    if (value.len == 0)
        put(splicing, splicing->text);
    else if (top == NULL)
        put_new(splicing, group, name, value);
    else
        put_into(splicing, top, group, name, value);
    return splicing->error < 0 ? err_set_plain(err, splicing->error) : 0;
}

int splice_json(struct str text, struct str group, struct str name, struct str value,
                struct buf *out, struct err *err)
{
    struct scan scan = {.text = text};
    struct splicing splicing = {.text = text,
                                .newline = str_find(text, STR("\r\n")) != SIZE_MAX ? STR("\r\n")
                                                                                   : STR("\n"),
                                .unit = STR("  "),
                                .out = out};
    struct object top;
    struct object servers;

    if (str_starts_with(text, STR("\xEF\xBB\xBF")))
        scan.at = 3;
    if (!skip_blanks(&scan))
        return refuse(&scan, err);
    if (scan.at == text.len)
        return finish_first(&splicing, NULL, group, name, value, err);
    if (!is_next(&scan, "{")) {
        fails(&scan, "it does not begin with {");
        return refuse(&scan, err);
    }
    if (!read_object(&scan, group, 0, &top) || !skip_blanks(&scan))
        return refuse(&scan, err);
    if (scan.at < text.len) {
        fails(&scan, "something follows the last }");
        return refuse(&scan, err);
    }
    if (top.first.to > 0 && starts_line(text, top.first.from))
        splicing.unit = unit_of(text, &top);
    if (!top.has_found)
        return finish_first(&splicing, &top, group, name, value, err);
    scan.at = top.found.from;
    if (!is_next(&scan, "{")) {
        fails(&scan, "the list of servers is not an object");
        return refuse(&scan, err);
    }
    if (!read_object(&scan, name, 1, &servers))
        return refuse(&scan, err);
    return finish(&splicing, &servers, name, value, err);
}
