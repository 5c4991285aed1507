/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PCRE2 on one line, with an end to its work: a pattern that backtracks without
 * end on a line costs at most about a second of it, and then is an error.
 */
#ifndef SEARCH_ENGINE_H
#define SEARCH_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cancel.h"
#include "search/pattern.h"

enum {
    /* A longer line is an error of its own, unless no engine is needed to decide it. */
    ENGINE_MAX_LINE_BYTES = 1 << 20,
    /* With back-references, since what they compare is not counted. */
    ENGINE_MAX_COMPARED_BYTES = 16 << 10,
    ENGINE_MAX_HEAP_KB = 16 << 10,
    ENGINE_MAX_STACK_BYTES = 512 << 10, /* of compiled code */
};

struct engine;

/* Both live as long. The token may be NULL. */
int engine_new(const struct pattern *pattern, const struct cancel *cancel,
               struct engine **out_engine);
void engine_free(struct engine *engine);

struct engine_match {
    bool is_match;
    size_t start, end;
};

/*
 * The first match in a line without its newline. ERR_PATTERN_COST when it takes
 * too many steps, ERR_TOO_LARGE for a line that is too long, and what the token
 * says.
 */
int engine_match(struct engine *engine, const char *line, size_t len,
                 struct engine_match *out_match);

#endif
