/* SPDX-License-Identifier: Apache-2.0 */
#include "search/shortlist.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum {
    FIRST_ROOM = 64,
    MAX_ROUNDS = 32, /* of selecting: about ten are usual */
    MAX_ITEM_BYTES = sizeof(struct shortlist_item) + UINT16_MAX + ARENA_ALIGN,
    SPARE_BYTES = 4 << 20, /* what an arena holds beyond what is asked for */
};

/* For twice as many as wanted: see make_room(). */
static size_t most_bytes(size_t max)
{
    size_t bytes;

    return __builtin_mul_overflow(2 * MAX_ITEM_BYTES, max, &bytes) || bytes > SIZE_MAX / 2
               ? SIZE_MAX
               : bytes + SPARE_BYTES;
}

void shortlist_init(struct shortlist *list, size_t max)
{
    *list = (struct shortlist){.max = max};
    arena_init(&list->store, most_bytes(max));
}

void shortlist_done(struct shortlist *list)
{
    arena_done(&list->store);
    free(list->items);
    shortlist_init(list, list->max);
}

/* Start of the last component. */
static size_t last_begin(struct str name)
{
    const char *slash = memrchr(name.ptr, '/', name.len);

    return slash != NULL ? (size_t)(slash - name.ptr) + 1 : 0;
}

/* `a_last` and `b_last` are the starts of their last components. */
static int compare(struct str a, size_t a_last, bool a_is_directory, struct str b, size_t b_last,
                   bool b_is_directory)
{
    size_t same = str_common_prefix(a, b);
    bool a_ends = same == a.len || a.ptr[same] == '/';
    bool b_ends = same == b.len || b.ptr[same] == '/';

    if (same == a.len && same == b.len)
        return (int)b_is_directory - (int)a_is_directory;
    /* What is below something comes after it. */
    if (same == a.len && b_ends)
        return -1;
    if (same == b.len && a_ends)
        return 1;
    /* They differ within a component: a name that continues after it is a directory there. */
    a_is_directory = a_is_directory || a_last > same;
    b_is_directory = b_is_directory || b_last > same;
    if (a_is_directory != b_is_directory)
        return a_is_directory ? -1 : 1;
    if (a_ends || b_ends)
        return a_ends ? -1 : 1;
    return (unsigned char)a.ptr[same] < (unsigned char)b.ptr[same] ? -1 : 1;
}

int shortlist_compare(struct str a, bool a_is_directory, struct str b, bool b_is_directory)
{
    return compare(a, last_begin(a), a_is_directory, b, last_begin(b), b_is_directory);
}

static int compare_items(const struct shortlist_item *a, const struct shortlist_item *b)
{
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    return compare(shortlist_name(a), a->last, a->is_directory, shortlist_name(b), b->last,
                   b->is_directory);
}

static bool wants(const struct shortlist *list, struct str name, bool is_directory, int64_t rank)
{
    const struct shortlist_item *bound = list->bound;

    if (bound == NULL)
        return list->max > 0;
    if (rank != bound->rank)
        return rank > bound->rank;
    return shortlist_compare(name, is_directory, shortlist_name(bound), bound->is_directory) < 0;
}

bool shortlist_wants(const struct shortlist *list, struct str name, bool is_directory)
{
    return wants(list, name, is_directory, 0);
}

static void swap(struct shortlist_item **items, size_t a, size_t b)
{
    struct shortlist_item *item = items[a];

    items[a] = items[b];
    items[b] = item;
}

/* Moves the median of three to `first`. */
static void choose_pivot(struct shortlist_item **items, size_t first, size_t last)
{
    size_t middle = first + (last - first) / 2;

    if (compare_items(items[middle], items[last]) > 0)
        swap(items, middle, last);
    if (compare_items(items[first], items[last]) > 0)
        swap(items, first, last);
    if (compare_items(items[first], items[middle]) < 0)
        swap(items, first, middle);
}

/* Partitions around the item at `first`, and returns its new position. */
static size_t part(struct shortlist_item **items, size_t first, size_t last)
{
    size_t border = first;

    choose_pivot(items, first, last);
    for (size_t i = first + 1; i <= last; i++)
        if (compare_items(items[i], items[first]) < 0)
            swap(items, i, ++border);
    swap(items, first, border);
    return border;
}

static int compare_pointers(const void *left, const void *right)
{
    return compare_items(*(struct shortlist_item *const *)left,
                         *(struct shortlist_item *const *)right);
}

/* Same if no name has a slash. */
static int compare_plain(const void *left, const void *right)
{
    const struct shortlist_item *a = *(struct shortlist_item *const *)left;
    const struct shortlist_item *b = *(struct shortlist_item *const *)right;
    int order;

    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    if (a->is_directory != b->is_directory)
        return (int)b->is_directory - (int)a->is_directory;
    order = memcmp(a->name, b->name, a->len < b->len ? a->len : b->len);
    return order != 0 ? order : (int)a->len - (int)b->len;
}

/*
 * Moves the first `max` items to the front, the last of them to their end. Partitioning takes a few
 * rounds; names chosen to make it slow are sorted instead.
 */
static void select_first(struct shortlist *list)
{
    size_t wanted = list->max - 1;
    size_t first = 0;
    size_t last = list->count - 1;

    for (int rounds = 0; first < last; rounds++) {
        size_t at;

        if (rounds == MAX_ROUNDS) {
            qsort(list->items + first, last - first + 1, sizeof(list->items[0]), compare_pointers);
            return;
        }
        at = part(list->items, first, last);
        if (at == wanted)
            return;
        if (at < wanted)
            first = at + 1;
        else
            last = at - 1;
    }
}

static void cut(struct shortlist *list)
{
    if (list->count <= list->max || list->max == 0)
        return;
    select_first(list);
    list->count = list->max;
    list->bound = list->items[list->max - 1];
    list->is_dropping = true;
}

/* Copies the remaining items to a new store, and frees the old one. */
static int move_house(struct shortlist *list)
{
    struct arena store = ARENA_INIT(list->store.max);

    for (size_t i = 0; i < list->count; i++) {
        const struct shortlist_item *item = list->items[i];
        struct shortlist_item *copy = arena_alloc(&store, sizeof(*item) + item->len);

        if (copy == NULL) {
            arena_done(&store);
            list->count = 0;
            list->bound = NULL;
            return ERR_NO_MEMORY;
        }
        memcpy(copy, item, sizeof(*item) + item->len);
        list->items[i] = copy;
    }
    arena_done(&list->store);
    list->store = store;
    list->bound = list->items[list->count - 1];
    return 0;
}

/* Makes room for one more; if there are twice as many as wanted, drops the second half. */
static int make_room(struct shortlist *list)
{
    struct shortlist_item **items;
    size_t room;

    if (list->count / 2 >= list->max && list->max > 0) {
        int r;

        cut(list);
        r = move_house(list);
        if (r < 0)
            return r;
    }
    if (list->count < list->room)
        return 0;
    room = list->room == 0 ? FIRST_ROOM : list->room * 2;
    items = realloc(list->items, room * sizeof(*items));
    if (items == NULL)
        return ERR_NO_MEMORY;
    list->items = items;
    list->room = room;
    return 0;
}

static struct shortlist_item *make_item(struct arena *store, struct str name, bool is_directory,
                                        int64_t rank)
{
    struct shortlist_item *item = arena_alloc(store, sizeof(*item) + name.len);

    if (item == NULL)
        return NULL;
    *item = (struct shortlist_item){
        .rank = rank,
        .is_directory = is_directory,
        .len = (uint16_t)name.len,
        .last = (uint16_t)last_begin(name),
    };
    memcpy(item->name, name.ptr, name.len);
    return item;
}

int shortlist_add(struct shortlist *list, struct str name, bool is_directory,
                  struct shortlist_item **out_item)
{
    return shortlist_add_ranked(list, name, is_directory, 0, out_item);
}

int shortlist_add_ranked(struct shortlist *list, struct str name, bool is_directory, int64_t rank,
                         struct shortlist_item **out_item)
{
    struct shortlist_item *item;
    int r;

    assert(name.len <= UINT16_MAX);
    if (out_item != NULL)
        *out_item = NULL;
    if (!wants(list, name, is_directory, rank)) {
        list->is_dropping = true;
        return 0;
    }
    r = make_room(list);
    if (r < 0)
        return r;
    item = make_item(&list->store, name, is_directory, rank);
    if (item == NULL)
        return ERR_NO_MEMORY;
    list->items[list->count++] = item;
    list->has_slashes = list->has_slashes || item->last > 0;
    if (out_item != NULL)
        *out_item = item;
    return 0;
}

void shortlist_sort(struct shortlist *list)
{
    cut(list);
    if (list->count > 1)
        qsort(list->items, list->count, sizeof(list->items[0]),
              list->has_slashes ? compare_pointers : compare_plain);
}
