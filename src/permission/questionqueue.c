/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/questionqueue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"

/*
 * A question is on `open` until it ends, and then on `leaving` while the surfaces are told: so a
 * surface that is removed meanwhile still finds all that it was shown.
 */
struct entry {
    struct list node;
    uint64_t id;
    struct question *question;
    size_t bytes;
    question_queue_answer_fn *answer;
    void *data;
    unsigned shown; /* bits of the slots to notify when it ends */
};

struct slot {
    bool is_used;
    struct question_queue_surface surface;
};

struct question_queue {
    struct list open; /* oldest first */
    struct list leaving;
    size_t open_count;
    size_t open_bytes;
    struct slot slots[QUESTION_QUEUE_MAX_SURFACES];
    uint64_t last_id;
    bool is_closing;
};

static struct entry *find(const struct question_queue *queue, uint64_t id)
{
    list_each (node, &queue->open) {
        struct entry *entry = list_entry(node, struct entry, node);

        if (entry->id == id)
            return entry;
    }
    return NULL;
}

/* The oldest question that is newer than this one. */
static struct entry *first_after(const struct question_queue *queue, uint64_t id)
{
    list_each (node, &queue->open) {
        struct entry *entry = list_entry(node, struct entry, node);

        if (entry->id > id)
            return entry;
    }
    return NULL;
}

static int slot_of(const struct question_queue *queue, const char *name)
{
    for (int i = 0; i < QUESTION_QUEUE_MAX_SURFACES; i++)
        if (queue->slots[i].is_used && strcmp(queue->slots[i].surface.name, name) == 0)
            return i;
    return -1;
}

static void show(struct question_queue *queue, int slot, struct entry *entry)
{
    const struct question_queue_surface surface = queue->slots[slot].surface;

    if ((entry->shown & 1U << slot) != 0)
        return;
    entry->shown |= 1U << slot;
    surface.show(surface.data, entry->id, entry->question);
}

/* Removes it from the open ones and tells the surfaces that showed it; the caller frees it. */
static void end(struct question_queue *queue, struct entry *entry, enum question_queue_end end,
                const char *by)
{
    list_remove(&entry->node);
    list_append(&queue->leaving, &entry->node);
    queue->open_count--;
    queue->open_bytes -= entry->bytes;
    for (int i = 0; i < QUESTION_QUEUE_MAX_SURFACES; i++) {
        const struct question_queue_surface surface = queue->slots[i].surface;

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

static void conclude(struct question_queue *queue, struct entry *entry,
                     enum permission_choice choice, enum question_queue_end why, const char *by)
{
    end(queue, entry, why, by);
    entry->answer(entry->data, entry->id, choice, by);
    entry_free(entry);
}

/* Denies open questions if no surface is left. */
static void deny_open(struct question_queue *queue)
{
    while (!list_is_empty(&queue->open) && !question_queue_has_surface(queue))
        conclude(queue, list_entry(queue->open.next, struct entry, node), CHOICE_DENY_ONCE,
                 QUESTION_QUEUE_CANCELLED, NULL);
}

int question_queue_new(struct question_queue **out_queue)
{
    struct question_queue *queue = calloc(1, sizeof(*queue));

    if (queue == NULL)
        return ERR_NO_MEMORY;
    list_init(&queue->open);
    list_init(&queue->leaving);
    *out_queue = queue;
    return 0;
}

void question_queue_free(struct question_queue *queue)
{
    if (queue == NULL)
        return;
    assert(list_is_empty(&queue->leaving));
    queue->is_closing = true;
    while (!list_is_empty(&queue->open))
        conclude(queue, list_entry(queue->open.next, struct entry, node), CHOICE_DENY_ONCE,
                 QUESTION_QUEUE_CANCELLED, NULL);
    free(queue);
}

int question_queue_add(struct question_queue *queue, const struct question_queue_surface *surface)
{
    uint64_t newest = queue->last_id; /* later ones are shown by question_queue_ask() */
    int slot = 0;

    if (slot_of(queue, surface->name) >= 0)
        return ERR_ALREADY_EXISTS;
    while (slot < QUESTION_QUEUE_MAX_SURFACES && queue->slots[slot].is_used)
        slot++;
    if (slot == QUESTION_QUEUE_MAX_SURFACES)
        return ERR_BUSY;
    queue->slots[slot] = (struct slot){true, *surface};
    /* Looked for anew each time: showing one may end any, and the surface too. */
    for (struct entry *entry = first_after(queue, 0); entry != NULL && entry->id <= newest;) {
        uint64_t id = entry->id;

        show(queue, slot, entry);
        entry = slot_of(queue, surface->name) == slot ? first_after(queue, id) : NULL;
    }
    return 0;
}

void question_queue_remove(struct question_queue *queue, const char *name)
{
    int slot = slot_of(queue, name);

    if (slot < 0)
        return;
    queue->slots[slot].is_used = false;
    list_each (node, &queue->open)
        list_entry(node, struct entry, node)->shown &= ~(1U << slot);
    list_each (node, &queue->leaving)
        list_entry(node, struct entry, node)->shown &= ~(1U << slot);
    deny_open(queue);
}

int question_queue_ask(struct question_queue *queue, const struct question *question,
                       question_queue_answer_fn *answer, void *data, uint64_t *out_id)
{
    struct entry *entry;
    uint64_t id;
    size_t bytes = question_bytes(question);
    int r;

    if (queue->is_closing)
        return ERR_CANCELLED;
    if (queue->open_count == QUESTION_QUEUE_MAX_OPEN ||
        (bytes <= QUESTION_MAX_BYTES && bytes > QUESTION_QUEUE_MAX_BYTES - queue->open_bytes))
        return ERR_BUSY;
    entry = calloc(1, sizeof(*entry));
    if (entry == NULL)
        return ERR_NO_MEMORY;
    r = question_copy(question, &entry->question);
    if (r < 0) {
        free(entry);
        return r;
    }
    id = entry->id = ++queue->last_id;
    entry->bytes = bytes;
    entry->answer = answer;
    entry->data = data;
    list_append(&queue->open, &entry->node);
    queue->open_count++;
    queue->open_bytes += bytes;
    *out_id = id;
    for (int i = 0; i < QUESTION_QUEUE_MAX_SURFACES && entry != NULL; i++) {
        if (queue->slots[i].is_used)
            show(queue, i, entry);
        entry = find(queue, id); /* it may have been answered on the spot */
    }
    deny_open(queue);
    return 0;
}

int question_queue_answer(struct question_queue *queue, uint64_t id, enum permission_choice choice,
                          const char *by)
{
    struct entry *entry = find(queue, id);

    if (entry == NULL)
        return ERR_NOT_FOUND;
    if (choice >= CHOICES || (entry->question->choices & 1U << choice) == 0)
        return ERR_INVALID_ARGUMENT;
    conclude(queue, entry, choice, QUESTION_QUEUE_ANSWERED_ELSEWHERE, by);
    return 0;
}

void question_queue_cancel(struct question_queue *queue, uint64_t id, enum question_queue_end why)
{
    struct entry *entry = find(queue, id);

    if (entry == NULL)
        return;
    end(queue, entry, why, NULL);
    entry_free(entry);
}

bool question_queue_has_surface(const struct question_queue *queue)
{
    for (size_t i = 0; i < QUESTION_QUEUE_MAX_SURFACES; i++)
        if (queue->slots[i].is_used)
            return true;
    return false;
}

size_t question_queue_waiting(const struct question_queue *queue)
{
    return queue->open_count;
}
