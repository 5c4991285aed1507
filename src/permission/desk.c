/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/desk.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"

/*
 * A question is on `open` until it ends, and then on `leaving` while the surfaces
 * are told: only so does a surface that goes meanwhile find all that it was shown.
 */
struct entry {
    struct list node;
    uint64_t id;
    struct question *question;
    size_t bytes;
    desk_answer_fn *answer;
    void *data;
    unsigned shown; /* bits of the slots that are to be told when it ends */
};

struct slot {
    bool is_used;
    struct desk_surface surface;
};

struct desk {
    struct list open; /* oldest first */
    struct list leaving;
    size_t open_count;
    size_t open_bytes;
    struct slot slots[DESK_MAX_SURFACES];
    uint64_t last_id;
    bool is_closing;
};

static struct entry *find(const struct desk *desk, uint64_t id)
{
    list_each (node, &desk->open) {
        struct entry *entry = list_entry(node, struct entry, node);

        if (entry->id == id)
            return entry;
    }
    return NULL;
}

/* The oldest that is younger than this one. */
static struct entry *first_after(const struct desk *desk, uint64_t id)
{
    list_each (node, &desk->open) {
        struct entry *entry = list_entry(node, struct entry, node);

        if (entry->id > id)
            return entry;
    }
    return NULL;
}

static int slot_of(const struct desk *desk, const char *name)
{
    for (int i = 0; i < DESK_MAX_SURFACES; i++)
        if (desk->slots[i].is_used && strcmp(desk->slots[i].surface.name, name) == 0)
            return i;
    return -1;
}

static bool has_surface(const struct desk *desk)
{
    for (int i = 0; i < DESK_MAX_SURFACES; i++)
        if (desk->slots[i].is_used)
            return true;
    return false;
}

static void show(struct desk *desk, int slot, struct entry *entry)
{
    const struct desk_surface surface = desk->slots[slot].surface;

    if ((entry->shown & 1U << slot) != 0)
        return;
    entry->shown |= 1U << slot;
    surface.show(surface.data, entry->id, entry->question);
}

/* Takes it off the open ones, tells those who showed it, and leaves it to the caller to free. */
static void end(struct desk *desk, struct entry *entry, enum desk_end end, const char *by)
{
    list_remove(&entry->node);
    list_append(&desk->leaving, &entry->node);
    desk->open_count--;
    desk->open_bytes -= entry->bytes;
    for (int i = 0; i < DESK_MAX_SURFACES; i++) {
        const struct desk_surface surface = desk->slots[i].surface;

        if ((entry->shown & 1U << i) == 0)
            continue;
        entry->shown &= ~(1U << i);
        if (by == NULL || strcmp(surface.name, by) != 0)
            surface.withdraw(surface.data, entry->id, end, by);
    }
    list_remove(&entry->node);
}

static void entry_free(struct entry *entry)
{
    free(entry->question);
    free(entry);
}

static void conclude(struct desk *desk, struct entry *entry, enum permission_choice choice,
                     enum desk_end why, const char *by)
{
    end(desk, entry, why, by);
    entry->answer(entry->data, entry->id, choice, by);
    entry_free(entry);
}

/* Nobody is left to answer them. */
static void deny_open(struct desk *desk)
{
    while (!list_is_empty(&desk->open) && !has_surface(desk))
        conclude(desk, list_entry(desk->open.next, struct entry, node), CHOICE_DENY_ONCE,
                 DESK_CANCELLED, NULL);
}

int desk_new(struct desk **out_desk)
{
    struct desk *desk = calloc(1, sizeof(*desk));

    if (desk == NULL)
        return ERR_NO_MEMORY;
    list_init(&desk->open);
    list_init(&desk->leaving);
    *out_desk = desk;
    return 0;
}

void desk_free(struct desk *desk)
{
    if (desk == NULL)
        return;
    assert(list_is_empty(&desk->leaving));
    desk->is_closing = true;
    while (!list_is_empty(&desk->open))
        conclude(desk, list_entry(desk->open.next, struct entry, node), CHOICE_DENY_ONCE,
                 DESK_CANCELLED, NULL);
    free(desk);
}

int desk_add(struct desk *desk, const struct desk_surface *surface)
{
    uint64_t newest = desk->last_id; /* later ones are shown by those who ask */
    int slot = 0;

    if (slot_of(desk, surface->name) >= 0)
        return ERR_ALREADY_EXISTS;
    while (slot < DESK_MAX_SURFACES && desk->slots[slot].is_used)
        slot++;
    if (slot == DESK_MAX_SURFACES)
        return ERR_BUSY;
    desk->slots[slot] = (struct slot){true, *surface};
    /* Looked for anew each time: showing one may end any, and the surface too. */
    for (struct entry *entry = first_after(desk, 0); entry != NULL && entry->id <= newest;) {
        uint64_t id = entry->id;

        show(desk, slot, entry);
        entry = slot_of(desk, surface->name) == slot ? first_after(desk, id) : NULL;
    }
    return 0;
}

void desk_remove(struct desk *desk, const char *name)
{
    int slot = slot_of(desk, name);

    if (slot < 0)
        return;
    desk->slots[slot].is_used = false;
    list_each (node, &desk->open)
        list_entry(node, struct entry, node)->shown &= ~(1U << slot);
    list_each (node, &desk->leaving)
        list_entry(node, struct entry, node)->shown &= ~(1U << slot);
    deny_open(desk);
}

int desk_ask(struct desk *desk, const struct question *question, desk_answer_fn *answer, void *data,
             uint64_t *out_id)
{
    struct entry *entry;
    uint64_t id;
    size_t bytes = question_bytes(question);
    int r;

    if (desk->is_closing)
        return ERR_CANCELLED;
    if (desk->open_count == DESK_MAX_OPEN ||
        (bytes <= QUESTION_MAX_BYTES && bytes > DESK_MAX_BYTES - desk->open_bytes))
        return ERR_BUSY;
    entry = calloc(1, sizeof(*entry));
    if (entry == NULL)
        return ERR_NO_MEMORY;
    r = question_copy(question, &entry->question);
    if (r < 0) {
        free(entry);
        return r;
    }
    id = entry->id = ++desk->last_id;
    entry->bytes = bytes;
    entry->answer = answer;
    entry->data = data;
    list_append(&desk->open, &entry->node);
    desk->open_count++;
    desk->open_bytes += bytes;
    *out_id = id;
    for (int i = 0; i < DESK_MAX_SURFACES && entry != NULL; i++) {
        if (desk->slots[i].is_used)
            show(desk, i, entry);
        entry = find(desk, id); /* it may have been answered on the spot */
    }
    deny_open(desk);
    return 0;
}

int desk_answer(struct desk *desk, uint64_t id, enum permission_choice choice, const char *by)
{
    struct entry *entry = find(desk, id);

    if (entry == NULL)
        return ERR_NOT_FOUND;
    if (choice >= CHOICES || (entry->question->choices & 1U << choice) == 0)
        return ERR_INVALID_ARGUMENT;
    conclude(desk, entry, choice, DESK_ANSWERED_ELSEWHERE, by);
    return 0;
}

void desk_cancel(struct desk *desk, uint64_t id, enum desk_end why)
{
    struct entry *entry = find(desk, id);

    if (entry == NULL)
        return;
    end(desk, entry, why, NULL);
    entry_free(entry);
}

bool desk_has_surface(const struct desk *desk)
{
    for (size_t i = 0; i < DESK_MAX_SURFACES; i++)
        if (desk->slots[i].is_used)
            return true;
    return false;
}

size_t desk_waiting(const struct desk *desk)
{
    return desk->open_count;
}
