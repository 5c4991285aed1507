/* SPDX-License-Identifier: Apache-2.0 */
#include "console/page.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <utf8proc.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/printable.h"
#include "base/utf8.h"

enum {
    GUTTER_COLUMNS = 2,
    SAID_BYTES = 512,
    TAB_COLUMNS = 4,
};

/* One character as shown. */
struct token {
    char text[PRINTABLE_BLANKS_BYTES];
    size_t len;
    size_t columns; /* at least as many as the terminal takes */
};

/*
 * Width tables differ between terminals, so a character that may be wide counts as wide: a line may
 * then end early, but never overflows.
 */
static size_t columns_of(uint32_t code_point)
{
    return code_point < 0x1100 ? 1 : 2;
}

/* Variation selectors and combining characters: a name could hide in them. */
static bool is_mark(uint32_t code_point)
{
    static const uint32_t marks[][2] = {
        {0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},   {0x610, 0x61A},
        {0x64B, 0x65F},   {0x180B, 0x180F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},
        {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
    };

    for (size_t i = 0; i < array_size(marks); i++)
        if (code_point >= marks[i][0] && code_point <= marks[i][1])
            return true;
    return false;
}

/*
 * Private use, unassigned or invisible characters: each terminal shows them in its own way. So are
 * right-to-left letters: some terminals reorder what is around them.
 */
static bool is_uncertain(uint32_t code_point)
{
    const utf8proc_property_t *about = utf8proc_get_property((utf8proc_int32_t)code_point);

    switch ((utf8proc_bidi_class_t)about->bidi_class) {
    case UTF8PROC_BIDI_CLASS_R:
    case UTF8PROC_BIDI_CLASS_AL:
    case UTF8PROC_BIDI_CLASS_AN:
        return true;
    default:
        break;
    }
    switch ((utf8proc_category_t)about->category) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ME:
        return true;
    case UTF8PROC_CATEGORY_MN: /* many scripts need theirs; is_mark() has those that stack up */
        return false;
    default:
        return about->charwidth == 0;
    }
}

/* Also escapes what terminals do not agree about. */
static void next_token(struct str *rest, bool is_quoted, bool is_utf8, struct token *out)
{
    struct str ahead = *rest;
    uint32_t code_point;
    unsigned rule = is_quoted ? PRINTABLE_QUOTED : PRINTABLE_LINE;

    (void)utf8_next(&ahead, &code_point);
    if (!is_utf8 || is_mark(code_point) || is_uncertain(code_point))
        rule |= PRINTABLE_ASCII;
    out->columns = out->len = printable_next(rest, rule, out->text);
    if ((signed char)out->text[0] < 0)
        out->columns = columns_of(code_point);
}

/* ---- lines ---- */

void page_init(struct console_page *page, size_t columns, bool is_utf8)
{
    *page = (struct console_page){.is_utf8 = is_utf8, .columns = columns};
    buf_init(&page->text, PAGE_MAX_BYTES);
    if (columns < PAGE_MIN_COLUMNS)
        page->columns = PAGE_MIN_COLUMNS;
    if (columns > PAGE_MAX_COLUMNS)
        page->columns = PAGE_MAX_COLUMNS;
}

void page_done(struct console_page *page)
{
    buf_done(&page->text);
}

static void put(struct console_page *page, struct str text)
{
    if (page->error == 0)
        page->error = buf_append_str(&page->text, text);
}

static void begin_line(struct console_page *page, enum page_style style, struct str gutter)
{
    const char tag = (char)('0' + style);

    put(page, (struct str){&tag, 1});
    put(page, gutter);
}

static void end_line(struct console_page *page)
{
    put(page, STR("\n"));
    page->lines++;
}

/* Wraps lines. */
struct flow {
    struct console_page *page;
    enum page_style style;
    size_t columns; /* taken in this line, without the gutter */
};

static void flow_put(struct flow *flow, const struct token *token)
{
    if (flow->columns + token->columns > flow->page->columns - GUTTER_COLUMNS) {
        end_line(flow->page);
        begin_line(flow->page, flow->style, STR(": "));
        flow->columns = 0;
    }
    put(flow->page, (struct str){token->text, token->len});
    flow->columns += token->columns;
}

/* Replaces many blanks by their number; false: there are not many. */
static bool flow_blanks(struct flow *flow, struct str *text, bool takes_tabs)
{
    struct token token;

    token.columns = token.len = printable_blanks(text, takes_tabs, token.text);
    if (token.len > 0)
        flow_put(flow, &token);
    return token.len > 0;
}

static void flow_text(struct flow *flow, struct str text, bool is_quoted)
{
    struct token token;

    while (text.len > 0 && flow->page->error == 0) {
        if (flow_blanks(flow, &text, false))
            continue;
        next_token(&text, is_quoted, flow->page->is_utf8, &token);
        flow_put(flow, &token);
    }
}

static struct flow flow_begin(struct console_page *page, enum page_style style)
{
    begin_line(page, style, STR("| "));
    return (struct flow){page, style, 0};
}

static void quote_line(struct console_page *page, enum page_style style, struct str line)
{
    struct flow flow = flow_begin(page, style);

    flow_text(&flow, line, false);
    end_line(page);
}

/* The ends of a name say most: where it is, and what it is. */
static bool cut_middle(struct str text, struct str *out_head, struct str *out_tail)
{
    size_t from = text.len - PAGE_NAME_BYTES / 2;

    if (text.len <= PAGE_NAME_BYTES)
        return false;
    *out_head = utf8_cut(text, PAGE_NAME_BYTES / 2);
    while (from < text.len && ((unsigned char)text.ptr[from] & 0xC0) == 0x80)
        from++;
    *out_tail = str_slice(text, from, text.len);
    return true;
}

static void quote_name(struct console_page *page, enum page_style style, struct str name)
{
    const struct token mark = {"\"", 1, 1};
    struct str head = name;
    struct str tail = STR_EMPTY;
    bool is_cut = cut_middle(name, &head, &tail);
    struct flow flow = flow_begin(page, style);

    flow_put(&flow, &mark);
    flow_text(&flow, head, true);
    flow_put(&flow, &mark);
    if (is_cut) {
        end_line(page);
        page_say(page, PAGE_FAINT, "  ... %zu bytes omitted ...", name.len - head.len - tail.len);
        flow = flow_begin(page, style);
        flow_put(&flow, &mark);
        flow_text(&flow, tail, true);
        flow_put(&flow, &mark);
    }
    end_line(page);
}

static enum page_style diff_style(struct str line)
{
    if (str_starts_with(line, STR("+")))
        return PAGE_ADDED;
    if (str_starts_with(line, STR("-")))
        return PAGE_REMOVED;
    return str_starts_with(line, STR("@@")) ? PAGE_FAINT : PAGE_PLAIN;
}

/* In lines of code, a tab is shown as space. */
static void quote_code(struct console_page *page, enum page_style style, struct str line)
{
    const struct token space = {"    ", TAB_COLUMNS, TAB_COLUMNS};
    struct flow flow = flow_begin(page, style);
    struct token token;

    while (line.len > 0 && page->error == 0) {
        if (flow_blanks(&flow, &line, true))
            continue;
        if (line.ptr[0] == '\t') {
            flow_put(&flow, &space);
            line = str_slice(line, 1, line.len);
        } else {
            next_token(&line, false, page->is_utf8, &token);
            flow_put(&flow, &token);
        }
    }
    end_line(page);
}

static void quote_lines(struct console_page *page, enum page_style style, struct str text,
                        bool is_diff)
{
    struct str line;

    if (str_ends_with(text, STR("\n")))
        text.len--;
    while (page->error == 0 && str_cut(&text, '\n', &line))
        quote_code(page, is_diff ? diff_style(line) : style, line);
}

void page_quote(struct console_page *page, enum page_style style, struct str text,
                enum page_text kind)
{
    switch (kind) {
    case PAGE_LINE:
        quote_line(page, style, text);
        break;
    case PAGE_LINES:
    case PAGE_DIFF:
        quote_lines(page, style, text, kind == PAGE_DIFF);
        break;
    case PAGE_NAME:
        quote_name(page, style, text);
        break;
    }
}

/* Our text may contain quoted names, which are not ASCII: every character counts as wide. */
void page_say(struct console_page *page, enum page_style style, const char *format, ...)
{
    char said[SAID_BYTES];
    struct str rest;
    size_t columns = 0;
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(said, sizeof(said), format, args);
    va_end(args);
    if (len < 0 || (size_t)len >= sizeof(said))
        len = (int)strlen(said);
    begin_line(page, style, STR_EMPTY);
    for (rest = (struct str){said, (size_t)len}; rest.len > 0;) {
        struct token token;

        next_token(&rest, false, page->is_utf8, &token);
        if (columns + token.columns > page->columns) {
            end_line(page);
            begin_line(page, style, STR_EMPTY);
            columns = 0;
        }
        put(page, (struct str){token.text, token.len});
        columns += token.columns;
    }
    end_line(page);
}

bool page_next(struct str *rest, enum page_style *out_style, struct str *out_line)
{
    struct str line;

    if (rest->len == 0)
        return false;
    str_cut(rest, '\n', &line);
    *out_style = (enum page_style)(line.ptr[0] - '0');
    *out_line = str_slice(line, 1, line.len);
    return true;
}

int page_name(struct buf *out, struct str text, size_t columns, bool is_utf8)
{
    struct str rest = text;
    size_t total = 0;
    size_t taken = 0;
    struct token token;
    int r = buf_append_char(out, '"');

    while (rest.len > 0) {
        next_token(&rest, true, is_utf8, &token);
        total += token.columns;
    }
    /* Left out of the middle: what is not within the first or the last half. */
    for (bool has_cut = false; text.len > 0 && r == 0;) {
        bool fits = total + 2 <= columns;

        next_token(&text, true, is_utf8, &token);
        taken += token.columns;
        if (fits || taken + 4 <= columns / 2 || total - taken + 5 <= columns / 2) {
            r = buf_append(out, token.text, token.len);
        } else if (!has_cut) {
            has_cut = true;
            r = buf_append_str(out, STR("\"..\""));
        }
    }
    return r < 0 ? r : buf_append_char(out, '"');
}
