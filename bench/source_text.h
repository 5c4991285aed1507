/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text like source code, the same in every run: lines of words, names, numbers and
 * braces, with something beyond ASCII now and then.
 */
#ifndef BENCH_SOURCE_TEXT_H
#define BENCH_SOURCE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { SOURCE_TEXT_LINE_BYTES = 256 }; /* at most */

struct source_text {
    uint64_t seed;
};

#define SOURCE_TEXT_INIT                                                                           \
    {                                                                                              \
        .seed = 88172645463325252U                                                                 \
    }

/* A number from 0 on. */
size_t source_text_draw(struct source_text *source, size_t below);
/* With its newline; the buffer has room for it. */
void source_text_append_line(struct source_text *source, struct buf *out);

#endif
