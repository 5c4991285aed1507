/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was found, for a person or for a program, and what there is to say about it.
 */
#ifndef PROGRAMS_SEARCH_PRINT_H
#define PROGRAMS_SEARCH_PRINT_H

#include <stdbool.h>

#include "cli/output.h"
#include "search/search.h"

struct print_view {
    const struct search_result *result;
    /* Put before every name, so that it leads there from where the user is; or empty. */
    struct str directory;
    bool is_of_files; /* found by their names */
    bool is_only_counted;
    bool has_colour;
    bool has_size_limit; /* the user's; what is larger was not asked for */
    size_t max_results;
};

/*
 * Files as headings, with lines "12:text", and "11-text" around them; or names alone; or
 * a number.
 */
void print_text(struct output *output, const struct print_view *view);

/*
 * An object a line for each match, {"path","lineNumber","line"} with "before" and "after"
 * where lines around it were asked for; {"path"} of files; at the end {"summary":{…}}.
 */
void print_json(struct output *output, const struct print_view *view);

/* That there is more than is shown. */
void print_truncation(struct output *output, const struct print_view *view);

/* What could not be searched. */
void print_missed(struct output *output, const struct print_view *view);

/* How many files were missed that the user wanted to be searched. */
uint64_t print_missed_count(const struct print_view *view);

#endif
