/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/err.h"
#include "base/hash.h"

/* Linear probing; a slot is free when its value is NULL. */
struct map_slot {
    uint64_t hash;
    struct str key;
    void *value;
};

enum { FIRST_SLOTS = 8 };

void map_done(struct map *map)
{
    free(map->slots);
    map->slots = NULL;
    map->slot_count = 0;
    map->count = 0;
}

/* The slot that holds the key, or the free one where it would go. */
static struct map_slot *find_slot(struct map_slot *slots, size_t slot_count, uint64_t hash,
                                  struct str key)
{
    size_t i = hash & (slot_count - 1);

    while (slots[i].value != NULL && !(slots[i].hash == hash && str_eq(slots[i].key, key)))
        i = (i + 1) & (slot_count - 1);
    return &slots[i];
}

void *map_get(const struct map *map, struct str key)
{
    if (map->count == 0)
        return NULL;
    return find_slot(map->slots, map->slot_count, hash_str(hash_process_key(), key), key)->value;
}

static int grow(struct map *map)
{
    size_t slot_count = map->slot_count == 0 ? FIRST_SLOTS : map->slot_count * 2;
    struct map_slot *slots = calloc(slot_count, sizeof(*slots));

    if (slots == NULL)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < map->slot_count; i++) {
        const struct map_slot *old = &map->slots[i];

        if (old->value != NULL)
            *find_slot(slots, slot_count, old->hash, old->key) = *old;
    }
    free(map->slots);
    map->slots = slots;
    map->slot_count = slot_count;
    return 0;
}

int map_add(struct map *map, struct str key, void *value)
{
    uint64_t hash = hash_str(hash_process_key(), key);
    struct map_slot *slot;

    assert(value != NULL);
    if (map->count > 0) {
        slot = find_slot(map->slots, map->slot_count, hash, key);
        if (slot->value != NULL)
            return ERR_ALREADY_EXISTS;
    }
    if (map->count >= map->max)
        return ERR_TOO_LARGE;
    /* At most three quarters full, so that a probe always meets a free slot soon. */
    if (map->count >= map->slot_count / 4 * 3) {
        int r = grow(map);

        if (r < 0)
            return r;
    }
    slot = find_slot(map->slots, map->slot_count, hash, key);
    *slot = (struct map_slot){hash, key, value};
    map->count++;
    return 0;
}

void *map_remove(struct map *map, struct str key)
{
    size_t mask = map->slot_count - 1;
    struct map_slot *slot;
    void *value;
    size_t hole;

    if (map->count == 0)
        return NULL;
    slot = find_slot(map->slots, map->slot_count, hash_str(hash_process_key(), key), key);
    value = slot->value;
    if (value == NULL)
        return NULL;
    /* Closes the gap: moves back every follower whose own place is not after the gap. */
    hole = (size_t)(slot - map->slots);
    for (size_t i = (hole + 1) & mask; map->slots[i].value != NULL; i = (i + 1) & mask) {
        size_t home = map->slots[i].hash & mask;

        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        map->slots[hole] = map->slots[i];
        hole = i;
    }
    map->slots[hole].value = NULL;
    map->count--;
    return value;
}

bool map_next(const struct map *map, size_t *cursor, struct str *out_key, void **out_value)
{
    for (; *cursor < map->slot_count; (*cursor)++) {
        const struct map_slot *slot = &map->slots[*cursor];

        if (slot->value == NULL)
            continue;
        *out_key = slot->key;
        *out_value = slot->value;
        (*cursor)++;
        return true;
    }
    return false;
}
