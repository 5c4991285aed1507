/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the first `max` names of a stream, in order, however many come and in whatever order: needs
 * memory for twice as many.
 *
 * The order is that of a displayed tree: a directory before its content, and in each directory the
 * directories first, then by bytes. Items of different rank are in the order of these.
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
    int64_t rank;  /* those with a higher one come first, whatever their names */
    uint64_t size; /* for the owner's use */
    bool has_size;
    bool is_directory;
    uint16_t len;  /* below PATH_MAX */
    uint16_t last; /* start of its last component */
    char name[];
};

struct shortlist {
    struct arena store; /* holds the items, including dropped ones until the next cut */
    struct shortlist_item **items;
    size_t count;
    size_t room;
    size_t max;
    /* One of the items: only names before it can be among the first. */
    const struct shortlist_item *bound;
    bool is_dropping; /* some items did not fit */
    bool has_slashes; /* some name has a slash */
};

void shortlist_init(struct shortlist *list, size_t max);
void shortlist_done(struct shortlist *list);
#define cleanup_shortlist cleanup_with(shortlist_done)

/*
 * Whether this name, or for a directory anything below it, may still be among the first; if not, a
 * walk can skip it.
 */
bool shortlist_wants(const struct shortlist *list, struct str name, bool is_directory);

/*
 * Copies it if wanted. *out_item, which may be NULL, is the copy or NULL, valid until the next
 * call. ERR_NO_MEMORY.
 */
int shortlist_add(struct shortlist *list, struct str name, bool is_directory,
                  struct shortlist_item **out_item);

/* The same with a rank, for names that are all in one directory. */
int shortlist_add_ranked(struct shortlist *list, struct str name, bool is_directory, int64_t rank,
                         struct shortlist_item **out_item);

/* Sorts the first `max`: only afterwards may the items be read, and none may be added. */
void shortlist_sort(struct shortlist *list);

static inline struct str shortlist_name(const struct shortlist_item *item)
{
    return (struct str){item->name, item->len};
}

/* <0, 0, >0 in the order above. */
int shortlist_compare(struct str a, bool a_is_directory, struct str b, bool b_is_directory);

#endif
