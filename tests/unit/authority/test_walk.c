/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks over damaged trees: in any order, what cannot be opened or read is reported and skipped,
 * and the rest is visited.
 */
#include "world.h"

static const struct backend_ops *real_ops;
static struct backend_ops ops;
static const char *bad_name;        /* a directory of this name... */
static struct backend_dir *bad_dir; /* ...which is this one, once it is open... */
static unsigned bad_after;          /* ...cannot be read any more after so many entries */

static int open_below(struct backend_dir *dir, struct str component, struct backend_dir **out_dir)
{
    int r = real_ops->dir_open_below(dir, component, out_dir);

    if (r == 0 && str_eq_c(component, bad_name))
        bad_dir = *out_dir;
    return r;
}

static int open_dir(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                    struct backend_dir **out_dir)
{
    int r = real_ops->dir_open(root, lookup, name, out_dir);

    if (r == 0 && str_eq_c(name, bad_name))
        bad_dir = *out_dir;
    return r;
}

static bool read_next(struct backend_dir *dir, struct str *out_component,
                      enum authority_type *out_type, int *out_error)
{
    if (dir != bad_dir || bad_after > 0) {
        bad_after -= dir == bad_dir;
        return real_ops->dir_next(dir, out_component, out_type, out_error);
    }
    *out_error = ERR_IO;
    return false;
}

static void close_dir(struct backend_dir *dir)
{
    if (dir == bad_dir)
        bad_dir = NULL;
    real_ops->dir_close(dir);
}

/* From here on this directory cannot be read. */
static void spoil(struct world *world, const char *name, unsigned after)
{
    bad_name = name;
    bad_after = after;
    if (world->authority->backend->ops == &ops)
        return;
    real_ops = world->authority->backend->ops;
    ops = *real_ops;
    ops.dir_open = open_dir;
    ops.dir_open_below = open_below;
    ops.dir_next = read_next;
    ops.dir_close = close_dir;
    world->authority->backend->ops = &ops;
}

enum { ORDERS = 4 };

static int walk(struct world *world, struct str name, size_t order, authority_visit_fn *visit,
                void *data)
{
    const struct authority_walk_options options = {.is_sorted = (order & 1) != 0,
                                                   .is_breadth_first = (order & 2) != 0};

    return authority_walk(world->scope, name, &options, visit, data, &world->err);
}

/* ---- what is seen, whatever the order ---- */

struct seen {
    struct world *world;
    struct buf names;
    const char *doomed; /* removed by others as soon as it was shown */
};

static int see(void *data, const struct authority_entry *entry)
{
    const struct backend_lookup lookup = {.follows_links = false};
    struct seen *seen = data;

    if (seen->doomed != NULL && str_eq_c(entry->name, seen->doomed)) {
        if (seen->world->is_memory)
            assert_int_equal(seen->world->authority->backend->ops->remove(
                                 seen->world->trees[WORLD_ROOT], &lookup, entry->name, false, 1),
                             0);
        else
            assert_int_equal(unlinkat(seen->world->fds[WORLD_ROOT], seen->doomed, AT_REMOVEDIR), 0);
    }
    assert_int_equal(buf_append_char(&seen->names, ' '), 0);
    assert_int_equal(buf_append_str(&seen->names, entry->name), 0);
    return 0;
}

/* Each of the names, in any order, and so many altogether. */
static void expect_seen(struct seen *seen, const char *const *names, size_t count)
{
    size_t spaces = 0;

    assert_int_equal(buf_append_char(&seen->names, ' '), 0);
    for (size_t i = 0; i < count; i++) {
        char name[64];

        snprintf(name, sizeof(name), " %s ", names[i]);
        if (str_find(buf_view(&seen->names), str_from(name)) == SIZE_MAX)
            fail_msg("%s was not shown among%.*s", names[i], STR_ARG(buf_view(&seen->names)));
    }
    for (size_t i = 0; i < seen->names.len; i++)
        spaces += seen->names.data[i] == ' ';
    if (spaces != count + 1)
        fail_msg("shown were%.*s", STR_ARG(buf_view(&seen->names)));
    buf_clear(&seen->names);
}

static void plant_tree(struct world *world)
{
    plant_dir(world, WORLD_ROOT, "a");
    plant(world, WORLD_ROOT, "a/f", "x");
    plant_dir(world, WORLD_ROOT, "m");
    plant_dir(world, WORLD_ROOT, "z");
    plant(world, WORLD_ROOT, "z/f", "x");
}

/* ---- the tests ---- */

static void a_directory_that_vanishes_is_passed_over(void **state)
{
    static const char *const names[] = {"a", "a/f", "m", "z", "z/f"};
    struct world *world = *state;
    struct seen seen = {.world = world, .names = BUF_INIT(1000), .doomed = "m"};

    plant_tree(world);
    for (size_t i = 0; i < ORDERS; i++) {
        assert_ok(world, walk(world, STR_EMPTY, i, see, &seen));
        assert_false(is_there(world, WORLD_ROOT, "m"));
        expect_seen(&seen, names, array_size(names));
        plant_dir(world, WORLD_ROOT, "m");
    }
    buf_done(&seen.names);
}

static void walk_past_shut(struct world *world)
{
    static const char *const names[] = {"a", "a/f", "m", "z", "z/f"};
    struct seen seen = {.world = world, .names = BUF_INIT(1000)};

    /* Roots are open already; permissions count for this user. */
    if (geteuid() == 0 && !world->is_memory)
        assert_int_equal(setresuid(65534, 65534, 65534), 0);
    for (size_t i = 0; i < ORDERS; i++) {
        assert_ok(world, walk(world, STR_EMPTY, i, see, &seen));
        expect_seen(&seen, names, array_size(names));
        /* Asked for by its name, it is no secret that it cannot be opened. */
        assert_refused(world, walk(world, STR("m"), i, see, &seen), ERR_PERMISSION_DENIED);
    }
    buf_done(&seen.names);
}

static void a_directory_that_is_shut_is_passed_over(void **state)
{
    struct world *world = *state;

    plant_tree(world);
    plant(world, WORLD_ROOT, "m/hidden", "x");
    set_mode(world, WORLD_ROOT, "m", 0);
    if (world->is_memory)
        walk_past_shut(world);
    else
        world_in_child(world, walk_past_shut);
    set_mode(world, WORLD_ROOT, "m", 0755);
}

static void a_directory_that_cannot_be_read_is_passed_over(void **state)
{
    static const char *const none[] = {"a", "a/f", "m", "z", "z/f"};
    static const char *const one[] = {"a", "a/f", "m", "m/f", "z", "z/f"};
    struct world *world = *state;
    struct seen seen = {.world = world, .names = BUF_INIT(1000)};

    plant_tree(world);
    plant(world, WORLD_ROOT, "m/f", "x");
    for (size_t i = 0; i < ORDERS; i++) {
        spoil(world, "m", 0);
        assert_ok(world, walk(world, STR_EMPTY, i, see, &seen));
        expect_seen(&seen, none, array_size(none));
        /* What was read before is shown. */
        spoil(world, "m", 1);
        assert_ok(world, walk(world, STR_EMPTY, i, see, &seen));
        expect_seen(&seen, one, array_size(one));
    }
    buf_done(&seen.names);
}

/* "Nothing there" would be an answer to another question. */
static void the_directory_that_was_asked_for_is_not_passed_over(void **state)
{
    static const char *const one[] = {"f"};
    struct world *world = *state;
    struct seen seen = {.world = world, .names = BUF_INIT(1000)};

    plant_tree(world);
    for (size_t i = 0; i < ORDERS; i++) {
        spoil(world, "a", 1);
        assert_refused(world, walk(world, STR("a"), i, see, &seen), ERR_IO);
        expect_seen(&seen, one, array_size(one));
    }
    buf_done(&seen.names);
}

/* A walk that others rely on for all of it. */
static void a_tree_that_cannot_be_read_is_not_moved_in_part(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct authority_scope *other;

    request.root.path = world->paths[WORLD_OTHER];
    other = world_open(world, &request);
    plant_dir(world, WORLD_ROOT, "d");
    plant_dir(world, WORLD_ROOT, "d/m");
    plant(world, WORLD_ROOT, "d/m/f", "x");
    freeze(world);
    spoil(world, "m", 0);
    assert_refused(world,
                   authority_move_in(other, STR("d"), world->scope, STR("d"), NULL, &world->err),
                   ERR_IO);
    spoil(world, "none", 0);
    assert_frozen(world);
    authority_scope_free(other);
}

TEST_MAIN(EVERYWHERE(a_directory_that_vanishes_is_passed_over),
          EVERYWHERE(a_directory_that_is_shut_is_passed_over),
          EVERYWHERE(a_directory_that_cannot_be_read_is_passed_over),
          EVERYWHERE(the_directory_that_was_asked_for_is_not_passed_over),
          EVERYWHERE(a_tree_that_cannot_be_read_is_not_moved_in_part))
