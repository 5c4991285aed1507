/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kind of content a text is. Binary is what has a NUL byte among its first
 * 64 KiB, which is where ripgrep looks before it searches; text in UTF-16 is
 * binary too. A NUL that comes later is a byte like any other here.
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
