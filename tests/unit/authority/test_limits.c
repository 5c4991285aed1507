/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, time and depth: what exceeds its limit or comes too late changes nothing. */
#include "attempts.h"

static void files_over_the_limit_are_refused(void **state)
{
    struct world *world = *state;
    const struct authority_limits limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT,
                                            .max_file_bytes = 8};
    struct authority_scope *scope = world_open_limited(world, &limits);
    const struct authority_read_options some = {.max_bytes = 2};
    const struct authority_move_options may_replace = {.may_replace = true};
    struct authority_archive_result result;
    cleanup_buf struct buf out = BUF_INIT(1000);

    plant(world, WORLD_ROOT, "eight", "12345678");
    plant(world, WORLD_ROOT, "nine", "123456789");
    plant_dir(world, WORLD_ROOT, "dir");
    plant(world, WORLD_ROOT, "dir/nine", "123456789");
    assert_ok(world, authority_create_archive(world->scope, STR("dir"), STR("pack"), AUTHORITY_ZIP,
                                              NULL, &result, &world->err));
    assert_reads(world, scope, "eight", "12345678");
    freeze(world);
    assert_refused(world, authority_read_bytes(scope, STR("nine"), NULL, &out, &world->err),
                   ERR_TOO_LARGE);
    assert_refused(world, authority_read_bytes(scope, STR("nine"), &some, &out, &world->err),
                   ERR_TOO_LARGE);
    assert_refused(world,
                   authority_write_bytes(scope, STR("x"), STR("123456789"), NULL, &world->err),
                   ERR_TOO_LARGE);
    assert_refused(world,
                   authority_write_bytes(scope, STR("eight"), STR("123456789"), NULL, &world->err),
                   ERR_TOO_LARGE);
    assert_refused(world, authority_append(scope, STR("eight"), STR("9"), NULL, &world->err),
                   ERR_TOO_LARGE);
    assert_refused(world, authority_append(scope, STR("x"), STR("123456789"), NULL, &world->err),
                   ERR_TOO_LARGE);
    assert_refused(world, authority_copy(scope, STR("nine"), STR("x"), NULL, &world->err),
                   ERR_TOO_LARGE);
    assert_refused(world,
                   authority_copy_in(scope, STR("x"), world->scope, STR("nine"), NULL, &world->err),
                   ERR_TOO_LARGE);
    assert_refused(world,
                   authority_copy_in(scope, STR("eight"), world->scope, STR("nine"), &may_replace,
                                     &world->err),
                   ERR_TOO_LARGE);
    assert_refused(
        world, authority_extract_archive(scope, STR("pack"), STR("x"), NULL, &result, &world->err),
        ERR_TOO_LARGE);
    assert_refused(world,
                   authority_create_archive(scope, STR("dir"), STR("x"), AUTHORITY_ZIP, NULL,
                                            &result, &world->err),
                   ERR_TOO_LARGE);
    assert_frozen(world);
    assert_int_equal(out.len, 0);
    /* A file that is too large may still be made smaller. */
    assert_ok(world, authority_write_bytes(scope, STR("nine"), STR("1"), NULL, &world->err));
    assert_content(world, WORLD_ROOT, "nine", "1");
    authority_scope_free(scope);
}

static void cancelled_and_late_operations_change_nothing(void **state)
{
    struct world *world = *state;
    struct cancel token;

    attempts_prepare(world);
    freeze(world);
    for (int late = 0; late < 2; late++) {
        int code = late ? ERR_TIMED_OUT : ERR_CANCELLED;
        const struct authority_read_options reading = {.cancel = &token};
        const struct authority_write_options writing = {.cancel = &token};
        const struct authority_move_options moving = {.cancel = &token};
        const struct authority_list_options listing = {.cancel = &token};
        const struct authority_walk_options walking = {.cancel = &token};
        const struct authority_mkdir_options making = {.cancel = &token};
        const struct authority_remove_options removing = {.cancel = &token, .is_recursive = true};
        const struct authority_archive_options packing = {.cancel = &token};
        struct authority_archive_result result;
        cleanup_buf struct buf out = BUF_INIT(1000);

        cancel_init(&token, &world->clock,
                    late ? clock_monotonic_ms(&world->clock) + 1 : CANCEL_NO_DEADLINE);
        assert_ok(world,
                  authority_read_bytes(world->scope, STR("file"), &reading, &out, &world->err));
        buf_clear(&out);
        if (late)
            clock_fake_advance(&world->clock, 1);
        else
            cancel_now(&token);
        assert_refused(world,
                       authority_read_bytes(world->scope, STR("file"), &reading, &out, &world->err),
                       code);
        assert_refused(
            world, authority_write_bytes(world->scope, STR("x"), STR("x"), &writing, &world->err),
            code);
        assert_refused(world,
                       authority_append(world->scope, STR("file"), STR("x"), &writing, &world->err),
                       code);
        assert_refused(
            world, authority_move(world->scope, STR("file"), STR("x"), &moving, &world->err), code);
        assert_refused(
            world, authority_copy(world->scope, STR("file"), STR("x"), &moving, &world->err), code);
        assert_refused(world,
                       authority_copy_in(world->scope, STR("x"), world->following, STR("file"),
                                         &moving, &world->err),
                       code);
        assert_refused(
            world,
            authority_list(world->scope, STR("dir"), &listing, world_note_entry, &out, &world->err),
            code);
        assert_refused(
            world,
            authority_walk(world->scope, STR("dir"), &walking, world_note_entry, &out, &world->err),
            code);
        assert_refused(world, authority_mkdir(world->scope, STR("x"), &making, &world->err), code);
        assert_refused(world, authority_remove(world->scope, STR("dir"), &removing, &world->err),
                       code);
        assert_refused(world,
                       authority_extract_archive(world->scope, STR("pack"), STR("x"), &packing,
                                                 &result, &world->err),
                       code);
        assert_refused(world,
                       authority_create_archive(world->scope, STR("dir"), STR("x"), AUTHORITY_ZIP,
                                                &packing, &result, &world->err),
                       code);
        assert_int_equal(out.len, 0);
        assert_frozen(world);
    }
}

struct canceller {
    struct cancel *token;
    size_t seen;
};

static int cancel_after_three(void *data, const struct authority_entry *entry)
{
    struct canceller *canceller = data;

    (void)entry;
    if (++canceller->seen == 3)
        cancel_now(canceller->token);
    return 0;
}

static void a_walk_is_cancelled_on_its_way(void **state)
{
    struct world *world = *state;
    struct canceller canceller = {0};
    struct cancel token;
    struct authority_walk_options options = {.cancel = &token};

    for (int i = 0; i < 10; i++) {
        char name[16];

        snprintf(name, sizeof(name), "d%d", i);
        plant_dir(world, WORLD_ROOT, name);
    }
    for (int way = 0; way < 4; way++) {
        cancel_init(&token, &world->clock, CANCEL_NO_DEADLINE);
        canceller = (struct canceller){.token = &token};
        options.is_sorted = (way & 1) != 0;
        options.is_breadth_first = (way & 2) != 0;
        assert_refused(world,
                       authority_walk(world->scope, STR_EMPTY, &options, cancel_after_three,
                                      &canceller, &world->err),
                       ERR_CANCELLED);
        assert_int_equal(canceller.seen, 3);
    }
}

/* Too deep and too long for a name: the rest of the tree is walked all the same. */
static void what_lies_too_deep_does_not_hide_the_rest(void **state)
{
    struct world *world = *state;
    enum { LEVELS = 20, PART = 250 };
    char part[PART + 1];
    cleanup_buf struct buf out = BUF_INIT(1 << 20);
    const struct authority_walk_options ways[] = {{.is_sorted = true},
                                                  {.is_sorted = true, .is_breadth_first = true}};
    int at = dup(world->fds[WORLD_ROOT]);

    memset(part, 'p', PART);
    part[PART] = '\0';
    for (int i = 0; i < LEVELS; i++) {
        int next;

        assert_int_equal(mkdirat(at, part, 0755), 0);
        next = openat(at, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = next;
    }
    close(at);
    plant(world, WORLD_ROOT, "visible", "v");
    for (size_t i = 0; i < array_size(ways); i++) {
        buf_clear(&out);
        assert_ok(world, authority_walk(world->scope, STR_EMPTY, &ways[i], world_note_entry, &out,
                                        &world->err));
        assert_true(str_find(buf_view(&out), STR("visible\n")) != SIZE_MAX);
    }
    assert_ok(world, attempt_remove_tree(world, world->scope, (struct str){part, PART}));
    assert_false(is_there(world, WORLD_ROOT, part));
}

TEST_MAIN(EVERYWHERE(files_over_the_limit_are_refused),
          EVERYWHERE(cancelled_and_late_operations_change_nothing),
          EVERYWHERE(a_walk_is_cancelled_on_its_way),
          ON_DISK(what_lies_too_deep_does_not_hide_the_rest))
