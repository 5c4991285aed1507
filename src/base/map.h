/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash map from text to pointers, safe against chosen keys (see hash.h), with a limit on its
 * entries. It owns neither keys nor values: a key usually lives inside its value and must outlive
 * the entry.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/str.h"

struct map_slot;

struct map {
    struct map_slot *slots;
    size_t slot_count; /* zero or a power of two */
    size_t count;
    size_t max;
};

#define MAP_INIT(max_entries)                                                                      \
    {                                                                                              \
        .max = (max_entries)                                                                       \
    }

void map_done(struct map *map);
#define cleanup_map cleanup_with(map_done)

/* The value, or NULL. */
void *map_get(const struct map *map, struct str key);

/*
 * ERR_ALREADY_EXISTS keeps the old value; ERR_TOO_LARGE at the limit. The value must not be NULL.
 */
int map_add(struct map *map, struct str key, void *value);

/* Returns the removed value, or NULL. */
void *map_remove(struct map *map, struct str key);

/*
 * Iterates over all entries in no particular order. *cursor starts at 0; false at the end. The map
 * must not change meanwhile.
 */
bool map_next(const struct map *map, size_t *cursor, struct str *out_key, void **out_value);

#endif
