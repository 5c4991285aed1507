/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches the files of a tree with several threads: lines that match a pattern, or files by name.
 * All matches are counted; the first of them, in the order of shortlist.h, are kept, so that the
 * result does not depend on the threads. Memory: what is kept and a buffer per thread.
 */
#ifndef SEARCH_SEARCH_H
#define SEARCH_SEARCH_H

#include "base/arena.h"
#include "gatehouse/authority.h"
#include "search/pattern.h"

enum {
    SEARCH_MAX_RESULTS = 10000,
    SEARCH_MAX_CONTEXT = 20, /* lines before a match, and as many after it */
    SEARCH_MAX_MISSED = 10,  /* named ones */
};

struct search_request {
    struct str directory;
    const struct pattern *pattern; /* NULL: files by name */
    /* Called by several threads at once; names are relative to the start. NULL: all. */
    bool (*enters)(void *data, struct str directory);
    bool (*wants)(void *data, struct str file);
    void *filter_data;
    bool heeds_ignore_files;
    unsigned threads; /* 0: one for each available core */
    unsigned context_lines;
    size_t max_results;      /* lines, or files without a pattern; at least 1 */
    uint64_t max_counted;    /* matches after which it stops; 0: unlimited */
    uint64_t max_file_bytes; /* larger files are missed; 0: any size */
    /* Called every so many files, by one thread at a time, with rising numbers. Or NULL. */
    void (*progress)(void *data, uint64_t files);
    void *progress_data;
    const struct cancel *cancel;
};

struct search_match {
    uint64_t line_number;          /* from 1 */
    struct str text;               /* valid UTF-8; of a long line the part around the match */
    size_t match_start, match_end; /* in the text */
    /* Context lines, shown the same way. */
    struct str *before;
    size_t before_count;
    struct str *after;
    size_t after_count;
};

struct search_file {
    struct arena arena; /* holds all its data */
    struct str name;    /* as in the file system: any bytes */
    struct search_match *matches;
    size_t match_count;
    size_t match_room;
};

struct search_missed {
    char name[PATH_MAX]; /* "" for the directory itself */
    int code;
};

struct search_result {
    struct search_file **files; /* in order */
    size_t file_count;
    size_t file_room;
    size_t kept;                  /* lines in all files, or files */
    uint64_t total;               /* matching lines, or files */
    bool is_truncated;            /* there are more than kept */
    bool is_total_a_minimum;      /* it stopped at max_counted */
    uint64_t searched;            /* files whose content or name was checked */
    uint64_t binary;              /* binary files skipped */
    uint64_t too_large;           /* too large files skipped */
    uint64_t ignored;             /* files and directories left out by ignore files */
    uint64_t missed_count;        /* files that could not be read */
    struct search_missed *missed; /* the first of them, in order of occurrence */
};

/*
 * ERR_PATTERN_COST for a pattern that takes too many steps, with the file in the message; else the
 * codes of authority_sift(). Call search_result_done() even on failure.
 */
int search_run(struct authority_scope *scope, const struct search_request *request,
               struct search_result *out_result, struct err *err);
void search_result_done(struct search_result *result);

static inline void cleanup_search_result_(struct search_result *result)
{
    search_result_done(result);
}
#define cleanup_search_result cleanup_with(cleanup_search_result_)

#endif
