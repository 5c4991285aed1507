/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intrusive doubly linked ring: the links live inside the listed object, so
 * linking never allocates and unlinking needs no search.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *prev;
    struct list *next;
};

static inline void list_init(struct list *list)
{
    list->prev = list;
    list->next = list;
}

static inline bool list_is_empty(const struct list *list)
{
    return list->next == list;
}

static inline void list_append(struct list *list, struct list *node)
{
    node->prev = list->prev;
    node->next = list;
    list->prev->next = node;
    list->prev = node;
}

/* Leaves the node linked to itself, so that removing it twice is harmless. */
static inline void list_remove(struct list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

/* The object of `type` whose member `member` is `node`. */
#define list_entry(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))

/* The body must not unlink `node`; list_each_safe allows it. */
#define list_each(node, head)                                                                      \
    for (struct list *node = (head)->next; node != (head); node = node->next)
#define list_each_safe(node, head)                                                                 \
    for (struct list *node = (head)->next, *node##_next = node->next; node != (head);              \
         node = node##_next, node##_next = node->next)

#endif
