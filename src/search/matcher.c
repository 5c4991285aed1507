/* SPDX-License-Identifier: Apache-2.0 */
#include "search/matcher.h"

#include <stdlib.h>

#include "search/engine.h"
#include "search/pattern_internal.h"

/* Bytes scanned between two checks of the token. */
enum { BYTES_BETWEEN_LOOKS = 1 << 20 };

struct matcher {
    const struct pattern *pattern;
    const struct cancel *cancel;
    struct engine *engine;
    size_t unseen; /* bytes since the token was looked at */
};

int matcher_new(const struct pattern *pattern, const struct cancel *cancel,
                struct matcher **out_matcher)
{
    cleanup_matcher struct matcher *matcher = calloc(1, sizeof(*matcher));
    int r;

    if (matcher == NULL)
        return ERR_NO_MEMORY;
    matcher->pattern = pattern;
    matcher->cancel = cancel;
    r = engine_new(pattern, cancel, &matcher->engine);
    if (r < 0)
        return r;
    *out_matcher = steal_ptr(&matcher);
    return 0;
}

void matcher_free(struct matcher *matcher)
{
    if (matcher == NULL)
        return;
    engine_free(matcher->engine);
    free(matcher);
}

/* Counts bytes until the next check. */
static int spend(struct matcher *matcher, size_t bytes)
{
    matcher->unseen += bytes;
    if (matcher->unseen < BYTES_BETWEEN_LOOKS)
        return 0;
    matcher->unseen = 0;
    return cancel_check(matcher->cancel);
}

static size_t line_start(struct str text, size_t floor, size_t at)
{
    const char *newline = memrchr(text.ptr + floor, '\n', at - floor);

    return newline != NULL ? (size_t)(newline - text.ptr) + 1 : floor;
}

static size_t line_end(struct str text, size_t at)
{
    const char *newline = memchr(text.ptr + at, '\n', text.len - at);

    return newline != NULL ? (size_t)(newline - text.ptr) : text.len;
}

/* Asks the engine about [line->start, line->end). */
static int ask(struct matcher *matcher, struct str text, struct matcher_line *line)
{
    struct engine_match match;
    int r = engine_match(matcher->engine, text.ptr + line->start, line->end - line->start, &match);

    if (r < 0)
        return r;
    line->is_found = match.is_match;
    if (match.is_match) {
        line->match_start = line->start + match.start;
        line->match_end = line->start + match.end;
    }
    return 0;
}

/* ---- without a scan ---- */

static int next_of_all(struct matcher *matcher, struct str text, size_t from,
                       struct matcher_line *line)
{
    while (from < text.len) {
        int r;

        line->start = from;
        line->end = line_end(text, from);
        r = spend(matcher, line->end - from);
        if (r == 0)
            r = ask(matcher, text, line);
        if (r < 0 || line->is_found)
            return r;
        from = line->end + 1;
    }
    return 0;
}

/* ---- with a scan ---- */

/* The next hit that begins at or after `from`. */
static int next_hit(struct matcher *matcher, struct str text, size_t from, struct scan_hit *out_hit,
                    bool *out_is_hit)
{
    const struct pattern *pattern = matcher->pattern;
    size_t floor = from - (pattern->has_line_start && from > 0);
    struct scan_range range = {(const unsigned char *)text.ptr, text.len, floor, floor, floor};

    while (range.until < text.len) {
        size_t begin = range.until;
        size_t left = text.len - begin;
        int r;

        range.from = begin;
        range.until = left < BYTES_BETWEEN_LOOKS ? text.len : begin + BYTES_BETWEEN_LOOKS;
        *out_is_hit = scan_next(&pattern->scan, &range, out_hit);
        r = spend(matcher, *out_is_hit ? out_hit->start - floor : range.until - begin);
        if (r < 0 || *out_is_hit)
            return r;
    }
    *out_is_hit = false;
    return 0;
}

/* Whether the line of this hit matches; `needs_bounds`: and where. */
static int decide(struct matcher *matcher, struct str text, size_t floor,
                  const struct scan_hit *hit, bool needs_bounds, struct matcher_line *line)
{
    const struct pattern *pattern = matcher->pattern;
    bool is_sure = pattern->is_whole && hit->is_exact;

    line->end = line_end(text, hit->start);
    if (is_sure && !needs_bounds) {
        line->is_found = true;
        return 0;
    }
    line->start = line_start(text, floor, hit->start);
    if (!is_sure || !pattern->is_single)
        return ask(matcher, text, line);
    line->is_found = true;
    line->match_start = hit->start;
    line->match_end = hit->end;
    return 0;
}

static int next_of_scan(struct matcher *matcher, struct str text, size_t from, bool needs_bounds,
                        struct matcher_line *line)
{
    const struct pattern *pattern = matcher->pattern;
    bool has_open_end = pattern->has_line_end && text.ptr[text.len - 1] != '\n';

    if (pattern->has_line_start && from == 0) {
        int r;

        line->end = line_end(text, 0);
        r = ask(matcher, text, line);
        if (r < 0 || line->is_found)
            return r;
        from = line->end + 1;
    }
    while (from < text.len) {
        struct scan_hit hit;
        bool is_hit;
        int r = next_hit(matcher, text, from, &hit, &is_hit);

        if (r < 0 || (!is_hit && !has_open_end))
            return r;
        if (is_hit) {
            r = decide(matcher, text, from, &hit, needs_bounds, line);
        } else {
            line->start = line_start(text, from, text.len);
            line->end = text.len;
            r = ask(matcher, text, line);
        }
        if (r < 0 || line->is_found)
            return r;
        from = line->end + 1;
    }
    return 0;
}

static int next_line(struct matcher *matcher, struct str text, size_t from, bool needs_bounds,
                     struct matcher_line *line)
{
    *line = (struct matcher_line){.is_found = false};
    if (from >= text.len)
        return 0;
    if (!matcher->pattern->has_scan)
        return next_of_all(matcher, text, from, line);
    return next_of_scan(matcher, text, from, needs_bounds, line);
}

int matcher_next(struct matcher *matcher, struct str text, size_t from,
                 struct matcher_line *out_line)
{
    struct matcher_line line;
    int r = next_line(matcher, text, from, true, &line);

    if (r == 0)
        *out_line = line.is_found ? line : (struct matcher_line){.is_found = false};
    return r;
}

int matcher_count(struct matcher *matcher, struct str text, size_t *out_count)
{
    struct matcher_line line = {.is_found = true};
    size_t count = 0;

    for (size_t from = 0; from < text.len; from = line.end + 1) {
        int r = next_line(matcher, text, from, false, &line);

        if (r < 0)
            return r;
        if (!line.is_found)
            break;
        count++;
    }
    *out_count = count;
    return 0;
}
