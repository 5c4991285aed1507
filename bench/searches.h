/* SPDX-License-Identifier: Apache-2.0 */
/* What is searched for beside ripgrep, in a text and in a tree. */
#ifndef BENCH_SEARCHES_H
#define BENCH_SEARCHES_H

#include <stdbool.h>
#include <stddef.h>

struct search {
    const char *what, *pattern;
    bool is_literal, ignores_case;
    double goal; /* at most so many times ripgrep's time */
    bool is_for_trees;
};

extern const struct search searches[];
extern const size_t search_count;

#endif
