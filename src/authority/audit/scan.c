/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a ring that may match, oldest or newest first. A file is read in blocks of whole
 * lines, and a block is searched as a whole: if few lines match, most are never looked at
 * individually.
 */
#include "authority/audit/internal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

_Static_assert((int)AUDIT_BLOCK_BYTES > (int)AUDIT_MAX_RECORD_BYTES, "a block holds a whole line");
_Static_assert(AUDIT_BLOCK_BYTES - 1 <= UINT16_MAX, "a place in a block");

void audit_scan_init(struct audit_scan *scan, const struct audit_logs *logs,
                     const struct audit_match *match, bool is_backward)
{
    scan->logs = logs;
    scan->match = match;
    scan->is_backward = is_backward;
    scan->left = logs->count;
    scan->fd = -1;
    scan->low = 0;
    scan->high = 0;
    scan->is_too_long = false;
    /* When searching for texts, an incomplete line is just one that does not match. */
    scan->skipped = match->needle_count == 0 ? logs->torn : 0;
    scan->found_count = 0;
    scan->next_found = 0;
}

/* A file that was truncated meanwhile, by someone else, is at its end. */
static int read_block(struct audit_scan *scan, uint64_t offset, size_t size, size_t *out_got)
{
    size_t got = 0;

    while (got < size) {
        ssize_t more = pread(scan->fd, scan->block + got, size - got, (off_t)(offset + got));

        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return err_from_errno(errno);
        if (more == 0)
            break;
        got += (size_t)more;
    }
    *out_got = got;
    return 0;
}

static size_t block_size(const struct audit_scan *scan)
{
    uint64_t left = scan->high - scan->low;

    return left < AUDIT_BLOCK_BYTES ? (size_t)left : AUDIT_BLOCK_BYTES;
}

/* ---- times ---- */

/* The first line after `offset` that has a time, and its position in the file. */
static int find_timed_line(struct audit_scan *scan, uint64_t offset, uint64_t *out_start,
                           struct str *out_time)
{
    const char *line = scan->block;
    const char *end;
    size_t got = 0;
    int r = read_block(scan, offset, AUDIT_BLOCK_BYTES, &got);

    if (r < 0)
        return r;
    end = scan->block + got;
    while ((line = memchr(line, '\n', (size_t)(end - line))) != NULL) {
        line++;
        *out_time = audit_line_time((struct str){line, (size_t)(end - line)});
        if (out_time->len > 0) {
            *out_start = offset + (uint64_t)(line - scan->block);
            return 0;
        }
    }
    return ERR_NOT_FOUND;
}

/* Narrows low and high, down to blocks, to the first line of this time or later. */
static int close_in(struct audit_scan *scan, const char *time, uint64_t *low, uint64_t *high)
{
    while (*high - *low > 2 * AUDIT_BLOCK_BYTES) {
        uint64_t middle = *low + (*high - *low) / 2;
        uint64_t start = 0;
        struct str found = STR_EMPTY;
        int r = find_timed_line(scan, middle, &start, &found);

        if (r == ERR_NOT_FOUND || (r == 0 && start >= *high))
            return 0; /* no record for that long: cannot tell */
        if (r < 0)
            return r;
        if (memcmp(found.ptr, time, AUDIT_TIMESTAMP_BYTES) < 0)
            *low = start;
        else
            *high = start;
    }
    return 0;
}

/* Narrows the file to the requested time. */
static int narrow(struct audit_scan *scan)
{
    const struct audit_query *query = scan->match->query;
    char time[AUDIT_TIMESTAMP_BYTES];
    uint64_t high = scan->high;
    uint64_t low = scan->low;
    int r = 0;

    if (query->since_ms != 0) {
        audit_timestamp(query->since_ms - AUDIT_DISORDER_MS, time);
        r = close_in(scan, time, &scan->low, &high);
    }
    if (r == 0 && query->until_ms != 0 && query->until_ms < INT64_MAX - AUDIT_DISORDER_MS) {
        audit_timestamp(query->until_ms + AUDIT_DISORDER_MS, time);
        r = close_in(scan, time, &low, &scan->high);
    }
    if (scan->low > scan->high)
        scan->low = scan->high;
    return r;
}

/* ---- blocks ---- */

static int next_file(struct audit_scan *scan)
{
    const struct audit_log *log;

    if (scan->left == 0)
        return ERR_NOT_FOUND;
    log = &scan->logs->files[scan->is_backward ? scan->logs->count - scan->left : scan->left - 1];
    scan->left--;
    scan->fd = log->fd;
    scan->low = log->from;
    scan->high = log->end;
    scan->is_too_long = false;
    return narrow(scan);
}

static void pass_too_long(struct audit_scan *scan)
{
    scan->skipped += scan->match->needle_count == 0;
    scan->is_too_long = true;
}

/* The whole lines at the beginning of the rest: [*out_begin, *out_end) of the block, or none. */
static int take_forward(struct audit_scan *scan, size_t *out_begin, size_t *out_end)
{
    const char *block = scan->block;
    const char *first;
    const char *last;
    size_t got = 0;
    int r = read_block(scan, scan->low, block_size(scan), &got);

    *out_begin = 0;
    *out_end = 0;
    if (r < 0)
        return r;
    if (got < block_size(scan))
        scan->high = scan->low + got;
    first = memchr(block, '\n', got);
    last = memrchr(block, '\n', got);
    if (first == NULL) {
        if (!scan->is_too_long)
            pass_too_long(scan);
        scan->low += got;
        return 0;
    }
    *out_begin = scan->is_too_long ? (size_t)(first - block) + 1 : 0;
    *out_end = (size_t)(last - block) + 1;
    scan->is_too_long = false;
    scan->low += *out_end;
    return 0;
}

/* Same at its end. */
static int take_backward(struct audit_scan *scan, size_t *out_begin, size_t *out_end)
{
    const char *block = scan->block;
    size_t size = block_size(scan);
    uint64_t start = scan->high - size;
    bool is_first = start == scan->low;
    const char *line_end;
    size_t begin = 0;
    size_t end;
    size_t got = 0;
    int r = read_block(scan, start, size, &got);

    *out_begin = 0;
    *out_end = 0;
    if (r < 0)
        return r;
    line_end = memrchr(block, '\n', got);
    /* The rest of a line that is too long ends it, and so does a truncated file. */
    end = line_end != NULL ? (size_t)(line_end - block) + 1 : 0;
    if (!is_first) {
        line_end = memchr(block, '\n', end);
        begin = line_end != NULL ? (size_t)(line_end - block) + 1 : end;
    }
    if (begin == end && !is_first) {
        /* Not one whole line. What ends here began before; what does not is too long. */
        bool has_ended = scan->is_too_long && end > 0;

        if (has_ended)
            scan->is_too_long = false;
        else if (!scan->is_too_long)
            pass_too_long(scan);
        scan->high = has_ended ? start + end : start;
        return 0;
    }
    scan->is_too_long = false;
    scan->high = start + begin;
    *out_begin = begin;
    *out_end = end;
    return 0;
}

/* ---- lines ---- */

static void add_found(struct audit_scan *scan, const char *line)
{
    assert(scan->found_count < array_size(scan->found));
    scan->found[scan->found_count++] = (uint16_t)(line - scan->block);
}

static void find_all(struct audit_scan *scan, const char *at, const char *end)
{
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));

        /* An empty line: another process ensured that its line begins on its own. */
        if (line_end > at &&
            audit_match_line(scan->match, (struct str){at, (size_t)(line_end - at)}))
            add_found(scan, at);
        at = line_end + 1;
    }
}

/* Position of the text after `at`; `end` if it is not found. */
static const char *seek(const char *at, const char *end, struct str text)
{
    const char *hit = text.len > 0 ? memmem(at, (size_t)(end - at), text.ptr, text.len) : NULL;

    return hit != NULL ? hit : end;
}

/* Lines that contain the first needle, then filtered by the others. */
static void find_some(struct audit_scan *scan, const char *at, const char *end)
{
    const struct audit_needle *needle = &scan->match->needles[0];
    const char *text = seek(at, end, needle->text);
    const char *other = seek(at, end, needle->other);

    while (text < end || other < end) {
        const char *hit = text < other ? text : other;
        const char *before = memrchr(at, '\n', (size_t)(hit - at));
        const char *line = before != NULL ? before + 1 : at;
        const char *line_end = memchr(hit, '\n', (size_t)(end - hit));

        if (audit_match_line(scan->match, (struct str){line, (size_t)(line_end - line)}))
            add_found(scan, line);
        at = line_end + 1;
        if (text < at)
            text = seek(at, end, needle->text);
        if (other < at)
            other = seek(at, end, needle->other);
    }
}

/* Advances to a block with a possible match. */
static int fill(struct audit_scan *scan)
{
    scan->found_count = 0;
    scan->next_found = 0;
    while (scan->found_count == 0) {
        size_t begin = 0;
        size_t end = 0;
        int r;

        if (scan->low >= scan->high)
            r = next_file(scan);
        else
            r = scan->is_backward ? take_backward(scan, &begin, &end)
                                  : take_forward(scan, &begin, &end);
        if (r < 0)
            return r;
        scan->block_end = end;
        if (scan->match->needle_count == 0)
            find_all(scan, scan->block + begin, scan->block + end);
        else
            find_some(scan, scan->block + begin, scan->block + end);
    }
    return 0;
}

int audit_scan_next(struct audit_scan *scan, struct str *out_line)
{
    const char *line;
    const char *end;
    size_t index;

    if (scan->next_found == scan->found_count) {
        int r = fill(scan);

        if (r < 0)
            return r;
    }
    index = scan->is_backward ? scan->found_count - 1 - scan->next_found : scan->next_found;
    scan->next_found++;
    line = scan->block + scan->found[index];
    end = memchr(line, '\n', (size_t)(scan->block + scan->block_end - line));
    *out_line = (struct str){line, (size_t)(end - line)};
    return 0;
}
