/* SPDX-License-Identifier: Apache-2.0 */
/* Prints search results and remarks about them, for a person or for a program. */
#ifndef PROGRAMS_SEARCH_PRINT_H
#define PROGRAMS_SEARCH_PRINT_H

#include <stdbool.h>

#include "cli/output.h"
#include "search/search.h"

struct print_view {
    const struct search_result *result;
    struct str regex; /* for only_matches: the pattern, to find the others in a line */
    bool ignores_case;
    /* Put before every name, so that it is valid from the user's working directory; or empty. */
    struct str directory;
    bool is_of_files;     /* files found by name */
    bool is_only_counted; /* with is_of_files, or as JSON: the total; else for each file */
    bool is_only_named;
    bool only_matches;
    bool has_headings; /* else the name is before each line */
    bool has_names;
    bool has_numbers;  /* of lines */
    bool is_continued; /* there was output before */
    unsigned before;   /* lines of context to show */
    unsigned after;
    bool has_colour;
    bool has_size_limit; /* set by the user: larger files are not reported as missed */
    size_t max_results;
    uint64_t hidden; /* files and folders left out by their names */
};

/*
 * Prints files as headings with lines "12:text", and "11-text" for context; or "name:12:text"; or
 * only names, or numbers.
 */
void print_text(struct output *output, const struct print_view *view);

/*
 * Prints one object per line for each match, {"path","lineNumber","line"}, with "before" and
 * "after" if context was requested; {"path"} for files; at the end {"summary":{…}}.
 */
void print_json(struct output *output, const struct print_view *view);

/* Says that there are more results than shown. */
void print_truncation(struct output *output, const struct print_view *view);

/* Says what could not be searched. */
void print_missed(struct output *output, const struct print_view *view);

/* If nothing was found: says what was left out, and what would include it. */
void print_left_out(struct output *output, const struct print_view *view);

/* Number of files that the user wanted to be searched and that were missed. */
uint64_t print_missed_count(const struct print_view *view);

#endif
