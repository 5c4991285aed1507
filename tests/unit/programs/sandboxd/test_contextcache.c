/* SPDX-License-Identifier: Apache-2.0 */
/* Build contexts: whose go when there are too many. */
#include "programs/sandboxd/contextcache.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "test.h"

#define cleanup_contexts cleanup_with(contextcache_done)

enum { LARGE_BYTES = 1500, SHARE_BYTES = 6400, MOST_BYTES = 19200 };

/* "owner" keeps one named "key", of that many bytes. */
static int keep(struct contextcache *cache, const char *owner, const char *key, size_t len)
{
    char *bytes = calloc(1, len);
    const struct str piece = {bytes, len};
    int r;

    assert_non_null(bytes);
    r = contextcache_keep(cache, owner, str_from(key), &piece, 1);
    free(bytes);
    return r;
}

static bool has(struct contextcache *cache, const char *owner, const char *key)
{
    struct context *context = contextcache_find(cache, str_from(key), owner);

    context_unref(context);
    return context != NULL;
}

static void a_name_is_the_owners(void **state)
{
    cleanup_contexts struct contextcache cache;
    const struct str pieces[] = {STR("ab"), STR("c")};
    struct context *context;

    (void)state;
    contextcache_init(&cache, SHARE_BYTES, MOST_BYTES);
    assert_int_equal(contextcache_keep(&cache, "a", STR("k"), pieces, 2), 0);
    assert_false(has(&cache, "b", "k"));
    context = contextcache_find(&cache, STR("k"), "a");
    assert_non_null(context);
    assert_string_equal(context->digest,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    /* Another one of that name does not disturb whoever uses this one. */
    assert_int_equal(keep(&cache, "a", "k", 7), 0);
    assert_int_equal(cache.bytes, 7);
    assert_memory_equal(context->bytes, "abc", 3);
    context_unref(context);
}

static void an_owners_own_oldest_makes_room(void **state)
{
    cleanup_contexts struct contextcache cache;
    char key[16];

    (void)state;
    contextcache_init(&cache, SHARE_BYTES, MOST_BYTES);
    assert_int_equal(keep(&cache, "b", "b", LARGE_BYTES), 0);
    for (int i = 0; i < 4; i++) {
        snprintf(key, sizeof(key), "%d", i);
        assert_int_equal(keep(&cache, "a", key, LARGE_BYTES), 0);
    }
    assert_true(has(&cache, "a", "0")); /* used last now */
    assert_int_equal(keep(&cache, "a", "4", LARGE_BYTES), 0);
    assert_true(has(&cache, "a", "0"));
    assert_false(has(&cache, "a", "1"));
    assert_true(has(&cache, "b", "b"));
    for (int i = 0; i < 2 * CONTEXTCACHE_MOST; i++) {
        snprintf(key, sizeof(key), "small-%d", i);
        assert_int_equal(keep(&cache, "a", key, 1), 0);
    }
    assert_int_equal(cache.bytes, LARGE_BYTES + CONTEXTCACHE_MOST);
    assert_true(has(&cache, "b", "b"));
    assert_int_equal(keep(&cache, "a", "huge", SHARE_BYTES + 1), ERR_BUSY);
    assert_int_equal(cache.bytes, LARGE_BYTES);
}

static void the_owner_that_has_most_loses_its_oldest(void **state)
{
    cleanup_contexts struct contextcache cache;
    char key[16];
    char owner[16];

    (void)state;
    contextcache_init(&cache, SHARE_BYTES, MOST_BYTES);
    assert_int_equal(keep(&cache, "small", "s", LARGE_BYTES), 0);
    for (int i = 0; i < 12; i++) {
        snprintf(key, sizeof(key), "%d", i);
        snprintf(owner, sizeof(owner), "owner-%d", i / 4);
        assert_int_equal(keep(&cache, owner, key, LARGE_BYTES), 0);
    }
    /* The three had four each, and the first one lost one. */
    assert_true(cache.bytes <= MOST_BYTES);
    assert_true(has(&cache, "small", "s"));
    assert_false(has(&cache, "owner-0", "0"));
    assert_true(has(&cache, "owner-0", "1"));
    /* So does whoever comes last, if it is that one. */
    for (int i = 0; i < 10; i++) {
        snprintf(owner, sizeof(owner), "other-%d", i);
        assert_int_equal(keep(&cache, owner, "x", LARGE_BYTES), 0);
    }
    assert_int_equal(keep(&cache, "last", "y", 2 * (size_t)LARGE_BYTES), ERR_BUSY);
    assert_true(has(&cache, "small", "s"));
    assert_true(cache.bytes <= MOST_BYTES);
}

TEST_MAIN(cmocka_unit_test(a_name_is_the_owners), cmocka_unit_test(an_owners_own_oldest_makes_room),
          cmocka_unit_test(the_owner_that_has_most_loses_its_oldest))
