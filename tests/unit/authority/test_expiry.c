/* SPDX-License-Identifier: Apache-2.0 */
/* A grant that ends during an operation stops it, as if it was revoked. */
#include "attempts.h"

#include <sys/syscall.h>

enum { MANY = 300, AFTER = 3, LIFE_MS = 1000 };

/* The time comes with the AFTERth step of whatever is counted. */
static struct {
    struct world *world;
    const struct backend_ops *real;
    struct backend_ops ops;
    size_t steps;
    bool counts_unlinks;
} countdown;

static void step(void)
{
    if (++countdown.steps == AFTER)
        clock_fake_advance(&countdown.world->clock, LIFE_MS);
}

static struct authority_scope *open_scope(struct world *world)
{
    struct authority_request request = world_request(world);

    countdown.world = world;
    countdown.steps = 0;
    request.expires_ms = clock_wall_ms(&world->clock) + LIFE_MS;
    return world_open(world, &request);
}

static void plant_many(struct world *world, const char *directory)
{
    plant_dir(world, WORLD_ROOT, directory);
    for (int i = 0; i < MANY; i++) {
        char name[32];

        snprintf(name, sizeof(name), "%s/f%d", directory, i);
        plant(world, WORLD_ROOT, name, "content");
    }
}

/* ---- what shows its steps ---- */

static int step_on_visit(void *data, const struct authority_entry *entry)
{
    (void)data;
    (void)entry;
    step();
    return 0;
}

static void a_long_look_ends(void **state)
{
    struct world *world = *state;

    plant_many(world, "many");
    for (int is_walk = 0; is_walk < 2; is_walk++) {
        struct authority_scope *scope = open_scope(world);

        if (is_walk)
            assert_refused(
                world, authority_walk(scope, STR("many"), NULL, step_on_visit, NULL, &world->err),
                ERR_GRANT_EXPIRED);
        else
            assert_refused(
                world, authority_list(scope, STR("many"), NULL, step_on_visit, NULL, &world->err),
                ERR_GRANT_EXPIRED);
        assert_true(countdown.steps < MANY / 2);
        authority_scope_free(scope);
    }
}

static int step_on_event(void *data, const struct authority_event *event)
{
    (void)data;
    if (event->outcome == AUTHORITY_INTENT)
        clock_fake_advance(&countdown.world->clock, LIFE_MS);
    return 0;
}

/* Every listener has its time, too. */
static void a_change_whose_time_comes_at_its_intent_does_not_begin(void **state)
{
    struct world *world = *state;

    attempts_prepare(world);
    freeze(world);
    for (size_t i = 0; i < array_size(attempts); i++) {
        struct authority_scope *scope;
        int r;

        if (!attempt_runs_here(world, &attempts[i]) || !attempts[i].is_mutation)
            continue;
        scope = open_scope(world);
        assert_int_equal(authority_add_listener(world->authority, step_on_event, NULL), 0);
        r = attempt_run(world, scope, &attempts[i], str_from(attempts[i].good));
        if (r != ERR_GRANT_EXPIRED)
            fail_msg("%s gave %s", attempts[i].label, r < 0 ? err_name(r) : "success");
        authority_remove_listener(world->authority, step_on_event, NULL);
        assert_frozen(world);
        authority_scope_free(scope);
    }
}

/* ---- what goes through the backend's table ---- */

static int counting_stage(struct backend_root *root, const struct backend_lookup *lookup,
                          struct str name, enum backend_create create, unsigned mode,
                          struct backend_stage **out_stage)
{
    step();
    return countdown.real->stage(root, lookup, name, create, mode, out_stage);
}

static int counting_open(struct backend_dir *dir, const struct backend_lookup *lookup,
                         struct str component, struct backend_file **out_file,
                         struct authority_stat *out_stat)
{
    step();
    return countdown.real->dir_file_open(dir, lookup, component, out_file, out_stat);
}

static int counting_read(struct backend_file *file, uint64_t offset, void *bytes, size_t size,
                         size_t *out_got)
{
    step();
    return countdown.real->file_read(file, offset, bytes, size, out_got);
}

static void count_backend(struct world *world)
{
    countdown.real = world->authority->backend->ops;
    countdown.ops = *countdown.real;
    world->authority->backend->ops = &countdown.ops;
}

static void uncount_backend(struct world *world)
{
    world->authority->backend->ops = countdown.real;
}

static void an_extraction_ends_and_leaves_nothing(void **state)
{
    struct world *world = *state;
    struct authority_archive_result result;
    struct authority_scope *scope;

    plant_many(world, "many");
    assert_ok(world, authority_create_archive(world->scope, STR("many"), STR("pack"),
                                              AUTHORITY_TAR_GZ, NULL, &result, &world->err));
    scope = open_scope(world);
    freeze(world);
    count_backend(world);
    countdown.ops.stage = counting_stage;
    assert_refused(
        world,
        authority_extract_archive(scope, STR("pack"), STR("out"), NULL, &result, &world->err),
        ERR_GRANT_EXPIRED);
    uncount_backend(world);
    assert_in_range(countdown.steps, AFTER, AFTER + 1);
    assert_frozen(world);
    authority_scope_free(scope);
}

static void packing_ends_and_leaves_nothing(void **state)
{
    struct world *world = *state;
    struct authority_archive_result result;
    struct authority_scope *scope;

    plant_many(world, "many");
    scope = open_scope(world);
    freeze(world);
    count_backend(world);
    countdown.ops.dir_file_open = counting_open;
    assert_refused(world,
                   authority_create_archive(scope, STR("many"), STR("pack"), AUTHORITY_TAR_GZ, NULL,
                                            &result, &world->err),
                   ERR_GRANT_EXPIRED);
    uncount_backend(world);
    assert_in_range(countdown.steps, AFTER, AFTER + 1);
    assert_frozen(world);
    authority_scope_free(scope);
}

/* Either grant ends it. */
static void moving_a_tree_ends_and_leaves_it_where_it_was(void **state)
{
    struct world *world = *state;

    plant_many(world, "many");
    for (int is_source = 0; is_source < 2; is_source++) {
        struct authority_scope *scope = open_scope(world);

        freeze(world);
        count_backend(world);
        countdown.ops.dir_file_open = counting_open;
        assert_refused(world,
                       authority_move_in(is_source ? world->scope : scope, STR("moved"),
                                         is_source ? scope : world->scope, STR("many"), NULL,
                                         &world->err),
                       ERR_GRANT_EXPIRED);
        uncount_backend(world);
        assert_in_range(countdown.steps, AFTER, AFTER + 1);
        assert_frozen(world);
        authority_scope_free(scope);
    }
}

static void a_long_read_ends_and_gives_nothing(void **state)
{
    struct world *world = *state;
    cleanup_buf struct buf big = BUF_INIT(WORLD_BUF_BYTES);
    cleanup_buf struct buf out = BUF_INIT(WORLD_BUF_BYTES);
    struct authority_scope *scope;

    assert_int_equal(buf_reserve(&big, 8 << 20), 0);
    memset(big.data, 'b', 8 << 20);
    big.len = 8 << 20;
    plant_bytes(world, WORLD_ROOT, "big", buf_view(&big));
    scope = open_scope(world);
    count_backend(world);
    countdown.ops.file_read = counting_read;
    assert_refused(world, authority_read_bytes(scope, STR("big"), NULL, &out, &world->err),
                   ERR_GRANT_EXPIRED);
    uncount_backend(world);
    assert_int_equal(countdown.steps, AFTER);
    assert_int_equal(out.len, 0);
    authority_scope_free(scope);
}

/* ---- what only the system sees ---- */

/* In place of the C library's, for the authority that is linked into this program. */
int unlinkat(int fd, const char *name, int flag)
{
    if (countdown.counts_unlinks)
        step();
    return (int)syscall(SYS_unlinkat, fd, name, flag);
}

static int count_entry(void *data, const struct authority_entry *entry)
{
    (void)entry;
    ++*(size_t *)data;
    return 0;
}

static void removing_a_tree_ends_and_leaves_the_rest(void **state)
{
    struct world *world = *state;
    struct authority_scope *scope;
    size_t left = 0;
    int r;

    plant_many(world, "many");
    scope = open_scope(world);
    countdown.counts_unlinks = true;
    r = attempt_remove_tree(world, scope, STR("many"));
    countdown.counts_unlinks = false;
    assert_int_equal(r, ERR_GRANT_EXPIRED);
    assert_ok(world,
              authority_list(world->scope, STR("many"), NULL, count_entry, &left, &world->err));
    /* The first try is for the directory itself. */
    assert_in_range(left, MANY - AFTER, MANY - 1);
    authority_scope_free(scope);
}

TEST_MAIN(EVERYWHERE(a_long_look_ends),
          EVERYWHERE(a_change_whose_time_comes_at_its_intent_does_not_begin),
          EVERYWHERE(an_extraction_ends_and_leaves_nothing),
          EVERYWHERE(packing_ends_and_leaves_nothing),
          EVERYWHERE(moving_a_tree_ends_and_leaves_it_where_it_was),
          EVERYWHERE(a_long_read_ends_and_gives_nothing),
          ON_DISK(removing_a_tree_ends_and_leaves_the_rest))
