/* SPDX-License-Identifier: Apache-2.0 */
/* The one way from a record's text into the page. */
#include "report/report_internal.h"

#include "base/printable.h"
#include "base/redact.h"

enum { TEXT_BYTES = 1 << 20 }; /* of one text, escaped */

static int put_escaped(struct buf *out, struct str text)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < text.len; i++)
        switch (text.ptr[i]) {
        case '&':
            r = buf_append_str(out, STR("&amp;"));
            break;
        case '<':
            r = buf_append_str(out, STR("&lt;"));
            break;
        case '>':
            r = buf_append_str(out, STR("&gt;"));
            break;
        case '"':
            r = buf_append_str(out, STR("&quot;"));
            break;
        case '\'':
            r = buf_append_str(out, STR("&#39;"));
            break;
        default:
            r = buf_append_char(out, text.ptr[i]);
        }
    return r;
}

/* One line that holds no secret any more. */
static int put_safe(struct buf *out, struct str line, unsigned rule)
{
    cleanup_buf struct buf shown = BUF_INIT(TEXT_BYTES);
    int r = printable_append(&shown, line, rule);

    return r == 0 ? put_escaped(out, buf_view(&shown)) : r;
}

/* 3 of "-1,3", and 1 of "-1". */
static int64_t count_of(struct str range)
{
    struct str first;
    int64_t count = 1;

    (void)str_cut(&range, ',', &first);
    if (range.len > 0 && (!str_to_int64(range, &count) || count < 0))
        count = 0;
    return count;
}

/* "@@ -1,3 +1,4 @@" */
static void begin_hunk(struct report_hunk *hunk, struct str line)
{
    struct str before = STR_EMPTY;
    struct str after = STR_EMPTY;
    struct str word;

    (void)str_cut(&line, ' ', &word);
    (void)str_cut(&line, ' ', &before);
    (void)str_cut(&line, ' ', &after);
    *hunk = (struct report_hunk){count_of(before), count_of(after)};
}

enum report_line report_read_line(struct report_hunk *hunk, struct str line)
{
    char mark = line.len > 0 ? line.ptr[0] : ' ';

    if (str_starts_with(line, STR("@@"))) {
        begin_hunk(hunk, line);
        return REPORT_LINE_HUNK;
    }
    if ((hunk->after <= 0 && str_starts_with(line, STR("+++ "))) ||
        (hunk->before <= 0 && str_starts_with(line, STR("--- "))))
        return REPORT_LINE_NAME;
    hunk->before -= mark == '-' || mark == ' ';
    hunk->after -= mark == '+' || mark == ' ';
    return mark == '+' ? REPORT_LINE_ADDED : mark == '-' ? REPORT_LINE_REMOVED : REPORT_LINE_OTHER;
}

static int put_diff_line(struct buf *out, struct str line, struct report_hunk *hunk)
{
    static const struct str marks[] = {
        [REPORT_LINE_OTHER] = STR_LITERAL("<span>"),  [REPORT_LINE_NAME] = STR_LITERAL("<b>"),
        [REPORT_LINE_HUNK] = STR_LITERAL("<i>"),      [REPORT_LINE_ADDED] = STR_LITERAL("<ins>"),
        [REPORT_LINE_REMOVED] = STR_LITERAL("<del>"),
    };
    struct str mark = marks[report_read_line(hunk, line)];
    int r = buf_append_str(out, mark);

    if (r == 0)
        r = put_safe(out, line, PRINTABLE_TABS);
    if (r == 0)
        r = buf_append_str(out, STR("</"));
    return r == 0 ? buf_append_str(out, str_slice(mark, 1, mark.len)) : r;
}

static int put_lines(struct buf *out, struct str text,
                     int (*put)(struct buf *out, struct str line, struct report_hunk *hunk))
{
    struct report_hunk hunk = {0};
    cleanup_buf struct buf kept = BUF_INIT(TEXT_BYTES);
    int r = redact_all(text, &kept);
    struct str rest = buf_view(&kept);
    struct str line;

    if (rest.len > 0 && rest.ptr[rest.len - 1] == '\n')
        rest.len--;
    while (r == 0 && str_cut(&rest, '\n', &line)) {
        r = put(out, line, &hunk);
        if (r == 0)
            r = buf_append_char(out, '\n');
    }
    return r;
}

static int put_plain(struct buf *out, struct str line, struct report_hunk *hunk)
{
    (void)hunk;
    return put_safe(out, line, PRINTABLE_TABS);
}

int report_put_line(struct buf *out, struct str text)
{
    cleanup_buf struct buf kept = BUF_INIT(TEXT_BYTES);
    int r = redact_all(text, &kept);

    return r == 0 ? put_safe(out, buf_view(&kept), PRINTABLE_LINE) : r;
}

int report_put_block(struct buf *out, struct str text)
{
    return put_lines(out, text, put_plain);
}

int report_put_diff(struct buf *out, struct str diff)
{
    return put_lines(out, diff, put_diff_line);
}
