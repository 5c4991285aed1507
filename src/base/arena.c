/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/err.h"

enum {
    FIRST_BLOCK_BYTES = 1008, /* what malloc hands out fastest */
    LARGEST_BLOCK_BYTES = 1 << 20,
};

struct arena_block {
    alignas(ARENA_ALIGN) struct arena_block *next;
    size_t size; /* header included */
};

static void free_blocks(struct arena_block *block)
{
    while (block != NULL) {
        struct arena_block *next = block->next;

        free(block);
        block = next;
    }
}

void arena_done(struct arena *arena)
{
    free_blocks(arena->blocks);
    free_blocks(arena->large);
    arena_init(arena, arena->max);
}

static void use_block(struct arena *arena, struct arena_block *block)
{
    arena->next = (char *)(block + 1);
    arena->end = (char *)block + block->size;
}

void arena_reset(struct arena *arena)
{
    struct arena_block *kept = arena->blocks;

    free_blocks(arena->large);
    arena->large = NULL;
    arena->held = 0;
    if (kept == NULL)
        return;
    free_blocks(kept->next);
    kept->next = NULL;
    arena->held = kept->size;
    use_block(arena, kept);
}

/* A block of `size` bytes, including its header, if the limit allows it. */
static struct arena_block *new_block(struct arena *arena, size_t size)
{
    struct arena_block *block;

    if (size > arena->max - arena->held) {
        arena->error = ERR_TOO_LARGE;
        return NULL;
    }
    block = malloc(size);
    if (block == NULL) {
        arena->error = ERR_NO_MEMORY;
        return NULL;
    }
    block->size = size;
    arena->held += size;
    return block;
}

static void *alloc_large(struct arena *arena, size_t size)
{
    struct arena_block *block = new_block(arena, size + sizeof(*block));

    if (block == NULL)
        return NULL;
    block->next = arena->large;
    arena->large = block;
    return block + 1;
}

static void *alloc_from_new_block(struct arena *arena, size_t size)
{
    size_t block_size = FIRST_BLOCK_BYTES;
    struct arena_block *block;
    char *start;

    /* Two of the first size: most calls need no more. */
    if (arena->blocks != NULL && arena->blocks->next != NULL)
        block_size = arena->blocks->size < LARGEST_BLOCK_BYTES ? arena->blocks->size * 2
                                                               : arena->blocks->size;
    /* What would fill most of a block gets its own, so that the current one stays in use. */
    if (size > block_size / 4)
        return alloc_large(arena, size);
    block = new_block(arena, block_size);
    if (block == NULL)
        return alloc_large(arena, size);
    block->next = arena->blocks;
    arena->blocks = block;
    use_block(arena, block);
    start = arena->next;
    arena->next += size;
    return start;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    size_t rounded;
    char *start;

    if (!checked_add(size, 2 * sizeof(struct arena_block), &rounded)) {
        arena->error = ERR_TOO_LARGE;
        return NULL;
    }
    rounded = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    if (rounded == 0)
        rounded = ARENA_ALIGN;
    if (rounded > (size_t)(arena->end - arena->next))
        return alloc_from_new_block(arena, rounded);
    start = arena->next;
    arena->next += rounded;
    return start;
}

void *arena_alloc_array(struct arena *arena, size_t count, size_t size)
{
    size_t total;

    if (!checked_mul(count, size, &total))
        total = SIZE_MAX;
    return arena_alloc(arena, total);
}

char *arena_copy(struct arena *arena, struct str text)
{
    size_t size;
    char *copy;

    if (!checked_add(text.len, 1, &size))
        size = SIZE_MAX;
    copy = arena_alloc(arena, size);
    if (copy == NULL)
        return NULL;
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return copy;
}

void *arena_regrow(struct arena *arena, void *block, size_t size)
{
    struct arena_block *header = block != NULL ? (struct arena_block *)block - 1 : NULL;
    size_t others = arena->held - (header != NULL ? header->size : 0);
    struct arena_block *grown;
    size_t total;

    if (!checked_add(size, sizeof(*header), &total) || total > arena->max - others) {
        arena->error = ERR_TOO_LARGE;
        return NULL;
    }
    grown = realloc(header, total);
    if (grown == NULL) {
        arena->error = ERR_NO_MEMORY;
        return NULL;
    }
    grown->size = total;
    arena->held = others + total;
    return grown + 1;
}

void arena_regrow_free(struct arena *arena, void *block)
{
    struct arena_block *header;

    if (block == NULL)
        return;
    header = (struct arena_block *)block - 1;
    arena->held -= header->size;
    free(header);
}

void arena_adopt(struct arena *arena, void *block)
{
    struct arena_block *header = (struct arena_block *)block - 1;

    header->next = arena->large;
    arena->large = header;
}
