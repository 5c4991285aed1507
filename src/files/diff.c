/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps lines to numbers, equal lines to equal ones; then searches the shortest edit script from
 * both ends at once (Myers), splitting the problem where the two searches meet, so that memory
 * stays linear. What both texts begin and end with is left aside at once. If searching a part
 * becomes expensive, it is split at the furthest point reached instead, and when all work is spent,
 * a part is simply replaced as a whole.
 */
#include "files/diff.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/printable.h"

enum {
    /* Edits of one part before it is split where the search has come furthest. */
    MAX_COST = 1024,
    /* Each split halves the edits or is a cut; deeper parts are replaced as a whole. */
    MAX_PARTS = 256,
    NOTE_BYTES = 80, /* room for the note that a diff is cut */
};

/* An unusable diagonal: below every position, also after additions. */
#define UNREACHED (PTRDIFF_MIN / 2)

struct text {
    struct str bytes;
    size_t count;
    size_t *starts;   /* of each line, and of the end */
    bool *is_changed; /* the line is only in this text */
    /* What is compared: the lines that the other text has, too. */
    size_t shared;
    size_t *lines;
    uint32_t *ids; /* equal for equal lines; until then of all lines */
};

/* Of the lines that are compared. */
struct part {
    size_t a, a_end;
    size_t b, b_end;
};

struct diff {
    struct text a, b;
    size_t skipped;     /* lines before these texts, equal in both */
    size_t reach;       /* of the diagonals below, to both sides of the one in the middle */
    ptrdiff_t *forward; /* furthest line of `a` on each diagonal */
    ptrdiff_t *backward;
    uint64_t work;
    struct part *parts;
    size_t part_count;
};

static void diff_done(struct diff *diff)
{
    struct text *texts[] = {&diff->a, &diff->b};

    for (size_t i = 0; i < array_size(texts); i++) {
        free(texts[i]->starts);
        free(texts[i]->is_changed);
        free(texts[i]->lines);
        free(texts[i]->ids);
    }
    free(diff->forward);
    free(diff->backward);
}
#define cleanup_diff cleanup_with(diff_done)

/* ---- lines ---- */

static struct str line_of(const struct text *text, size_t index)
{
    return str_slice(text->bytes, text->starts[index],
                     text->starts[index + 1] - text->starts[index]);
}

static size_t count_lines(struct str bytes)
{
    size_t count = 0;

    for (size_t at = 0; at < bytes.len; count++) {
        const char *end = memchr(bytes.ptr + at, '\n', bytes.len - at);

        at = end == NULL ? bytes.len : (size_t)(end - bytes.ptr) + 1;
    }
    return count;
}

static int split(struct text *text, struct str bytes)
{
    size_t at = 0;

    text->bytes = bytes;
    text->count = count_lines(bytes);
    text->starts = calloc(text->count + 1, sizeof(*text->starts));
    text->is_changed = calloc(text->count + 1, sizeof(*text->is_changed));
    text->lines = calloc(text->count + 1, sizeof(*text->lines));
    text->ids = calloc(text->count + 1, sizeof(*text->ids));
    if (text->starts == NULL || text->is_changed == NULL || text->lines == NULL ||
        text->ids == NULL)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < text->count; i++) {
        const char *end = memchr(bytes.ptr + at, '\n', bytes.len - at);

        text->starts[i] = at;
        at = end == NULL ? bytes.len : (size_t)(end - bytes.ptr) + 1;
    }
    text->starts[text->count] = at;
    return 0;
}

/* The start of the line that has, or follows, this byte; then of those before it. */
static size_t lines_back(struct str text, size_t at, size_t lines)
{
    while (true) {
        while (at > 0 && text.ptr[at - 1] != '\n')
            at--;
        if (at == 0 || lines-- == 0)
            return at;
        at--;
    }
}

static size_t lines_forward(struct str text, size_t at, size_t lines)
{
    for (; at < text.len && lines > 0; lines--) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);

        at = end == NULL ? text.len : (size_t)(end - text.ptr) + 1;
    }
    return at;
}

static bool is_line_start(struct str text, size_t at)
{
    return at == 0 || text.ptr[at - 1] == '\n';
}

/*
 * Cuts both to the lines that differ and their context: most changes are small. Whole lines only,
 * and the same that the search would find equal first. Returns how many lines were before them.
 */
static size_t leave_equal_lines(struct str *a, struct str *b)
{
    size_t start = lines_back(*a, str_common_prefix(*a, *b), 0);
    size_t tail = str_common_suffix(str_slice(*a, start, a->len), str_slice(*b, start, b->len));
    size_t a_end = a->len - tail;
    size_t b_end = b->len - tail;
    size_t shown = lines_back(*a, start, DIFF_CONTEXT_LINES);
    size_t skipped = count_lines(str_slice(*a, 0, shown));
    size_t shown_end;

    if (!is_line_start(*a, a_end) || !is_line_start(*b, b_end))
        shown_end = lines_forward(*a, a_end, DIFF_CONTEXT_LINES + 1);
    else
        shown_end = lines_forward(*a, a_end, DIFF_CONTEXT_LINES);
    *b = str_slice(*b, shown, b_end + (shown_end - a_end) - shown);
    *a = str_slice(*a, shown, shown_end - shown);
    return skipped;
}

struct known_line {
    struct str line;
    uint32_t id; /* 0: free */
};

struct line_table {
    struct known_line *slots;
    size_t mask;
    uint32_t last_id;
};

static void number_lines(struct line_table *table, struct text *text)
{
    for (size_t i = 0; i < text->count; i++) {
        struct str line = line_of(text, i);
        size_t at = (size_t)hash_str(hash_process_key(), line) & table->mask;

        while (table->slots[at].id != 0 && !str_eq(table->slots[at].line, line))
            at = (at + 1) & table->mask;
        if (table->slots[at].id == 0)
            table->slots[at] = (struct known_line){line, ++table->last_id};
        text->ids[i] = table->slots[at].id;
    }
}

static int number_all(struct diff *diff, uint32_t *out_last_id)
{
    struct line_table table = {0};
    size_t slots = 16;

    while (slots < 2 * (diff->a.count + diff->b.count))
        slots *= 2;
    table.slots = calloc(slots, sizeof(*table.slots));
    if (table.slots == NULL)
        return ERR_NO_MEMORY;
    table.mask = slots - 1;
    number_lines(&table, &diff->a);
    number_lines(&table, &diff->b);
    free(table.slots);
    *out_last_id = table.last_id;
    return 0;
}

/* A line that the other text does not have is changed wherever the search would lead. */
static void leave_own_lines(struct text *text, const bool *is_in_other)
{
    for (size_t i = 0; i < text->count; i++) {
        text->is_changed[i] = !is_in_other[text->ids[i]];
        if (text->is_changed[i])
            continue;
        text->lines[text->shared] = i;
        text->ids[text->shared++] = text->ids[i];
    }
}

static int leave_lines_of_one(struct diff *diff)
{
    uint32_t last_id = 0;
    bool *is_in_a;
    bool *is_in_b;
    int r = number_all(diff, &last_id);

    if (r < 0)
        return r;
    is_in_a = calloc(2 * ((size_t)last_id + 1), sizeof(*is_in_a));
    if (is_in_a == NULL)
        return ERR_NO_MEMORY;
    is_in_b = is_in_a + last_id + 1;
    for (size_t i = 0; i < diff->a.count; i++)
        is_in_a[diff->a.ids[i]] = true;
    for (size_t i = 0; i < diff->b.count; i++)
        is_in_b[diff->b.ids[i]] = true;
    leave_own_lines(&diff->a, is_in_b);
    leave_own_lines(&diff->b, is_in_a);
    free(is_in_a);
    return 0;
}

/* ---- the search ---- */

static void replace_whole(struct diff *diff, const struct part *part)
{
    for (size_t i = part->a; i < part->a_end; i++)
        diff->a.is_changed[diff->a.lines[i]] = true;
    for (size_t i = part->b; i < part->b_end; i++)
        diff->b.is_changed[diff->b.lines[i]] = true;
}

static void add_part(struct diff *diff, struct part part)
{
    if (diff->part_count == MAX_PARTS)
        replace_whole(diff, &part);
    else
        diff->parts[diff->part_count++] = part;
}

/* Removes the common prefix and suffix. */
static struct part trim(const struct diff *diff, struct part part)
{
    const uint32_t *a = diff->a.ids;
    const uint32_t *b = diff->b.ids;

    while (part.a < part.a_end && part.b < part.b_end && a[part.a] == b[part.b]) {
        part.a++;
        part.b++;
    }
    while (part.a < part.a_end && part.b < part.b_end && a[part.a_end - 1] == b[part.b_end - 1]) {
        part.a_end--;
        part.b_end--;
    }
    return part;
}

/* A search in one part; positions and diagonals are relative to its corner. */
struct search {
    struct diff *diff;
    const uint32_t *a;
    const uint32_t *b;
    ptrdiff_t a_len, b_len;
    ptrdiff_t *forward;  /* by diagonal, which is position in a - position in b */
    ptrdiff_t *backward; /* the same, seen from the far corner */
};

static ptrdiff_t down_or_right(const ptrdiff_t *reach, ptrdiff_t diagonal, ptrdiff_t edits)
{
    if (diagonal == -edits || (diagonal != edits && reach[diagonal - 1] < reach[diagonal + 1]))
        return reach[diagonal + 1];
    return reach[diagonal - 1] + 1;
}

static bool is_on_grid(const struct search *search, ptrdiff_t x, ptrdiff_t diagonal)
{
    return x >= 0 && x <= search->a_len && x - diagonal >= 0 && x - diagonal <= search->b_len;
}

/* Follows equal lines from the near corner. */
static ptrdiff_t slide(struct search *search, ptrdiff_t x, ptrdiff_t diagonal)
{
    ptrdiff_t start = x;

    if (!is_on_grid(search, x, diagonal))
        return UNREACHED;
    while (x < search->a_len && x - diagonal < search->b_len &&
           search->a[x] == search->b[x - diagonal])
        x++;
    search->diff->work += (uint64_t)(x - start) + 1;
    return x;
}

/* Same from the far corner, with distances from there. */
static ptrdiff_t slide_back(struct search *search, ptrdiff_t x, ptrdiff_t diagonal)
{
    ptrdiff_t start = x;

    if (!is_on_grid(search, x, diagonal))
        return UNREACHED;
    while (x < search->a_len && x - diagonal < search->b_len &&
           search->a[search->a_len - 1 - x] == search->b[search->b_len - 1 - (x - diagonal)])
        x++;
    search->diff->work += (uint64_t)(x - start) + 1;
    return x;
}

struct point {
    ptrdiff_t x, y;
};

/* One more edit from the near corner; true if it meets the other search. */
static bool advance(struct search *search, ptrdiff_t edits, struct point *out_meeting)
{
    ptrdiff_t delta = search->a_len - search->b_len;

    for (ptrdiff_t k = -edits; k <= edits; k += 2) {
        ptrdiff_t x = slide(search, down_or_right(search->forward, k, edits), k);

        search->forward[k] = x;
        if (x == UNREACHED)
            continue;
        if ((delta & 1) == 0 || k < delta - (edits - 1) || k > delta + (edits - 1))
            continue;
        if (x + search->backward[delta - k] >= search->a_len) {
            *out_meeting = (struct point){x, x - k};
            return true;
        }
    }
    return false;
}

static bool advance_back(struct search *search, ptrdiff_t edits, struct point *out_meeting)
{
    ptrdiff_t delta = search->a_len - search->b_len;

    for (ptrdiff_t k = -edits; k <= edits; k += 2) {
        ptrdiff_t x = slide_back(search, down_or_right(search->backward, k, edits), k);

        search->backward[k] = x;
        if (x == UNREACHED)
            continue;
        if ((delta & 1) != 0 || delta - k < -edits || delta - k > edits)
            continue;
        if (x + search->forward[delta - k] >= search->a_len) {
            *out_meeting = (struct point){search->a_len - x, search->b_len - (x - k)};
            return true;
        }
    }
    return false;
}

/* The furthest point of the search from the near corner. */
static struct point furthest(const struct search *search, ptrdiff_t edits)
{
    struct point best = {0, 0};

    for (ptrdiff_t k = -edits; k <= edits; k += 2) {
        ptrdiff_t x = search->forward[k];

        if (x != UNREACHED && x + (x - k) > best.x + best.y)
            best = (struct point){x, x - k};
    }
    return best;
}

/* A point on a short edit script of the part. */
static struct point find_middle(struct search *search)
{
    struct point point;

    search->forward[1] = 0;
    search->backward[1] = 0;
    for (ptrdiff_t edits = 0;; edits++) {
        if (advance(search, edits, &point) || advance_back(search, edits, &point))
            return point;
        if (edits >= MAX_COST || search->diff->work > DIFF_MAX_WORK)
            return furthest(search, edits);
    }
}

static void compare_part(struct diff *diff, struct part part)
{
    ptrdiff_t a_len, b_len;
    struct search search;
    struct point middle;

    part = trim(diff, part);
    a_len = (ptrdiff_t)(part.a_end - part.a);
    b_len = (ptrdiff_t)(part.b_end - part.b);
    if (a_len == 0 || b_len == 0 || diff->work > DIFF_MAX_WORK) {
        replace_whole(diff, &part);
        return;
    }
    search = (struct search){
        .diff = diff,
        .a = diff->a.ids + part.a,
        .b = diff->b.ids + part.b,
        .a_len = a_len,
        .b_len = b_len,
        .forward = diff->forward + diff->reach,
        .backward = diff->backward + diff->reach,
    };
    middle = find_middle(&search);
    /* A corner divides nothing: all of it differs. */
    if ((middle.x == 0 && middle.y == 0) || (middle.x == a_len && middle.y == b_len)) {
        replace_whole(diff, &part);
        return;
    }
    /* The first is looked at first: where parts are cut off, only the rest waits. */
    add_part(diff, (struct part){part.a + (size_t)middle.x, part.a_end, part.b + (size_t)middle.y,
                                 part.b_end});
    add_part(diff,
             (struct part){part.a, part.a + (size_t)middle.x, part.b, part.b + (size_t)middle.y});
}

static int compare(struct diff *diff)
{
    size_t lines = diff->a.shared + diff->b.shared;
    struct part parts[MAX_PARTS];

    diff->reach = (lines < MAX_COST ? lines : MAX_COST) + 2;
    diff->forward = calloc(2 * diff->reach + 1, sizeof(*diff->forward));
    diff->backward = calloc(2 * diff->reach + 1, sizeof(*diff->backward));
    if (diff->forward == NULL || diff->backward == NULL)
        return ERR_NO_MEMORY;
    diff->parts = parts;
    add_part(diff, (struct part){0, diff->a.shared, 0, diff->b.shared});
    while (diff->part_count > 0)
        compare_part(diff, diff->parts[--diff->part_count]);
    diff->parts = NULL;
    return 0;
}

/* ---- writing ---- */

struct hunk {
    size_t a, a_end; /* lines, with their context */
    size_t b, b_end;
};

static void put_line(struct buf *out, char mark, struct str line, int *error)
{
    int r = buf_append_char(out, mark);

    if (r == 0)
        r = buf_append_str(out, line);
    if (r == 0 && !str_ends_with(line, STR("\n")))
        r = buf_append_str(out, STR("\n\\ No newline at end of file\n"));
    if (r < 0 && *error == 0)
        *error = r;
}

/* An empty range names the line before it. */
static int put_range(struct buf *out, struct str mark, size_t start, size_t end, size_t skipped)
{
    size_t lines = end - start;
    int r = buf_append_str(out, mark);

    if (r == 0)
        r = buf_append_int(out, (int64_t)(skipped + start + (lines > 0)));
    if (r < 0 || lines == 1)
        return r;
    r = buf_append_char(out, ',');
    return r == 0 ? buf_append_int(out, (int64_t)lines) : r;
}

static int put_hunk(const struct diff *diff, const struct hunk *hunk, struct buf *out)
{
    size_t a = hunk->a;
    size_t b = hunk->b;
    int error = 0;
    int r = put_range(out, STR("@@ -"), hunk->a, hunk->a_end, diff->skipped);

    if (r == 0)
        r = put_range(out, STR(" +"), hunk->b, hunk->b_end, diff->skipped);
    if (r == 0)
        r = buf_append_str(out, STR(" @@\n"));
    if (r < 0)
        return r;
    while (error == 0 && (a < hunk->a_end || b < hunk->b_end)) {
        if (a < hunk->a_end && diff->a.is_changed[a]) {
            put_line(out, '-', line_of(&diff->a, a++), &error);
        } else if (b < hunk->b_end && diff->b.is_changed[b]) {
            put_line(out, '+', line_of(&diff->b, b++), &error);
        } else {
            put_line(out, ' ', line_of(&diff->a, a++), &error);
            b++;
        }
    }
    return error;
}

/* The next changed lines after *a and *b, with changes so near that they share context. */
static bool next_hunk(const struct diff *diff, size_t *a, size_t *b, struct hunk *out_hunk)
{
    const struct text *old = &diff->a;
    const struct text *new = &diff->b;
    size_t equal = 0; /* lines since the last change */
    size_t before;

    while (*a < old->count && *b < new->count && !old->is_changed[*a] && !new->is_changed[*b]) {
        ++*a;
        ++*b;
        equal++;
    }
    if (*a == old->count && *b == new->count)
        return false;
    before = equal < DIFF_CONTEXT_LINES ? equal : DIFF_CONTEXT_LINES;
    *out_hunk = (struct hunk){.a = *a - before, .b = *b - before};
    equal = 0;
    while (*a < old->count || *b < new->count) {
        if (*a < old->count && old->is_changed[*a]) {
            ++*a;
            equal = 0;
        } else if (*b < new->count &&new->is_changed[*b]) {
            ++*b;
            equal = 0;
        } else {
            /* Twice the context: what follows gets a hunk of its own. */
            if (equal == 2 * (size_t)DIFF_CONTEXT_LINES)
                break;
            ++*a;
            ++*b;
            equal++;
        }
    }
    before = equal < DIFF_CONTEXT_LINES ? 0 : equal - DIFF_CONTEXT_LINES;
    *a -= before;
    *b -= before;
    out_hunk->a_end = *a;
    out_hunk->b_end = *b;
    return true;
}

static int put_name(struct buf *out, struct str mark, bool is_there, struct str name)
{
    int r = buf_append_str(out, mark);

    if (!is_there)
        return r == 0 ? buf_append_str(out, STR("/dev/null\n")) : r;
    if (r == 0)
        r = buf_append_str(out, mark.ptr[0] == '-' ? STR("a/") : STR("b/"));
    if (r == 0)
        r = printable_replace(out, name, PRINTABLE_BLANKS, STR("?"));
    return r == 0 ? buf_append_char(out, '\n') : r;
}

static int put_all(const struct diff *diff, const struct diff_options *options, struct buf *out)
{
    size_t start = out->len;
    size_t room = out->max - start > NOTE_BYTES ? out->max - start - NOTE_BYTES : 0;
    size_t limit = options->max_bytes > 0 && options->max_bytes < room ? options->max_bytes : room;
    size_t a = 0;
    size_t b = 0;
    struct hunk hunk;
    int r = put_name(out, STR("--- "), !options->is_added, options->name);

    if (r == 0)
        r = put_name(out, STR("+++ "), !options->is_deleted, options->name);
    while (r == 0 && next_hunk(diff, &a, &b, &hunk)) {
        size_t kept = out->len;

        r = put_hunk(diff, &hunk, out);
        if (r == 0 && out->len - start <= limit)
            continue;
        if (r < 0 && r != ERR_TOO_LARGE)
            break;
        out->len = kept;
        r = buf_printf(out, "… the diff continues at line %zu; truncated here\n",
                       diff->skipped + hunk.a + 1);
        break;
    }
    return r;
}

int diff_unified(struct str before, struct str after, const struct diff_options *options,
                 struct buf *out)
{
    cleanup_diff struct diff diff = {0};
    size_t start = out->len;
    int r;

    if (str_eq(before, after))
        return 0;
    diff.skipped = leave_equal_lines(&before, &after);
    if (count_lines(before) + count_lines(after) > DIFF_MAX_LINES)
        return ERR_TOO_LARGE;
    r = split(&diff.a, before);
    if (r == 0)
        r = split(&diff.b, after);
    if (r == 0)
        r = leave_lines_of_one(&diff);
    if (r == 0)
        r = compare(&diff);
    if (r == 0)
        r = put_all(&diff, options, out);
    if (r < 0)
        out->len = start;
    return r;
}
