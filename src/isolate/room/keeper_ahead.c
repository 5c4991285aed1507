/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rooms that the keeper builds before anybody wants them, whole: their files are empty and in
 * fresh/, their mounts are there, and their first processes have given up their rights. To start
 * one, its files get their name and its first process the socket of the service. They are made of
 * the layers that were asked for last, since the next room often has the same.
 */
#include "isolate/room/keeper.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ipc/packet.h"

static bool has_layers(const struct kept *kept, size_t count, const char (*layers)[ROOM_ID_BYTES])
{
    if (kept->layer_count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(kept->layers[i], layers[i]) != 0)
            return false;
    return true;
}

/* One of these layers; or NULL. */
static struct kept *find(const struct keeper *keeper, size_t count,
                         const char (*layers)[ROOM_ID_BYTES])
{
    list_each (node, &keeper->ahead) {
        struct kept *kept = list_entry(node, struct kept, node);

        if (has_layers(kept, count, layers))
            return kept;
    }
    return NULL;
}

static struct kept *find_planned(const struct keeper *keeper)
{
    return find(keeper, keeper->plan_count, (const char(*)[ROOM_ID_BYTES])keeper->plan);
}

/* Its process has ended. */
static void forget(struct keeper *keeper, struct kept *kept)
{
    list_remove(&kept->node);
    keeper->ahead_count--;
    keep_drop_fresh(keeper, kept->fresh);
    keep_let_go(keeper, kept);
}

static void end(struct keeper *keeper, struct kept *kept)
{
    keep_end_process(kept);
    forget(keeper, kept);
}

void keep_lose_ahead(struct keeper *keeper, struct kept *kept)
{
    keeper->is_ahead_useless = true;
    forget(keeper, kept);
}

/* ---- Taking ---- */

/* Whether the room is like those that are built ahead. */
static bool is_usual(const struct room_ask *ask)
{
    return ask->network == ROOM_NETWORK_NONE && !ask->is_in_memory && !ask->is_build &&
           ask->disk_bytes == 0;
}

static void remember_plan(struct keeper *keeper, size_t count, const char (*layers)[ROOM_ID_BYTES])
{
    if (count > 0)
        memcpy(keeper->plan, layers, count * sizeof(keeper->plan[0]));
    keeper->plan_count = count;
    keeper->is_ahead_useless = false;
}

bool keep_take_ahead(struct keeper *keeper, const struct room_ask *ask,
                     const char (*layers)[ROOM_ID_BYTES], int socket)
{
    struct kept *kept;

    if (!is_usual(ask))
        return false;
    remember_plan(keeper, ask->layer_count, layers);
    kept = find(keeper, ask->layer_count, layers);
    if (kept == NULL || !keep_can_have(keeper, kept, ask) ||
        !keep_move_fresh(keeper, kept->fresh, ask->id)) /* it may have files already */
        return false;
    list_remove(&kept->node);
    keeper->ahead_count--;
    if (packet_send(kept->gate, STR("s"), &socket, 1, 0) < 0) {
        /* It was killed. Another one gets the files. */
        keep_end_process(kept);
        keep_let_go(keeper, kept);
        return false;
    }
    keep_close_gate(kept);
    kept->number = ask->number;
    memcpy(kept->id, ask->id, sizeof(kept->id));
    list_append(&keeper->kept, &kept->node);
    return true;
}

/* ---- Making ---- */

bool keep_needs_ahead(const struct keeper *keeper)
{
    return !keeper->is_ahead_useless && keeper->spare_count > 0 &&
           (keeper->ahead_count < KEEP_MAX_AHEAD || find_planned(keeper) == NULL);
}

void keep_add_ahead(struct keeper *keeper)
{
    struct kept *kept;

    if (keeper->ahead_count == KEEP_MAX_AHEAD)
        end(keeper, list_entry(keeper->ahead.next, struct kept, node));
    if (keep_build_ahead(keeper, &kept) < 0) {
        keeper->is_ahead_useless = true;
        return;
    }
    list_append(&keeper->ahead, &kept->node);
    keeper->ahead_count++;
}

static bool uses(const char (*layers)[ROOM_ID_BYTES], size_t count, const char *layer)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(layers[i], layer) == 0)
            return true;
    return false;
}

void keep_drop_ahead(struct keeper *keeper, const char *layer)
{
    list_each_safe (node, &keeper->ahead) {
        struct kept *kept = list_entry(node, struct kept, node);

        if (layer == NULL ||
            uses((const char(*)[ROOM_ID_BYTES])kept->layers, kept->layer_count, layer))
            end(keeper, kept);
    }
    if (layer != NULL &&
        uses((const char(*)[ROOM_ID_BYTES])keeper->plan, keeper->plan_count, layer))
        keeper->plan_count = 0;
}
