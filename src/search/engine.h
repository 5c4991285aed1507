/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs PCRE2 on one line, with limits: a pattern that backtracks endlessly on a line costs at most
 * about a second, and then is an error.
 */
#ifndef SEARCH_ENGINE_H
#define SEARCH_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cancel.h"
#include "search/pattern.h"

enum {
    /* A longer line is an error, unless it can be decided without the engine. */
    ENGINE_MAX_LINE_BYTES = 1 << 20,
    /* With back-references, whose comparisons are not counted. */
    ENGINE_MAX_COMPARED_BYTES = 16 << 10,
    ENGINE_MAX_HEAP_KB = 16 << 10,
    ENGINE_MAX_STACK_BYTES = 512 << 10, /* of JIT code */
};

struct engine;

/* Both must outlive the engine. The token may be NULL. */
int engine_new(const struct pattern *pattern, const struct cancel *cancel,
               struct engine **out_engine);
void engine_free(struct engine *engine);

struct engine_match {
    bool is_match;
    size_t start, end;
};

/*
 * The first match in a line without its newline. ERR_PATTERN_COST if it takes too many steps,
 * ERR_TOO_LARGE for a line that is too long, and the codes of the cancel token.
 */
int engine_match(struct engine *engine, const char *line, size_t len,
                 struct engine_match *out_match);

#endif
