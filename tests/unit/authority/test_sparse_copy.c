/* SPDX-License-Identifier: Apache-2.0 */
/* How much a copy may take; holes take nothing. */
#include "attempts.h"

enum { PART = 64 << 10, MUCH = 4 << 20 };

#define TERA ((uint64_t)1 << 40)

/* Parts with data, each PART bytes long, and the file's size. */
struct shape {
    uint64_t size;
    uint64_t parts[3];
    size_t part_count;
};

static const struct shape shapes[] = {
    {.size = TERA, .parts = {0, TERA / 2, TERA - PART}, .part_count = 3},
    {.size = TERA, .parts = {TERA / 4}, .part_count = 1},
    {.size = TERA},
    {.size = PART, .parts = {0}, .part_count = 1},
    {.size = 0},
    /* Not even at the end of a block. */
    {.size = 3 * MUCH + 5, .parts = {MUCH + 1, 2 * MUCH + 3}, .part_count = 2},
};

static void fill_part(char part[PART], size_t seed)
{
    for (size_t i = 0; i < PART; i++)
        part[i] = (char)(1 + (i * 7 + seed) % 251);
}

/* False where the file system has no room for one, or no holes. */
static bool plant_shape(const struct world *world, const char *name, const struct shape *shape)
{
    cleanup_fd int fd =
        openat(world->fds[WORLD_ROOT], name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    static char part[PART];
    struct stat about;

    assert_true(fd >= 0);
    if (ftruncate(fd, (off_t)shape->size) < 0)
        return false;
    for (size_t i = 0; i < shape->part_count; i++) {
        fill_part(part, i);
        if (pwrite(fd, part, PART, (off_t)shape->parts[i]) != PART)
            return false;
    }
    assert_int_equal(fstat(fd, &about), 0);
    return about.st_blocks * 512 < MUCH && lseek(fd, 0, SEEK_HOLE) <= PART;
}

static void assert_shape(const struct world *world, const char *name, const struct shape *shape)
{
    cleanup_fd int fd = openat(world->fds[WORLD_ROOT], name, O_RDONLY | O_CLOEXEC);
    static char wanted[PART];
    static char found[PART];
    struct stat about;

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &about), 0);
    assert_int_equal(about.st_size, shape->size);
    assert_true(about.st_blocks * 512 < MUCH);
    for (size_t i = 0; i < shape->part_count; i++) {
        uint64_t end = shape->parts[i] + PART;

        fill_part(wanted, i);
        assert_int_equal(pread(fd, found, PART, (off_t)shape->parts[i]), PART);
        assert_memory_equal(found, wanted, PART);
        /* Nothing behind it. */
        if (end < shape->size) {
            assert_int_equal(pread(fd, found, 1, (off_t)end), 1);
            assert_int_equal(found[0], 0);
        }
    }
}

static void holes_stay_holes(void **state)
{
    struct world *world = *state;
    const struct authority_move_options options = {.may_replace = true, .max_copy_bytes = MUCH};

    plant(world, WORLD_ROOT, "old", "old");
    for (size_t i = 0; i < array_size(shapes); i++) {
        cleanup_fd int fd = -1;

        if (!plant_shape(world, "sparse", &shapes[i]))
            skip_because("no room for a sparse file of 1 TiB");
        assert_ok(world,
                  authority_copy(world->scope, STR("sparse"), STR("new"), &options, &world->err));
        assert_shape(world, "new", &shapes[i]);
        assert_ok(world,
                  authority_copy(world->scope, STR("sparse"), STR("old"), &options, &world->err));
        assert_shape(world, "old", &shapes[i]);
        /* Of what the host has opened, the place where it reads stays as well. */
        fd = openat(world->fds[WORLD_ROOT], "sparse", O_RDONLY | O_CLOEXEC);
        assert_int_equal(lseek(fd, 1, SEEK_SET), 1);
        assert_ok(world,
                  authority_copy_in_fd(world->scope, STR("given"), fd, &options, &world->err));
        assert_shape(world, "given", &shapes[i]);
        assert_int_equal(lseek(fd, 0, SEEK_CUR), 1);
    }
}

static void plant_much(struct world *world, const char *name)
{
    static char text[MUCH + 1];

    memset(text, 'm', MUCH);
    plant(world, WORLD_ROOT, name, text);
}

static void too_much_is_refused_and_leaves_nothing(void **state)
{
    struct world *world = *state;
    struct authority_move_options options = {
        .may_replace = true, .make_parents = true, .max_copy_bytes = MUCH - 1};

    plant_much(world, "much");
    plant(world, WORLD_ROOT, "old", "old");
    freeze(world);
    assert_refused(world,
                   authority_copy(world->scope, STR("much"), STR("old"), &options, &world->err),
                   ERR_TOO_LARGE);
    assert_refused(world,
                   authority_copy(world->scope, STR("much"), STR("new"), &options, &world->err),
                   ERR_TOO_LARGE);
    assert_refused(world,
                   authority_copy(world->scope, STR("much"), STR("a/b/new"), &options, &world->err),
                   ERR_TOO_LARGE);
    assert_frozen(world);
    options.max_copy_bytes = MUCH;
    assert_ok(world, authority_copy(world->scope, STR("much"), STR("new"), &options, &world->err));
    assert_true(is_there(world, WORLD_ROOT, "new"));
}

static void a_tree_is_counted_as_a_whole(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct authority_move_options options = {.max_copy_bytes = 2 * MUCH - 1};
    struct authority_scope *other;

    request.root.path = world->paths[WORLD_OUTSIDE];
    other = world_open(world, &request);
    plant_dir(world, WORLD_ROOT, "tree");
    plant_dir(world, WORLD_ROOT, "tree/sub");
    plant_much(world, "tree/one");
    plant_much(world, "tree/sub/two");
    freeze(world);
    assert_refused(
        world,
        authority_move_in(other, STR("to"), world->scope, STR("tree"), &options, &world->err),
        ERR_TOO_LARGE);
    assert_frozen(world);
    options.max_copy_bytes = 2 * MUCH;
    assert_ok(world, authority_move_in(other, STR("to"), world->scope, STR("tree"), &options,
                                       &world->err));
    assert_false(is_there(world, WORLD_ROOT, "tree"));
    assert_true(is_there(world, WORLD_OUTSIDE, "to/sub/two"));
    authority_scope_free(other);
}

/* As for reads: what counts there is the size that the file has for everybody. */
static void holes_count_for_the_size_of_a_file(void **state)
{
    struct world *world = *state;
    struct authority_scope *limited =
        world_open_limited(world, &(struct authority_limits){.max_file_bytes = MUCH});
    const struct shape *shape = &shapes[array_size(shapes) - 1];

    if (!plant_shape(world, "sparse", shape))
        skip_because("no holes on this file system");
    freeze(world);
    assert_refused(world, authority_copy(limited, STR("sparse"), STR("new"), NULL, &world->err),
                   ERR_TOO_LARGE);
    assert_refused(
        world,
        authority_copy_in(limited, STR("new"), world->scope, STR("sparse"), NULL, &world->err),
        ERR_TOO_LARGE);
    assert_frozen(world);
    authority_scope_free(limited);
}

TEST_MAIN(ON_DISK(holes_stay_holes), EVERYWHERE(too_much_is_refused_and_leaves_nothing),
          EVERYWHERE(a_tree_is_counted_as_a_whole), ON_DISK(holes_count_for_the_size_of_a_file))
