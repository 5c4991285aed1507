/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is freed together: a request allocates from its arena and frees nothing. Pointers
 * stay valid until arena_reset() or arena_done(). The limit counts all memory that the arena holds,
 * not only what was requested.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

#include "base/cleanup.h"
#include "base/str.h"

struct arena_block;

struct arena {
    struct arena_block *blocks; /* newest first */
    struct arena_block *large;  /* one allocation each */
    char *next;
    char *end;
    size_t held;
    size_t max;
    int error; /* reason of the last failure: ERR_TOO_LARGE or ERR_NO_MEMORY */
};

#define ARENA_INIT(max_bytes)                                                                      \
    {                                                                                              \
        .max = (max_bytes)                                                                         \
    }

static inline void arena_init(struct arena *arena, size_t max_bytes)
{
    *arena = (struct arena)ARENA_INIT(max_bytes);
}

void arena_done(struct arena *arena);
#define cleanup_arena cleanup_with(arena_done)

/* Frees everything except one block for the next request. */
void arena_reset(struct arena *arena);

enum { ARENA_ALIGN = 16 };

/* Aligned for any type, not cleared. NULL over the limit or without memory: see arena->error. */
void *arena_alloc(struct arena *arena, size_t size) __attribute__((malloc, alloc_size(2)));
void *arena_alloc_array(struct arena *arena, size_t count, size_t size)
    __attribute__((malloc, alloc_size(2, 3)));
#define arena_new(arena, type) ((type *)arena_alloc(arena, sizeof(type)))

/* A copy; NUL-terminated beyond its length. */
char *arena_copy(struct arena *arena, struct str text);

/* The same as a view. False: there was no room, which the arena has for its error. */
static inline bool arena_copy_str(struct arena *arena, struct str text, struct str *out_copy)
{
    const char *copy = arena_copy(arena, text);

    if (copy == NULL)
        return false;
    *out_copy = (struct str){copy, text.len};
    return true;
}
/*
 * A block that grows by moving, for a reader that does not know its size beforehand. It counts
 * against the limit from the start (block NULL), and belongs to the caller until arena_adopt() or
 * arena_regrow_free(). NULL leaves the block unchanged.
 */
void *arena_regrow(struct arena *arena, void *block, size_t size);
void arena_adopt(struct arena *arena, void *block);
void arena_regrow_free(struct arena *arena, void *block);

#endif
