/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first so many of a stream of names, in order, however many come by and in
 * whatever order: memory is that of twice as many.
 *
 * The order is that of a tree as it is shown: a directory before what is in it,
 * and in each directory the directories first, then by bytes.
 */
#ifndef SEARCH_SHORTLIST_H
#define SEARCH_SHORTLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "gatehouse/authority.h"

struct shortlist_item {
    uint64_t size; /* for the owner */
    bool has_size;
    bool is_directory;
    uint16_t len;  /* below PATH_MAX */
    uint16_t last; /* where its last component begins */
    char name[];
};

struct shortlist {
    struct arena store; /* of the items, dropped ones included until the next cut */
    struct shortlist_item **items;
    size_t count;
    size_t room;
    size_t max;
    const struct shortlist_item
        *bound;       /* of the items: what is not before it is none of the first */
    bool is_dropping; /* something did not fit */
    bool has_slashes; /* one of the names has */
};

void shortlist_init(struct shortlist *list, size_t max);
void shortlist_done(struct shortlist *list);
#define cleanup_shortlist cleanup_with(shortlist_done)

/*
 * Whether this name, and with a directory anything below it, may still be among
 * the first: false lets a walk pass it by.
 */
bool shortlist_wants(const struct shortlist *list, struct str name, bool is_directory);

/*
 * Takes a copy if it is wanted. *out_item, which may be NULL, is the copy or NULL,
 * valid until the next call. ERR_NO_MEMORY.
 */
int shortlist_add(struct shortlist *list, struct str name, bool is_directory,
                  struct shortlist_item **out_item);

/* The first `max`, in order: only then may the items be read, and none is added afterwards. */
void shortlist_sort(struct shortlist *list);

static inline struct str shortlist_name(const struct shortlist_item *item)
{
    return (struct str){item->name, item->len};
}

/* <0, 0, >0 in the order above. */
int shortlist_compare(struct str a, bool a_is_directory, struct str b, bool b_is_directory);

#endif
