/* SPDX-License-Identifier: Apache-2.0 */
#include "search/seeker.h"

#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "base/utf8.h"
#include "search/content.h"
#include "search/excerpt.h"
#include "search/scan.h"

enum {
    FIRST_MATCHES = 4,
    RAW_BYTES = 64 << 10, /* decoded at a time, */
    RAW_GROWTH = 3,       /* to so many times as much at most */
    /* Two parts of a long line share as much as a match and what is shown around it can have. */
    PART_MARGIN = EXCERPT_MAX_BYTES,
    PART_OVERLAP = PATTERN_MAX_BYTES * 4 + PART_MARGIN,
    /* Returned where others return errors: search the file once more, by its encoding. */
    START_OVER = 1,
};

struct seeker {
    const struct search_request *request;
    struct matcher *matcher;
    char *buffer;
    size_t room;
    char *raw;          /* NULL until a file is not UTF-8 */
    struct buf decoded; /* from that */

    /* Of the file that is being searched: */
    struct authority_sifted *file;
    struct seeker_found found;
    seeker_wants_fn *wants;
    void *wants_data;
    bool is_counting; /* what matches is not kept (any more) */
    size_t len;       /* of what is in the buffer */
    size_t next;      /* a line's start: all before it was searched */
    size_t numbered;  /* how far newlines were counted... */
    uint64_t lines;   /* ...and how many there were, from the file's start on */
    uint64_t offset;  /* in the file, of what is read next */
    bool is_end;
    struct decoder decoder; /* its encoding is that of the file */
    bool is_settled;        /* the encoding will not change any more */
    size_t valid;           /* how far it was seen to be UTF-8 */
    bool is_in_match;       /* up to the next newline, it belongs to a line that has matched */
};

int seeker_new(const struct search_request *request, struct seeker **out_seeker)
{
    struct seeker *seeker = calloc(1, sizeof(*seeker));
    int r;

    if (seeker == NULL)
        return ERR_NO_MEMORY;
    seeker->request = request;
    seeker->room = SEEKER_BUFFER_BYTES;
    seeker->buffer = malloc(seeker->room);
    buf_init(&seeker->decoded, (size_t)RAW_BYTES * RAW_GROWTH);
    r = seeker->buffer != NULL ? matcher_new(request->pattern, request->cancel, &seeker->matcher)
                               : ERR_NO_MEMORY;
    if (r < 0) {
        seeker_free(seeker);
        return r;
    }
    *out_seeker = seeker;
    return 0;
}

void seeker_free(struct seeker *seeker)
{
    if (seeker == NULL)
        return;
    matcher_free(seeker->matcher);
    free(seeker->buffer);
    free(seeker->raw);
    buf_done(&seeker->decoded);
    free(seeker);
}

int search_file_new(struct str name, struct search_file **out_file)
{
    struct search_file *file = calloc(1, sizeof(*file));
    const char *copy;

    if (file == NULL)
        return ERR_NO_MEMORY;
    arena_init(&file->arena, SEEKER_MAX_KEPT_BYTES);
    copy = arena_copy(&file->arena, name);
    if (copy == NULL) {
        search_file_free(file);
        return ERR_NO_MEMORY;
    }
    file->name = (struct str){copy, name.len};
    *out_file = file;
    return 0;
}

void search_file_free(struct search_file *file)
{
    if (file == NULL)
        return;
    arena_regrow_free(&file->arena, file->matches);
    arena_done(&file->arena);
    free(file);
}

/* ---- lines in the buffer ---- */

/* Start of the line `count` lines before a line's start. */
static size_t lines_back(const struct seeker *seeker, size_t start, unsigned count)
{
    while (count > 0 && start > 0) {
        const char *newline = memrchr(seeker->buffer, '\n', start - 1);

        start = newline != NULL ? (size_t)(newline - seeker->buffer) + 1 : 0;
        count--;
    }
    return start;
}

/* The line that begins at *at, which is advanced past it. */
static struct str take_line(const struct seeker *seeker, size_t *at)
{
    const char *start = seeker->buffer + *at;
    const char *newline = memchr(start, '\n', seeker->len - *at);
    size_t len = newline != NULL ? (size_t)(newline - start) : seeker->len - *at;

    *at += len + (newline != NULL);
    return (struct str){start, len};
}

static void count_lines_to(struct seeker *seeker, size_t end)
{
    if (end <= seeker->numbered)
        return;
    seeker->lines += scan_count_newlines(
        (struct str){seeker->buffer + seeker->numbered, end - seeker->numbered});
    seeker->numbered = end;
}

/* ---- encodings ---- */

/* Where the file shows that it is not UTF-8: START_OVER if it is text in another encoding. */
static int settle(struct seeker *seeker)
{
    enum encoding guess = encoding_guess((struct str){seeker->buffer, seeker->len}, seeker->is_end);

    seeker->is_settled = true;
    if (guess != ENCODING_LATIN_1 && guess != ENCODING_WINDOWS_1252)
        return 0;
    seeker->decoder = (struct decoder){.encoding = guess};
    return START_OVER;
}

/* Whether what was read last shows another encoding. */
static int check_encoding(struct seeker *seeker)
{
    struct str rest = {seeker->buffer + seeker->valid, seeker->len - seeker->valid};
    size_t valid = utf8_valid_length(rest);

    seeker->valid += valid;
    if (valid == rest.len || (!seeker->is_end && encoding_is_cut(str_slice(rest, valid, rest.len))))
        return 0;
    return settle(seeker);
}

/* At the beginning of a file: UTF-16 has a mark, or zeros as if it were binary. */
static int check_wide(struct seeker *seeker)
{
    struct str beginning = {seeker->buffer, seeker->len};
    enum encoding guess;

    if (seeker->is_settled || (!encoding_has_mark(beginning) && !content_is_binary(beginning)))
        return 0;
    guess = encoding_guess(beginning, seeker->is_end);
    if (guess == ENCODING_BINARY)
        return 0;
    seeker->is_settled = true;
    seeker->decoder = (struct decoder){.encoding = guess};
    return START_OVER;
}

/* ---- what is kept ---- */

static int show(struct seeker *seeker, struct search_file *file, struct str line,
                size_t match_start, size_t match_end, struct search_match *match,
                struct str *out_text)
{
    struct excerpt excerpt;
    const char *copy;

    if (!seeker->is_settled && !utf8_is_valid(line) && settle(seeker) == START_OVER)
        return START_OVER;
    excerpt_make(line, match_start, match_end, &excerpt);
    copy = arena_copy(&file->arena, (struct str){excerpt.text, excerpt.len});
    if (copy == NULL)
        return file->arena.error;
    *out_text = (struct str){copy, excerpt.len};
    if (match != NULL) {
        match->match_start = excerpt.match_start;
        match->match_end = excerpt.match_end;
    }
    return 0;
}

/* Up to `count` lines starting at `at`, but none at or after `end`. */
static int show_lines(struct seeker *seeker, struct search_file *file, size_t at, size_t end,
                      unsigned count, struct str **out_lines, size_t *out_count)
{
    struct str *lines;
    int r = 0;

    *out_count = 0;
    if (count == 0 || at >= end)
        return 0;
    lines = arena_alloc_array(&file->arena, count, sizeof(*lines));
    if (lines == NULL)
        return file->arena.error;
    *out_lines = lines;
    while (r == 0 && *out_count < count && at < end) {
        struct str line = take_line(seeker, &at);

        r = show(seeker, file, line, 0, 0, NULL, &lines[*out_count]);
        if (r == 0)
            ++*out_count;
    }
    return r;
}

static struct search_match *add_match(struct search_file *file)
{
    if (file->match_count == file->match_room) {
        size_t room = file->match_room == 0 ? FIRST_MATCHES : file->match_room * 2;
        struct search_match *grown =
            arena_regrow(&file->arena, file->matches, room * sizeof(*file->matches));

        if (grown == NULL)
            return NULL;
        file->matches = grown;
        file->match_room = room;
    }
    file->matches[file->match_count] = (struct search_match){.line_number = 0};
    return &file->matches[file->match_count];
}

/* Keeps the line from `start` to `end` of the buffer. */
static int keep(struct seeker *seeker, struct search_file *file, size_t start, size_t end,
                const struct matcher_line *line)
{
    unsigned context = seeker->request->context_lines;
    struct search_match *match = add_match(file);
    size_t behind = end < seeker->len ? end + 1 : end;
    int r;

    if (match == NULL)
        return file->arena.error;
    count_lines_to(seeker, start);
    match->line_number = seeker->lines + 1;
    r = show(seeker, file, (struct str){seeker->buffer + start, end - start},
             line->match_start - line->start, line->match_end - line->start, match, &match->text);
    if (r == 0)
        r = show_lines(seeker, file, lines_back(seeker, start, context), start, context,
                       &match->before, &match->before_count);
    if (r == 0)
        r = show_lines(seeker, file, behind, seeker->len, context, &match->after,
                       &match->after_count);
    if (r == 0)
        file->match_count++;
    return r;
}

/*
 * Notes a line of the block that begins at `base`; decides whether further ones are only counted.
 */
static int note(struct seeker *seeker, size_t base, const struct matcher_line *line)
{
    struct seeker_found *found = &seeker->found;
    int r = 0;

    if (++found->matches == 1)
        seeker->is_counting =
            !seeker->wants(seeker->wants_data, authority_sifted_name(seeker->file));
    if (seeker->is_counting) {
        found->is_cut = true;
        return 0;
    }
    if (found->file == NULL)
        r = search_file_new(authority_sifted_name(seeker->file), &found->file);
    if (r == 0 && found->file->match_count < seeker->request->max_results)
        r = keep(seeker, found->file, base + line->start, base + line->end, line);
    else if (r == 0)
        r = ERR_TOO_LARGE;
    /* Enough of this file. */
    if (r == ERR_TOO_LARGE) {
        seeker->is_counting = true;
        found->is_cut = true;
        r = 0;
    }
    return r;
}

/* ---- searching ---- */

/* Passes over the rest of a line that has matched. */
static void skip_match(struct seeker *seeker, size_t limit)
{
    const char *newline = memchr(seeker->buffer + seeker->next, '\n', limit - seeker->next);

    seeker->is_in_match = newline == NULL;
    seeker->next = newline != NULL ? (size_t)(newline - seeker->buffer) + 1 : limit;
}

/* Searches the lines from `next` up to `limit`, which is a line's start or the file's end. */
static int search_block(struct seeker *seeker, size_t limit)
{
    struct str text;
    size_t from = 0;
    size_t base;
    int r = 0;

    if (seeker->is_in_match)
        skip_match(seeker, limit);
    base = seeker->next;
    text = (struct str){seeker->buffer + base, limit - base};
    while (r == 0 && !seeker->is_counting && from < text.len) {
        struct matcher_line line;

        r = matcher_next(seeker->matcher, text, from, &line);
        if (r < 0 || !line.is_found)
            break;
        r = note(seeker, base, &line);
        from = line.end + 1;
    }
    if (r == 0 && seeker->is_counting && from < text.len) {
        size_t count = 0;

        r = matcher_count(seeker->matcher, str_slice(text, from, text.len), &count);
        seeker->found.matches += count;
    }
    seeker->next = limit;
    return r;
}

/* Drops all before `kept`. */
static void drop(struct seeker *seeker, size_t kept)
{
    if (kept == 0)
        return;
    count_lines_to(seeker, kept);
    memmove(seeker->buffer, seeker->buffer + kept, seeker->len - kept);
    seeker->len -= kept;
    seeker->next -= seeker->next < kept ? seeker->next : kept;
    seeker->numbered -= kept;
    seeker->valid -= seeker->valid < kept ? seeker->valid : kept;
}

/* Drops what was searched, except for context lines. */
static void make_room(struct seeker *seeker)
{
    drop(seeker, lines_back(seeker, seeker->next, seeker->request->context_lines));
}

/* The buffer is full of one line: searches what is there of it, and drops that. */
static int search_part(struct seeker *seeker)
{
    struct str part = {seeker->buffer + seeker->next, seeker->len - seeker->next};
    struct matcher_line line = {.is_found = false};
    int r = 0;

    if (!pattern_is_local(seeker->request->pattern))
        return ERR_TOO_LARGE;
    if (!seeker->is_in_match)
        r = matcher_next(seeker->matcher, str_slice(part, 0, part.len - PART_MARGIN), 0, &line);
    if (r == 0 && line.is_found && seeker->is_counting)
        seeker->found.matches++;
    line.end = part.len;
    if (r == 0 && line.is_found && !seeker->is_counting)
        r = note(seeker, seeker->next, &line);
    seeker->is_in_match = seeker->is_in_match || line.is_found;
    if (r != 0)
        return r;
    drop(seeker, seeker->len - PART_OVERLAP);
    return 0;
}

/* Searches all that is there, and drops it: lines around a match have no room. */
static int search_full(struct seeker *seeker)
{
    const char *newline = memrchr(seeker->buffer + seeker->next, '\n', seeker->len - seeker->next);
    int r;

    if (newline == NULL)
        return search_part(seeker);
    r = search_block(seeker, (size_t)(newline - seeker->buffer) + 1);
    drop(seeker, seeker->next);
    return r;
}

static int grow(struct seeker *seeker)
{
    size_t room = seeker->room > 0 ? seeker->room * 2 : SEEKER_BUFFER_BYTES;
    char *grown;

    if (room > SEEKER_MAX_BUFFER_BYTES)
        return ERR_TOO_LARGE;
    grown = realloc(seeker->buffer, room);
    if (grown == NULL)
        return ERR_NO_MEMORY;
    seeker->buffer = grown;
    seeker->room = room;
    return 0;
}

/* Up to the length the file had when it was opened: a growing file has an end. */
static int read_some(struct seeker *seeker, char *bytes, size_t wanted, size_t *out_got)
{
    uint64_t size = authority_sifted_stat(seeker->file)->size;
    int r = 0;

    *out_got = 0;
    if (wanted > size - seeker->offset)
        wanted = (size_t)(size - seeker->offset);
    if (wanted > 0)
        r = authority_sifted_read(seeker->file, seeker->offset, bytes, wanted, out_got);
    seeker->offset += *out_got;
    seeker->is_end = r < 0 || *out_got == 0 || seeker->offset >= size;
    return r;
}

static int read_plain(struct seeker *seeker)
{
    int r = seeker->len == seeker->room ? grow(seeker) : 0;

    while (r == 0 && seeker->len < seeker->room && !seeker->is_end) {
        size_t got;

        r = read_some(seeker, seeker->buffer + seeker->len, seeker->room - seeker->len, &got);
        seeker->len += got;
    }
    return r;
}

/* A file with single bytes beyond UTF-8 may have UTF-8 elsewhere, which stays what it is. */
static int decode(struct seeker *seeker, struct str bytes)
{
    size_t taken;
    int r;

    buf_clear(&seeker->decoded);
    if (encoding_is_wide(seeker->decoder.encoding))
        return encoding_decode(&seeker->decoder, bytes, &seeker->decoded);
    r = encoding_decode_mixed(bytes, seeker->is_end || bytes.len < 4, &seeker->decoded, &taken);
    seeker->offset -= bytes.len - taken; /* what was not taken is read again */
    return r;
}

static int read_decoded(struct seeker *seeker)
{
    const size_t most = (size_t)RAW_BYTES * RAW_GROWTH;
    int r = seeker->room - seeker->len < most ? grow(seeker) : 0;

    if (seeker->raw == NULL)
        seeker->raw = malloc(RAW_BYTES);
    if (seeker->raw == NULL)
        return ERR_NO_MEMORY;
    while (r == 0 && seeker->room - seeker->len >= most && !seeker->is_end) {
        size_t got;

        r = read_some(seeker, seeker->raw, RAW_BYTES, &got);
        if (r == 0)
            r = decode(seeker, (struct str){seeker->raw, got});
        if (r < 0 || got == 0)
            break;
        memcpy(seeker->buffer + seeker->len, seeker->decoded.data, seeker->decoded.len);
        seeker->len += seeker->decoded.len;
    }
    return r;
}

static int read_more(struct seeker *seeker)
{
    bool is_plain = seeker->decoder.encoding == ENCODING_UTF_8;
    size_t needed = is_plain ? 1 : (size_t)RAW_BYTES * RAW_GROWTH;
    int r = 0;

    make_room(seeker);
    while (r == 0 && seeker->room == SEEKER_MAX_BUFFER_BYTES && seeker->room - seeker->len < needed)
        r = search_full(seeker);
    if (r != 0)
        return r;
    return is_plain ? read_plain(seeker) : read_decoded(seeker);
}

/* How far the buffer can be searched: whole lines, with their context after them. */
static size_t search_limit(const struct seeker *seeker)
{
    const char *newline;

    if (seeker->is_end)
        return seeker->len;
    newline = memrchr(seeker->buffer + seeker->next, '\n', seeker->len - seeker->next);
    if (newline == NULL)
        return seeker->next;
    return lines_back(seeker, (size_t)(newline - seeker->buffer) + 1,
                      seeker->request->context_lines);
}

static int search_file(struct seeker *seeker)
{
    enum pattern_reach reach = pattern_reach(seeker->request->pattern);
    bool is_first = true;
    int r = 0;

    while (r == 0 && !seeker->is_end) {
        size_t limit;

        r = read_more(seeker);
        if (r != 0)
            return r;
        if (is_first) {
            r = check_wide(seeker);
            if (r == 0 && content_is_binary((struct str){seeker->buffer, seeker->len})) {
                seeker->found.is_binary = true;
                return 0;
            }
        }
        /* Most texts show it early, and to look at all of a large one takes time. */
        if (r == 0 && !seeker->is_settled &&
            (reach == PATTERN_NAMES_MORE || (reach == PATTERN_ANY && is_first)))
            r = check_encoding(seeker);
        is_first = false;
        if (r != 0)
            return r;
        limit = search_limit(seeker);
        if (limit > seeker->next)
            r = search_block(seeker, limit);
    }
    return r;
}

static void start(struct seeker *seeker)
{
    search_file_free(seeker->found.file);
    seeker->found = (struct seeker_found){.matches = 0};
    seeker->is_counting = false;
    seeker->len = 0;
    seeker->next = 0;
    seeker->numbered = 0;
    seeker->lines = 0;
    seeker->offset = 0;
    seeker->is_end = false;
    seeker->valid = 0;
    seeker->is_in_match = false;
}

int seeker_search(struct seeker *seeker, struct authority_sifted *file, seeker_wants_fn *wants,
                  void *data, struct seeker_found *out_found)
{
    int r;

    seeker->file = file;
    seeker->wants = wants;
    seeker->wants_data = data;
    seeker->decoder = (struct decoder){.encoding = ENCODING_UTF_8};
    seeker->is_settled = false;
    do {
        start(seeker);
        r = search_file(seeker);
    } while (r == START_OVER);
    if (r < 0) {
        search_file_free(seeker->found.file);
        seeker->found.file = NULL;
    }
    *out_found = seeker->found;
    seeker->found.file = NULL;
    return r;
}
