/* SPDX-License-Identifier: Apache-2.0 */
#include "search/seeker.h"

#include <stdlib.h>
#include <string.h>

#include "search/content.h"
#include "search/excerpt.h"
#include "search/scan.h"

enum { FIRST_MATCHES = 4 };

struct seeker {
    const struct search_request *request;
    struct matcher *matcher;
    char *buffer;
    size_t room;

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

/* ---- what is kept ---- */

static int show(struct search_file *file, struct str line, size_t match_start, size_t match_end,
                struct search_match *match, struct str *out_text)
{
    struct excerpt excerpt;
    const char *copy;

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
static int show_lines(const struct seeker *seeker, struct search_file *file, size_t at, size_t end,
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

        r = show(file, line, 0, 0, NULL, &lines[*out_count]);
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
    r = show(file, (struct str){seeker->buffer + start, end - start},
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

/* Searches the lines from `next` up to `limit`, which is a line's start or the file's end. */
static int search_block(struct seeker *seeker, size_t limit)
{
    size_t base = seeker->next;
    struct str text = {seeker->buffer + base, limit - base};
    size_t from = 0;
    int r = 0;

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

/* Drops what was searched, except for context lines. */
static void make_room(struct seeker *seeker)
{
    size_t kept = lines_back(seeker, seeker->next, seeker->request->context_lines);

    if (kept == 0)
        return;
    count_lines_to(seeker, kept);
    memmove(seeker->buffer, seeker->buffer + kept, seeker->len - kept);
    seeker->len -= kept;
    seeker->next -= kept;
    seeker->numbered -= kept;
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
static int read_more(struct seeker *seeker)
{
    uint64_t size = authority_sifted_stat(seeker->file)->size;
    int r = 0;

    make_room(seeker);
    if (seeker->len == seeker->room)
        r = grow(seeker);
    while (r == 0 && seeker->len < seeker->room && !seeker->is_end) {
        size_t wanted = seeker->room - seeker->len;
        size_t got = 0;

        if (wanted > size - seeker->offset)
            wanted = (size_t)(size - seeker->offset);
        if (wanted > 0)
            r = authority_sifted_read(seeker->file, seeker->offset, seeker->buffer + seeker->len,
                                      wanted, &got);
        seeker->len += got;
        seeker->offset += got;
        seeker->is_end = r < 0 || got == 0 || seeker->offset >= size;
    }
    return r;
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
    bool is_first = true;
    int r = 0;

    while (r == 0 && !seeker->is_end) {
        size_t limit;

        r = read_more(seeker);
        if (r < 0)
            return r;
        if (is_first && content_is_binary((struct str){seeker->buffer, seeker->len})) {
            seeker->found.is_binary = true;
            return 0;
        }
        is_first = false;
        limit = search_limit(seeker);
        if (limit > seeker->next)
            r = search_block(seeker, limit);
    }
    return r;
}

int seeker_search(struct seeker *seeker, struct authority_sifted *file, seeker_wants_fn *wants,
                  void *data, struct seeker_found *out_found)
{
    int r;

    seeker->file = file;
    seeker->found = (struct seeker_found){.matches = 0};
    seeker->wants = wants;
    seeker->wants_data = data;
    seeker->is_counting = false;
    seeker->len = 0;
    seeker->next = 0;
    seeker->numbered = 0;
    seeker->lines = 0;
    seeker->offset = 0;
    seeker->is_end = false;
    r = search_file(seeker);
    if (r < 0) {
        search_file_free(seeker->found.file);
        seeker->found.file = NULL;
    }
    *out_found = seeker->found;
    return r;
}
