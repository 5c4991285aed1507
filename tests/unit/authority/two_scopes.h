/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second scope, over the world's other tree, and functions that tell links and files apart there.
 */
#ifndef TESTS_UNIT_AUTHORITY_TWO_SCOPES_H
#define TESTS_UNIT_AUTHORITY_TWO_SCOPES_H

#include "world.h"

static inline struct authority_scope *open_other(struct world *world,
                                                 struct authority_limits limits)
{
    struct authority_request request = world_request(world);

    request.root.id = "other";
    request.root.path = world->paths[WORLD_OTHER];
    request.limits = limits;
    return world_open(world, &request);
}

static inline struct authority_scope *open_plain_other(struct world *world)
{
    return open_other(world, (struct authority_limits){.symlinks = AUTHORITY_SYMLINKS_REJECT});
}

static inline void assert_link(struct world *world, enum world_tree tree, const char *name,
                               const char *target)
{
    cleanup_buf struct buf found = BUF_INIT(PATH_MAX);
    struct authority_stat about;
    ssize_t len;

    if (world->is_memory) {
        assert_int_equal(memory_peek(world->trees[tree], str_from(name), &about, &found), 0);
        assert_int_equal(about.type, AUTHORITY_SYMLINK);
    } else {
        assert_int_equal(buf_reserve(&found, PATH_MAX), 0);
        len = readlinkat(world->fds[tree], name, found.data, PATH_MAX);
        assert_true(len > 0);
        found.len = (size_t)len;
    }
    assert_true(str_eq_c(buf_view(&found), target));
}

static inline struct authority_stat about(struct world *world, enum world_tree tree,
                                          const char *name)
{
    struct authority_stat found;

    assert_true(look(world, tree, name, &found, NULL));
    return found;
}

#endif
