/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol/resulttext.h"

#include <string.h>

#include "base/jsonwrite.h"
#include "base/printable.h"
#include "base/utf8.h"

enum { QUICK_MAX_BYTES = 256 };

enum kind {
    NOTE,    /* in the last line */
    FLAG,    /* its name in the last line, if it is true */
    QUIET,   /* in the last line, if there is a note */
    STATUS,  /* in the last line, unless it is 0 and there is text */
    ECHO,    /* the client knows it: left out */
    TEXT,    /* as it is */
    STDERR,  /* the same, after a line that says so */
    MATCHES, /* lines below the name of their file */
    FILES,   /* texts with a line before each */
};

struct rule {
    struct str name;
    enum kind kind;
    const char *nothing; /* the last line begins with this if there is no text; or NULL */
};

enum { RULES_FOR_TEXT = 6 }; /* TEXT, MATCHES and FILES: they come first */

/* Members that are not listed are notes. */
static const struct rule rules[] = {
    {STR_LITERAL("content"), TEXT, "empty"},
    {STR_LITERAL("diff"), TEXT, "no difference"},
    {STR_LITERAL("output"), TEXT, "no output"},
    {STR_LITERAL("stdout"), TEXT, "no output"},
    {STR_LITERAL("matches"), MATCHES, "no matches"},
    {STR_LITERAL("files"), FILES, NULL},
    {STR_LITERAL("stderr"), STDERR, NULL},
    {STR_LITERAL("path"), ECHO, NULL},
    {STR_LITERAL("name"), ECHO, NULL},
    {STR_LITERAL("query"), ECHO, NULL},
    {STR_LITERAL("pattern"), ECHO, NULL},
    {STR_LITERAL("jobId"), ECHO, NULL},
    {STR_LITERAL("truncated"), FLAG, NULL},
    {STR_LITERAL("totalIsMinimum"), FLAG, NULL},
    {STR_LITERAL("dryRun"), FLAG, NULL},
    {STR_LITERAL("hasMore"), FLAG, NULL},
    {STR_LITERAL("timedOut"), FLAG, NULL},
    {STR_LITERAL("totalLines"), QUIET, NULL},
    {STR_LITERAL("totalMatches"), QUIET, NULL},
    {STR_LITERAL("replacements"), QUIET, NULL},
    {STR_LITERAL("exitCode"), STATUS, NULL},
};

static const struct rule *rule_of(const struct json_value *key)
{
    static const struct rule note = {STR_LITERAL(""), NOTE, NULL};

    for (size_t i = 0; i < array_size(rules); i++)
        if (str_eq(rules[i].name, json_str(key)))
            return &rules[i];
    return &note;
}

/* ---- lines ---- */

static int begin_line(struct buf *out)
{
    return out->len > 0 && out->data[out->len - 1] != '\n' ? buf_append_char(out, '\n') : 0;
}

static int append_text(struct str text, struct buf *out)
{
    int r = text.len > 0 ? begin_line(out) : 0;

    return r == 0 ? buf_append_str(out, text) : r;
}

/* A name that could end its line, or look like something else in it, is not shown as it is. */
static int append_name(struct str name, struct buf *out)
{
    return printable_replace(out, name, PRINTABLE_BLANKS, STR(UTF8_REPLACEMENT));
}

static int append_numbered(int64_t number, char mark, struct str line, struct buf *out)
{
    int r = buf_append_int(out, number);

    if (r == 0)
        r = buf_append_char(out, mark);
    if (r == 0)
        r = buf_append_str(out, line);
    return r == 0 ? buf_append_char(out, '\n') : r;
}

/* Lines around a match. Those up to `told` were told before, and those from `until` on will be. */
static int append_context(const struct json_value *lines, int64_t first, int64_t told,
                          int64_t until, struct buf *out)
{
    int64_t at = first;
    int r = 0;

    if (lines == NULL)
        return 0;
    json_each_item (line, lines) {
        if (r == 0 && at > told && at < until)
            r = append_numbered(at, '-', json_str(line), out);
        at++;
    }
    return r;
}

static uint32_t count_of(const struct json_value *lines)
{
    return lines != NULL ? lines->size : 0;
}

/* *told is the last line so far, 0 for none; `next` is the match after this one. */
static int append_match(const struct json_value *match, int64_t *told, int64_t next,
                        struct buf *out)
{
    const struct json_value *before = json_get(match, STR("before"));
    const struct json_value *after = json_get(match, STR("after"));
    struct str line = STR_EMPTY;
    int64_t number = 0;
    int64_t first;
    int64_t last;
    int r = 0;

    if (!json_get_int(match, STR("lineNumber"), &number))
        return 0; /* a file that was found by its name */
    (void)json_get_str(match, STR("line"), &line);
    first = number - count_of(before);
    last = number + count_of(after);
    if (*told > 0 && first > *told + 1 && (before != NULL || after != NULL))
        r = buf_append_str(out, STR("--\n"));
    if (r == 0)
        r = append_context(before, first, *told, number, out);
    if (r == 0)
        r = append_numbered(number, ':', line, out);
    if (r == 0)
        r = append_context(after, number + 1, number, next, out);
    *told = last < next ? last : next - 1;
    return r;
}

/* The number of the match that follows in the same file. */
static int64_t next_in(struct str path, const struct json_value *match,
                       const struct json_value *end)
{
    int64_t number = INT64_MAX;
    struct str other;

    if (match != end && json_get_str(match, STR("path"), &other) && str_eq(path, other))
        (void)json_get_int(match, STR("lineNumber"), &number);
    return number;
}

/* As `rg --heading` shows them. */
static int append_matches(const struct json_value *matches, struct buf *out)
{
    struct str last = STR_EMPTY;
    int64_t told = 0;
    int r = 0;

    json_each_item (match, matches) {
        struct str path = STR_EMPTY;

        (void)json_get_str(match, STR("path"), &path);
        if (!str_eq(path, last)) {
            told = 0;
            r = append_name(path, out);
            if (r == 0)
                r = buf_append_char(out, '\n');
        }
        if (r == 0)
            r = append_match(match, &told, next_in(path, json_next(match), json_next(matches)),
                             out);
        if (r < 0)
            return r;
        last = path;
    }
    return 0;
}

/* ---- the last line ---- */

static bool is_told(const struct json_value *key, bool has_text)
{
    const struct json_value *value = key + 1;
    enum kind kind = rule_of(key)->kind;

    return kind == NOTE || (kind == FLAG && value->type == JSON_BOOL && value->integer == 1) ||
           (kind == STATUS && (!has_text || value->type != JSON_INT || value->integer != 0));
}

static int append_note(const struct json_value *key, struct buf *out)
{
    const struct json_value *value = key + 1;
    struct json_writer w;
    int r = buf_append_str(out, json_str(key));

    if (r < 0 || rule_of(key)->kind == FLAG)
        return r;
    r = buf_append_char(out, ' ');
    if (r < 0 || value->type == JSON_STRING)
        return r < 0 ? r : buf_append_str(out, json_str(value));
    json_writer_init(&w, out);
    json_write_value(&w, value);
    return json_writer_finish(&w);
}

static int append_notes(const struct json_value *object, const char *nothing, struct buf *out)
{
    bool has_text = nothing == NULL;
    bool has_any = false;
    const char *between = "[";
    int r = 0;

    json_each_member (key, object)
        has_any = has_any || is_told(key, has_text);
    if (!has_any && has_text)
        return 0;
    r = begin_line(out);
    if (r == 0 && nothing != NULL) {
        r = buf_printf(out, "[%s", nothing);
        between = ", ";
    }
    json_each_member (key, object) {
        if (r < 0)
            return r;
        if (!is_told(key, has_text) && (!has_any || rule_of(key)->kind != QUIET))
            continue;
        r = buf_append_str(out, str_from(between));
        if (r == 0)
            r = append_note(key, out);
        between = ", ";
    }
    return r == 0 ? buf_append_char(out, ']') : r;
}

/* ---- objects ---- */

static int append_object(const struct json_value *object, struct buf *out);

/* Files that were read, as `head` shows several; of files that were edited, what is worth a line.
 */
static int append_files(const struct json_value *files, struct buf *out)
{
    int r = 0;

    json_each_item (file, files) {
        bool was_edited = json_get(file, STR("edits")) != NULL;
        struct str path = STR_EMPTY;
        struct str inexact;

        (void)json_get_str(file, STR("path"), &path);
        if (was_edited && !json_get_str(file, STR("inexact"), &inexact))
            continue;
        r = begin_line(out);
        if (r == 0)
            r = buf_append_str(out, was_edited ? STR("[") : STR("==> "));
        if (r == 0)
            r = append_name(path, out);
        if (r == 0 && was_edited)
            r = buf_printf(out, ": inexact %.*s]", STR_ARG(inexact));
        else if (r == 0)
            r = buf_append_str(out, STR(" <==\n"));
        if (r == 0 && !was_edited)
            r = append_object(file, out);
        if (r < 0)
            return r;
    }
    return 0;
}

static int append_member(const struct json_value *key, enum kind kind, struct buf *out)
{
    const struct json_value *value = key + 1;
    int r = 0;

    switch (kind) {
    case TEXT:
        return append_text(value->type == JSON_STRING ? json_str(value) : STR_EMPTY, out);
    case STDERR:
        if (value->type == JSON_STRING && value->size > 0)
            r = append_text(STR("[stderr]\n"), out);
        return r == 0 && value->type == JSON_STRING ? buf_append_str(out, json_str(value)) : r;
    case MATCHES:
        return append_matches(value, out);
    case FILES:
        return append_files(value, out);
    case NOTE:
    case FLAG:
    case QUIET:
    case STATUS:
    case ECHO:
        break;
    }
    return 0;
}

static int append_object(const struct json_value *object, struct buf *out)
{
    const char *nothing = NULL;
    size_t before = out->len;
    int r = 0;

    json_each_member (key, object) {
        const struct rule *rule = rule_of(key);

        r = append_member(key, rule->kind, out);
        if (r < 0)
            return r;
        if (rule->nothing != NULL)
            nothing = rule->nothing;
    }
    return append_notes(object, out->len == before ? nothing : NULL, out);
}

/* "files" is also a number in some results. */
static bool is_text(const struct json_value *key)
{
    switch (rule_of(key)->kind) {
    case TEXT:
        return key[1].type == JSON_STRING;
    case MATCHES:
    case FILES:
        return key[1].type == JSON_ARRAY;
    case STDERR:
    case NOTE:
    case FLAG:
    case QUIET:
    case STATUS:
    case ECHO:
        break;
    }
    return false;
}

static bool begins_with_text(struct str rest)
{
    for (size_t i = 0; i < RULES_FOR_TEXT; i++)
        if (rest.ptr[0] == rules[i].name.ptr[0] && str_starts_with(rest, rules[i].name))
            return true;
    return false;
}

bool resulttext_may_be_text(struct str object)
{
    struct str part;

    /* An escape may be a letter of a name. */
    if (object.len > QUICK_MAX_BYTES || memchr(object.ptr, '\\', object.len) != NULL)
        return true;
    /* A name comes after a quote. */
    while (str_cut(&object, '"', &part))
        if (object.len > 0 && begins_with_text(object))
            return true;
    return false;
}

int resulttext_write(const struct json_value *object, struct buf *out, bool *out_is_text)
{
    size_t before = out->len;
    int r;

    *out_is_text = false;
    json_each_member (key, object)
        *out_is_text = *out_is_text || is_text(key);
    if (!*out_is_text)
        return 0;
    r = append_object(object, out);
    if (r == 0 && out->len == before)
        *out_is_text = false;
    return r;
}

int resulttext_append_entry(const struct resulttext_entry *entry, struct buf *out)
{
    int r = append_name(entry->path, out);

    if (r == 0 && entry->is_directory)
        r = buf_append_char(out, '/');
    if (r == 0 && entry->has_size)
        r = buf_append_char(out, '\t');
    if (r == 0 && entry->has_size)
        r = buf_append_int(out, (int64_t)entry->size);
    if (r == 0 && entry->modified.len > 0)
        r = buf_append_char(out, '\t');
    if (r == 0)
        r = buf_append_str(out, entry->modified);
    return r == 0 ? buf_append_char(out, '\n') : r;
}

int resulttext_end_entries(bool is_truncated, struct buf *out)
{
    if (out->len == 0)
        return buf_append_str(out, is_truncated ? STR("[empty, truncated]") : STR("[empty]"));
    return is_truncated ? buf_append_str(out, STR("[truncated]")) : 0;
}
