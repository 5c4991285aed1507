/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stdlib.h>
#include <string.h>

/*
 * calloc() for what every call allocates. The C library's own does not look among the pieces that
 * this thread freed last, which are still in the processor's cache.
 */
static inline void *alloc_zeroed(size_t size)
{
    void *piece = malloc(size);

    /* Else the compiler makes a calloc() of the two. */
    __asm__("" : "+r"(piece));
    return piece != NULL ? memset(piece, 0, size) : NULL;
}

#endif
