/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether content is binary: it has a NUL byte in its first 64 KiB, which is where ripgrep looks
 * before it searches; so has UTF-16, unless it was decoded. A later NUL is an ordinary byte here.
 */
#ifndef SEARCH_CONTENT_H
#define SEARCH_CONTENT_H

#include <stdbool.h>
#include <string.h>

#include "base/str.h"

enum { CONTENT_LOOK_BYTES = 64 << 10 };

static inline bool content_is_binary(struct str beginning)
{
    size_t len = beginning.len < CONTENT_LOOK_BYTES ? beginning.len : CONTENT_LOOK_BYTES;

    return len > 0 && memchr(beginning.ptr, '\0', len) != NULL;
}

#endif
