/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searching the files of a tree with several threads: lines that match a pattern,
 * or files by their names. All matches are counted; the first of them, in the
 * order of shortlist.h, are kept, so the result is the same however the threads run.
 * Memory is what is kept and a buffer a thread.
 */
#ifndef SEARCH_SEARCH_H
#define SEARCH_SEARCH_H

#include "base/arena.h"
#include "gatehouse/authority.h"
#include "search/pattern.h"

enum {
    SEARCH_MAX_RESULTS = 10000,
    SEARCH_MAX_CONTEXT = 20, /* lines before a match, and as many behind it */
    SEARCH_MAX_MISSED = 10,  /* that are named */
};

struct search_request {
    struct str directory;
    const struct pattern *pattern; /* NULL: files by their names */
    /* Asked by several threads at once; names begin where the search does. NULL: all. */
    bool (*enters)(void *data, struct str directory);
    bool (*wants)(void *data, struct str file);
    void *filter_data;
    bool heeds_ignore_files;
    unsigned threads; /* 0: one for each core that there is for us */
    unsigned context_lines;
    size_t max_results;      /* lines, or files where there is no pattern; at least 1 */
    uint64_t max_counted;    /* matches, until it ends; 0: no end */
    uint64_t max_file_bytes; /* larger ones are missed; 0: any size */
    /* Told every some files, by one thread at a time; it rises. Or NULL. */
    void (*progress)(void *data, uint64_t files);
    void *progress_data;
    const struct cancel *cancel;
};

struct search_match {
    uint64_t line_number;          /* from 1 on */
    struct str text;               /* valid UTF-8; of a long line what is around the match */
    size_t match_start, match_end; /* in the text */
    /* The lines around it, shown the same way. */
    struct str *before;
    size_t before_count;
    struct str *after;
    size_t after_count;
};

struct search_file {
    struct arena arena; /* of all that is in it */
    struct str name;    /* as the file system has it: any bytes */
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
    bool is_truncated;            /* there are more than are kept */
    bool is_total_a_minimum;      /* it ended at max_counted */
    uint64_t searched;            /* files whose content was looked at, or whose name was */
    uint64_t binary;              /* files passed over for being that */
    uint64_t too_large;           /* and for that */
    uint64_t missed_count;        /* what could not be read */
    struct search_missed *missed; /* the first of them, as they came */
};

/*
 * ERR_PATTERN_COST for a pattern that takes too many steps, with the file in the
 * message; what authority_sift() returns otherwise. search_result_done() follows
 * in any case.
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
