/* SPDX-License-Identifier: Apache-2.0 */
#include "files/missing.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/printable.h"
#include "files/passage.h"

enum {
    SIMILAR_MAX_BYTES = 128 << 10, /* of a text in which similar lines are looked for */
    SIMILAR_MIN_LETTERS = 4,       /* shorter lines are all alike */
    SHOWN_BYTES = 80,
    PLACES_MAX = 64,        /* that begin like the passage */
    CHANGED_MAX = 64 << 20, /* bytes of a text with other characters */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* What follows the last line end is no line if it is empty. */
static size_t count_lines(struct str text)
{
    size_t lines = text.len > 0 && text.ptr[text.len - 1] != '\n';

    for (size_t i = 0; i < text.len; i++)
        lines += text.ptr[i] == '\n';
    return lines;
}

/* ---- what is often added by mistake ---- */

/* Takes "  12\t" off the line, or what else may stand behind a number. */
static bool take_number(struct str *line)
{
    static const struct str ends[] = {STR_LITERAL("\t"), STR_LITERAL(":"), STR_LITERAL("|"),
                                      STR_LITERAL("\xE2\x86\x92")}; /* an arrow */
    size_t digits = 0;
    size_t at = 0;

    while (at < line->len && is_blank(line->ptr[at]))
        at++;
    for (; at < line->len && line->ptr[at] >= '0' && line->ptr[at] <= '9'; at++)
        digits++;
    for (size_t i = 0; digits > 0 && i < array_size(ends); i++) {
        struct str rest = str_slice(*line, at, line->len);

        if (!str_starts_with(rest, ends[i]))
            continue;
        *line = str_slice(rest, ends[i].len, rest.len);
        return true;
    }
    return false;
}

/* Empty if a line has no number. */
static int drop_numbers(struct str text, struct buf *out)
{
    struct str line;
    int r = 0;

    text = str_trim(text);
    while (r == 0 && str_cut(&text, '\n', &line)) {
        if (!take_number(&line)) {
            buf_clear(out);
            return 0;
        }
        r = buf_append_str(out, line);
        if (r == 0)
            r = buf_append_char(out, '\n');
    }
    return r;
}

struct spelling {
    struct str from, to;
};

static int respell(struct str text, const struct spelling *spellings, size_t count, struct buf *out)
{
    int r = 0;

    for (size_t at = 0; r == 0 && at < text.len;) {
        struct str rest = str_slice(text, at, text.len);
        struct str to = str_slice(rest, 0, 1);
        size_t len = 1;

        for (size_t i = 0; i < count; i++)
            if (str_starts_with(rest, spellings[i].from)) {
                to = spellings[i].to;
                len = spellings[i].from.len;
                break;
            }
        r = buf_append_str(out, to);
        at += len;
    }
    return r;
}

static int drop_escapes(struct str text, struct buf *out)
{
    static const struct spelling escapes[] = {
        {STR_LITERAL("\\n"), STR_LITERAL("\n")},  {STR_LITERAL("\\t"), STR_LITERAL("\t")},
        {STR_LITERAL("\\\""), STR_LITERAL("\"")}, {STR_LITERAL("\\'"), STR_LITERAL("'")},
        {STR_LITERAL("\\\\"), STR_LITERAL("\\")},
    };

    return respell(text, escapes, array_size(escapes), out);
}

static int drop_entities(struct str text, struct buf *out)
{
    static const struct spelling entities[] = {
        {STR_LITERAL("&lt;"), STR_LITERAL("<")},    {STR_LITERAL("&gt;"), STR_LITERAL(">")},
        {STR_LITERAL("&quot;"), STR_LITERAL("\"")}, {STR_LITERAL("&#39;"), STR_LITERAL("'")},
        {STR_LITERAL("&apos;"), STR_LITERAL("'")},  {STR_LITERAL("&amp;"), STR_LITERAL("&")},
    };

    return respell(text, entities, array_size(entities), out);
}

/* Quotes and dashes as a keyboard has them. */
static int make_plain(struct str text, struct buf *out)
{
    static const struct spelling plain[] = {
        {STR_LITERAL("\xE2\x80\x98"), STR_LITERAL("'")}, /* single quotes */
        {STR_LITERAL("\xE2\x80\x99"), STR_LITERAL("'")},
        {STR_LITERAL("\xE2\x80\x9C"), STR_LITERAL("'")}, /* double quotes */
        {STR_LITERAL("\xE2\x80\x9D"), STR_LITERAL("'")},
        {STR_LITERAL("\""), STR_LITERAL("'")},
        {STR_LITERAL("`"), STR_LITERAL("'")},
        {STR_LITERAL("\xE2\x80\x93"), STR_LITERAL("-")}, /* dashes */
        {STR_LITERAL("\xE2\x80\x94"), STR_LITERAL("-")},
        {STR_LITERAL("\xC2\xA0"), STR_LITERAL(" ")}, /* a space that does not break */
        {STR_LITERAL("\xE2\x80\xA6"), STR_LITERAL("...")},
    };

    return respell(text, plain, array_size(plain), out);
}

static const struct mistake {
    int (*undo)(struct str text, struct buf *out); /* keeps the number of the text's lines */
    bool is_of_both;                               /* the text is changed as well */
    const char *words;
} mistakes[] = {
    {drop_numbers, false, "without the line numbers"},
    {drop_escapes, false, "with line ends, tabs and quotes instead of \\n, \\t and \\\""},
    {drop_entities, false, "with < > \" & instead of &lt; &gt; &quot; &amp;"},
    {make_plain, true, "with the quotes, dashes and spaces that the file has"},
};

static bool explain_mistake(const struct mistake *mistake, struct str text, struct str old,
                            char out_hint[MISSING_HINT_BYTES])
{
    cleanup_passage struct passage passage = {0};
    cleanup_buf struct buf other_text = BUF_INIT(CHANGED_MAX);
    cleanup_buf struct buf other_old = BUF_INIT(CHANGED_MAX);
    char lines[PASSAGE_HINT_BYTES];

    if (mistake->undo(old, &other_old) < 0 || str_trim(buf_view(&other_old)).len == 0 ||
        (!mistake->is_of_both && str_eq(buf_view(&other_old), old)) ||
        (mistake->is_of_both && mistake->undo(text, &other_text) < 0) ||
        passage_find(&passage, mistake->is_of_both ? buf_view(&other_text) : text,
                     buf_view(&other_old)) < 0 ||
        passage.count == 0)
        return false;
    passage_name_lines(&passage, lines);
    snprintf(out_hint, MISSING_HINT_BYTES, "%s it would match %s", mistake->words, lines);
    return true;
}

/* ---- where it begins ---- */

/* A place in the text that begins like the passage. */
struct place {
    size_t line;       /* of its beginning; 0: none */
    size_t equal;      /* lines */
    size_t differs_at; /* line; 0: the text ends */
    struct str differing;
};

/* Blank lines do not count. */
static bool next_line(struct str *text, size_t *number, struct str *out_line)
{
    while (text->len > 0 && str_cut(text, '\n', out_line)) {
        *out_line = str_trim(*out_line);
        ++*number;
        if (out_line->len > 0)
            return true;
    }
    return false;
}

/* `text` and `old` are what follows their first lines, which are alike. */
static struct place compare(struct str text, struct str old, size_t line)
{
    struct place place = {.line = line, .equal = 1};
    size_t number = line;
    size_t ignored = 0;
    struct str theirs;
    struct str ours;

    while (next_line(&old, &ignored, &ours)) {
        place.differs_at = 0;
        if (!next_line(&text, &number, &theirs))
            break;
        place.differs_at = number;
        place.differing = theirs;
        if (!str_eq(theirs, ours))
            break;
        place.equal++;
    }
    return place;
}

/* Of those places the one with the most equal lines. */
static struct place find_place(struct str text, struct str old)
{
    struct place best = {.line = 0};
    struct str first = STR_EMPTY;
    size_t places = 0;
    struct str line;

    old = str_trim(old);
    (void)str_cut(&old, '\n', &first);
    first = str_trim(first);
    for (size_t number = 1; places < PLACES_MAX && str_cut(&text, '\n', &line); number++) {
        struct place place = {.line = number, .differs_at = number};

        line = str_trim(line);
        if (str_find(line, first) == SIZE_MAX)
            continue;
        places++;
        place.differing = line;
        if (str_ends_with(line, first))
            place = compare(text, old, number);
        if (best.line == 0 || place.equal > best.equal)
            best = place;
    }
    return best;
}

static void explain_place(const struct place *place, size_t lines,
                          char out_hint[MISSING_HINT_BYTES])
{
    char shown[SHOWN_BYTES + PRINTABLE_CUT_BYTES];

    printable_cut(place->differing, PRINTABLE_TABS, shown, SHOWN_BYTES);
    if (place->equal == 0)
        snprintf(out_hint, MISSING_HINT_BYTES,
                 "its first line is only a part of line %zu of %zu, which is: %s", place->line,
                 lines, shown);
    else if (place->differs_at == 0)
        snprintf(out_hint, MISSING_HINT_BYTES,
                 "its first line is line %zu of %zu, but the file ends before its last one",
                 place->line, lines);
    else
        snprintf(out_hint, MISSING_HINT_BYTES,
                 "its first line is line %zu of %zu, but line %zu is different: %s", place->line,
                 lines, place->differs_at, shown);
}

/* ---- a line like its first one ---- */

/* The first line that is not blank. */
static struct str first_line(struct str text)
{
    struct str line = STR_EMPTY;

    text = str_trim(text);
    (void)str_cut(&text, '\n', &line);
    return str_trim(line);
}

/* The line most like the wanted one, of which a third differs at most; 0 if none is. */
static size_t find_similar(struct str text, struct str wanted, struct str *out_line)
{
    size_t best = SIZE_MAX;
    size_t found = 0;
    struct str line;

    if (text.len > SIMILAR_MAX_BYTES || wanted.len < SIMILAR_MIN_LETTERS)
        return 0;
    for (size_t number = 1; str_cut(&text, '\n', &line); number++) {
        size_t longest;
        size_t shortest;
        size_t far;

        line = str_trim(line);
        longest = line.len > wanted.len ? line.len : wanted.len;
        shortest = line.len > wanted.len ? wanted.len : line.len;
        if (longest - shortest > longest / 3)
            continue;
        far = str_distance(line, wanted);
        if (far > longest / 3 || far >= best)
            continue;
        best = far;
        found = number;
        *out_line = line;
    }
    return found;
}

void missing_explain(struct str text, struct str old, char out_hint[MISSING_HINT_BYTES])
{
    char shown[SHOWN_BYTES + PRINTABLE_CUT_BYTES];
    struct str wanted = first_line(old);
    size_t lines = count_lines(text);
    struct place place = {.line = 0};
    struct str line;
    size_t at;

    for (size_t i = 0; i < array_size(mistakes); i++)
        if (explain_mistake(&mistakes[i], text, old, out_hint))
            return;
    if (wanted.len > 0)
        place = find_place(text, old);
    if (place.line > 0) {
        explain_place(&place, lines, out_hint);
        return;
    }
    at = find_similar(text, wanted, &line);
    if (at == 0) {
        snprintf(out_hint, MISSING_HINT_BYTES, "the file has %zu line%s; read it first", lines,
                 lines == 1 ? "" : "s");
        return;
    }
    printable_cut(line, PRINTABLE_TABS, shown, SHOWN_BYTES);
    snprintf(out_hint, MISSING_HINT_BYTES, "the file has %zu line%s; line %zu is similar: %s",
             lines, lines == 1 ? "" : "s", at, shown);
}
