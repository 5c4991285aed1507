/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees to be searched, the same in every run: 24,000 files like source code in 1,200
 * directories, and 100,000 empty ones. What goes wrong ends the benchmark.
 */
#ifndef BENCH_SOURCE_TREE_H
#define BENCH_SOURCE_TREE_H

/* A directory that is not there yet; says how much it has become. */
void source_tree_make(const char *path);
/* Half as many files, each twice as large. */
void source_tree_make_coarse(const char *path);
void source_tree_make_names(const char *path);
void source_tree_remove(const char *path);

/* Of the first two: there in every run, some KB. */
#define SOURCE_TREE_FILE "part00/module0000/unit_000.c"

#endif
