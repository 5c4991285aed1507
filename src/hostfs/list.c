/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list: the files below a prefix, of all directories, sorted by the bytes of their paths. A cursor
 * is the last path of its page, so the next page begins behind it whatever was added or removed
 * meanwhile.
 */
#include "hostfs/internal.h"

#include <stdlib.h>

#include "authority/names/path.h"
#include "base/base64.h"
#include "base/jsonwrite.h"
#include "base/utf8.h"

enum {
    PAGE_BYTES = 1 << 20,        /* of the paths in a page */
    CURSOR_BYTES = 2 * PATH_MAX, /* of one, in base64 */
    FULL_BYTES = 2 * PATH_MAX,   /* directory and name */
};

struct found {
    uint64_t size;
    size_t len;
    char path[];
};

struct listing {
    struct str directory; /* "" or "a/b" */
    struct str begin;     /* how the next component begins */
    struct str after;     /* the cursor's path, or empty */
    size_t limit;
    struct found **heap; /* the smallest so far, the largest of them first; room for limit + 1 */
    size_t count;
    char full[FULL_BYTES];
    size_t full_len;
};

static struct str path_of(const struct found *found)
{
    return (struct str){found->path, found->len};
}

/* ---- the smallest paths ---- */

static void swap(struct found **a, struct found **b)
{
    struct found *other = *a;

    *a = *b;
    *b = other;
}

static bool is_larger(const struct listing *listing, size_t a, size_t b)
{
    return str_compare(path_of(listing->heap[a]), path_of(listing->heap[b])) > 0;
}

static void sift_up(struct listing *listing, size_t at)
{
    while (at > 0 && is_larger(listing, at, (at - 1) / 2)) {
        swap(&listing->heap[at], &listing->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static void sift_down(struct listing *listing, size_t at)
{
    while (2 * at + 1 < listing->count) {
        size_t child = 2 * at + 1;

        if (child + 1 < listing->count && is_larger(listing, child + 1, child))
            child++;
        if (!is_larger(listing, child, at))
            return;
        swap(&listing->heap[at], &listing->heap[child]);
        at = child;
    }
}

static bool is_full(const struct listing *listing)
{
    return listing->count == listing->limit + 1;
}

static int keep(struct listing *listing, uint64_t size)
{
    struct found *found;

    if (is_full(listing) &&
        str_compare((struct str){listing->full, listing->full_len}, path_of(listing->heap[0])) > 0)
        return 0;
    found = malloc(sizeof(*found) + listing->full_len);
    if (found == NULL)
        return ERR_NO_MEMORY;
    found->size = size;
    found->len = listing->full_len;
    memcpy(found->path, listing->full, listing->full_len);
    if (is_full(listing)) {
        free(listing->heap[0]);
        listing->heap[0] = found;
        sift_down(listing, 0);
        return 0;
    }
    listing->heap[listing->count++] = found;
    sift_up(listing, listing->count - 1);
    return 0;
}

static int compare(const void *a, const void *b)
{
    return str_compare(path_of(*(struct found *const *)a), path_of(*(struct found *const *)b));
}

static void free_found(struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        free(listing->heap[i]);
    free(listing->heap);
}

/* ---- the walk ---- */

static bool join(struct listing *listing, struct str name, bool is_directory)
{
    struct str directory = listing->directory;
    size_t at = 0;

    if (directory.len + name.len + 2 > sizeof(listing->full))
        return false;
    memcpy(listing->full, directory.ptr, directory.len);
    at = directory.len;
    if (at > 0)
        listing->full[at++] = '/';
    memcpy(listing->full + at, name.ptr, name.len);
    at += name.len;
    if (is_directory)
        listing->full[at++] = '/';
    listing->full_len = at;
    return true;
}

/* Whether some path in this directory, whose name has its slash, can belong to the page. */
static bool enters(const struct listing *listing)
{
    struct str path = {listing->full, listing->full_len};

    if (str_compare(listing->after, path) > 0 && !str_starts_with(listing->after, path))
        return false;
    return !is_full(listing) || str_compare(path, path_of(listing->heap[0])) < 0;
}

static int visit(void *data, const struct authority_entry *entry)
{
    struct listing *listing = data;
    bool is_directory = entry->type == AUTHORITY_DIRECTORY;

    if (entry->depth == 1 && !str_starts_with(entry->name, listing->begin))
        return is_directory ? AUTHORITY_WALK_SKIP : 0;
    if (!is_directory && entry->type != AUTHORITY_FILE)
        return 0;
    if (!join(listing, entry->name, is_directory))
        return is_directory ? AUTHORITY_WALK_SKIP : 0;
    if (is_directory)
        return enters(listing) ? 0 : AUTHORITY_WALK_SKIP;
    /* A name that is no text cannot be said in JSON. */
    if (!entry->has_stat ||
        str_compare((struct str){listing->full, listing->full_len}, listing->after) <= 0 ||
        !utf8_is_valid((struct str){listing->full, listing->full_len}))
        return 0;
    return keep(listing, entry->stat.size);
}

/* ---- what was asked for ---- */

/* Splits the prefix into a directory and how names in it begin. */
static int take_prefix(const struct hostfs_work *work, struct listing *listing,
                       struct path_name *out_directory)
{
    struct str given = STR_EMPTY;
    struct str name = STR_EMPTY;
    size_t cut;
    int r = 0;

    if (json_get(work->inputs, STR("prefix")) != NULL &&
        !json_get_str(work->inputs, STR("prefix"), &given))
        return err_set(work->err, ERR_INVALID_ARGUMENT, "'prefix' must be a text");
    if (given.len > 0)
        r = hostfs_take_path(given, &name, work->err);
    if (r < 0)
        return r;
    cut = name.len;
    while (cut > 0 && name.ptr[cut - 1] != '/')
        cut--;
    listing->begin = str_slice(name, cut, name.len);
    if (str_eq(listing->begin, STR(".")) || str_eq(listing->begin, STR(".."))) {
        cut = name.len; /* these are directories */
        listing->begin = STR_EMPTY;
    }
    r = path_normalise(str_slice(name, 0, cut), NULL, false, out_directory);
    if (r < 0)
        return err_set_plain(work->err, r);
    listing->directory = path_view(out_directory);
    return str_has_nul(listing->begin) ? err_set_plain(work->err, ERR_INVALID_PATH) : 0;
}

static int take_page(const struct hostfs_work *work, struct listing *listing, struct buf *space)
{
    int64_t limit = HOSTFS_LIST_DEFAULT;
    struct str cursor;

    if (json_get(work->inputs, STR("limit")) != NULL &&
        (!json_get_whole(work->inputs, STR("limit"), &limit) || limit < 1 ||
         limit > HOSTFS_LIST_MAX))
        return err_set(work->err, ERR_INVALID_ARGUMENT, "'limit' must be a number from 1 to %d",
                       HOSTFS_LIST_MAX);
    listing->limit = (size_t)limit;
    if (json_get(work->inputs, STR("cursor")) == NULL)
        return 0;
    if (!json_get_str(work->inputs, STR("cursor"), &cursor) || cursor.len == 0 ||
        cursor.len > CURSOR_BYTES || base64_decode(space, cursor) < 0)
        return err_set(work->err, ERR_INVALID_ARGUMENT,
                       "'cursor' must be the nextCursor of an earlier list");
    listing->after = buf_view(space);
    return 0;
}

static int write_page(const struct hostfs_work *work, struct listing *listing)
{
    cleanup_buf struct buf cursor = BUF_INIT(2 * CURSOR_BYTES);
    struct json_writer json;
    size_t bytes = 0;
    size_t count = 0;
    int r;

    qsort(listing->heap, listing->count, sizeof(*listing->heap), compare);
    json_writer_init(&json, work->out);
    json_begin_object(&json);
    json_key(&json, STR("entries"));
    json_begin_array(&json);
    for (; count < listing->count && count < listing->limit && bytes < PAGE_BYTES; count++) {
        json_begin_object(&json);
        json_put_str(&json, STR("path"), path_of(listing->heap[count]));
        json_put_int(&json, STR("sizeBytes"), (int64_t)listing->heap[count]->size);
        json_end_object(&json);
        bytes += listing->heap[count]->len;
    }
    json_end_array(&json);
    if (count < listing->count) {
        r = base64_append(&cursor, path_of(listing->heap[count - 1]));
        if (r < 0)
            return err_set_plain(work->err, r);
        json_put_str(&json, STR("nextCursor"), buf_view(&cursor));
    }
    json_end_object(&json);
    return json_writer_finish(&json);
}

static int find(const struct hostfs_work *work, struct listing *listing)
{
    const struct authority_walk_options options = {.with_stat = true, .cancel = work->cancel};
    int r;

    listing->heap = calloc(listing->limit + 1, sizeof(*listing->heap));
    if (listing->heap == NULL)
        return ERR_NO_MEMORY;
    r = authority_walk(work->hostfs->scope, listing->directory, &options, visit, listing,
                       work->err);
    /* A directory is nothing but the beginning of paths here: without it there are none. */
    return r == ERR_NOT_FOUND || r == ERR_NOT_A_DIRECTORY ? 0 : r;
}

int hostfs_list(const struct hostfs_work *work)
{
    cleanup_buf struct buf space = BUF_INIT(CURSOR_BYTES);
    struct path_name directory;
    struct listing *listing = calloc(1, sizeof(*listing));
    int r;

    if (listing == NULL)
        return ERR_NO_MEMORY;
    listing->after = STR_EMPTY;
    r = take_prefix(work, listing, &directory);
    if (r == 0)
        r = take_page(work, listing, &space);
    if (r == 0)
        r = find(work, listing);
    if (r == 0)
        r = write_page(work, listing);
    free_found(listing);
    free(listing);
    return r;
}
