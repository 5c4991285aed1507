/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Others change the files during a search: the backend's table is replaced by one that lets them
 * act before a file is opened, or before a piece of it is read.
 */
#include "hunt.h"

static const struct backend_ops *real_ops;
static struct backend_ops ops;
static struct world *present;
static void (*at_open)(struct world *world, struct str component);
static int (*at_read)(struct world *world, unsigned reads);
static unsigned reads; /* that were asked for */

static int open_after_others(struct backend_dir *dir, const struct backend_lookup *lookup,
                             struct str component, struct backend_file **out_file,
                             struct authority_stat *out_stat)
{
    if (at_open != NULL)
        at_open(present, component);
    return real_ops->dir_file_open(dir, lookup, component, out_file, out_stat);
}

static int read_after_others(struct backend_file *file, uint64_t offset, void *bytes, size_t size,
                             size_t *out_got)
{
    int r = 0;

    reads++;
    if (at_read != NULL)
        r = at_read(present, reads);
    return r < 0 ? r : real_ops->file_read(file, offset, bytes, size, out_got);
}

static int prepare(void **state, bool walks)
{
    int r = world_setup(state, false, walks);

    present = *state;
    at_open = NULL;
    at_read = NULL;
    reads = 0;
    real_ops = present->authority->backend->ops;
    ops = *real_ops;
    ops.dir_file_open = open_after_others;
    ops.file_read = read_after_others;
    present->authority->backend->ops = &ops;
    return r;
}

static int prepare_linux(void **state)
{
    return prepare(state, false);
}

static int prepare_walking(void **state)
{
    return prepare(state, true);
}

/* One thread: the others act in it. */
static void begin(struct hunt *hunt, struct world *world)
{
    hunt_init(hunt, world, "needle");
    hunt->request.threads = 1;
}

/* Of several pieces, with a match in its first line and in its last. */
static size_t plant_large(struct world *world, const char *name)
{
    cleanup_buf struct buf text = BUF_INIT(WORLD_BUF_BYTES);

    assert_int_equal(buf_append_str(&text, STR("needle first\n")), 0);
    while (text.len < 3 * (size_t)SEEKER_BUFFER_BYTES)
        assert_int_equal(buf_append_str(&text, STR("nothing of interest in here\n")), 0);
    assert_int_equal(buf_append_str(&text, STR("needle last\n")), 0);
    plant_bytes(world, WORLD_ROOT, name, buf_view(&text));
    return text.len;
}

static void take(struct world *world, const char *name)
{
    assert_int_equal(unlinkat(world->fds[WORLD_ROOT], name, 0), 0);
}

/* ---- before it is opened ---- */

static void remove_b(struct world *world, struct str component)
{
    if (str_eq_c(component, "b"))
        take(world, "b");
}

static void replace_b_by_link(struct world *world, struct str component)
{
    remove_b(world, component);
    if (str_eq_c(component, "b"))
        plant_link(world, "b", "a");
}

static void replace_b_by_fifo(struct world *world, struct str component)
{
    remove_b(world, component);
    if (str_eq_c(component, "b"))
        plant_fifo(world, "b");
}

static void replace_b_by_directory(struct world *world, struct str component)
{
    remove_b(world, component);
    if (str_eq_c(component, "b"))
        plant_dir(world, WORLD_ROOT, "b");
}

static void what_goes_before_it_is_opened_is_not_missed(void **state)
{
    static void (*const acts[])(struct world * world, struct str component) = {
        remove_b, replace_b_by_link, replace_b_by_fifo, replace_b_by_directory};
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};

    plant(world, WORLD_ROOT, "a", "needle");
    plant(world, WORLD_ROOT, "c", "needle");
    begin(&hunt, world);
    for (size_t i = 0; i < array_size(acts); i++) {
        plant(world, WORLD_ROOT, "b", "needle");
        at_open = acts[i];
        assert_found(&hunt, "a:1[0-6]: needle\nc:1[0-6]: needle\n");
        assert_int_equal(hunt.result.total, 2);
        assert_int_equal(hunt.result.missed_count, 0);
        if (i > 0)
            assert_int_equal(unlinkat(world->fds[WORLD_ROOT], "b",
                                      acts[i] == replace_b_by_directory ? AT_REMOVEDIR : 0),
                             0);
    }
}

/* ---- while it is read ---- */

static int replace_file(struct world *world, unsigned number)
{
    if (number == 2) {
        take(world, "f");
        plant(world, WORLD_ROOT, "f", "something else");
    }
    return 0;
}

static int remove_file(struct world *world, unsigned number)
{
    if (number == 2)
        take(world, "f");
    return 0;
}

static void what_was_opened_is_read_to_its_end(void **state)
{
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};

    begin(&hunt, world);
    plant_large(world, "f");
    at_read = replace_file;
    assert_ok(world, hunt_run(&hunt));
    assert_int_equal(hunt.result.total, 2);
    assert_content(world, WORLD_ROOT, "f", "something else");
    take(world, "f");
    plant_large(world, "f");
    at_read = remove_file;
    reads = 0;
    assert_ok(world, hunt_run(&hunt));
    assert_int_equal(hunt.result.total, 2);
    assert_int_equal(hunt.result.missed_count, 0);
}

static int cut_file(struct world *world, unsigned number)
{
    cleanup_fd int fd = -1;

    if (number != 2)
        return 0;
    fd = openat(world->fds[WORLD_ROOT], "f", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 0), 0);
    return 0;
}

static void a_file_that_shrinks_has_what_was_read(void **state)
{
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};

    begin(&hunt, world);
    plant_large(world, "f");
    at_read = cut_file;
    assert_found(&hunt, "f:1[0-6]: needle first\n");
    assert_int_equal(hunt.result.searched, 1);
    assert_int_equal(hunt.result.missed_count, 0);
}

static int grow_file(struct world *world, unsigned number)
{
    cleanup_fd int fd = openat(world->fds[WORLD_ROOT], "f", O_WRONLY | O_APPEND | O_CLOEXEC);
    char more[] = "needle, and needle again\n";

    (void)number;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, more, sizeof(more) - 1), (ssize_t)sizeof(more) - 1);
    return 0;
}

static void a_file_that_grows_has_an_end(void **state)
{
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};

    begin(&hunt, world);
    plant_large(world, "f");
    at_read = grow_file;
    assert_ok(world, hunt_run(&hunt));
    assert_int_equal(hunt.result.total, 2);
    assert_in_range(reads, 3, 8);
}

static int fail_second(struct world *world, unsigned number)
{
    (void)world;
    return number == 2 ? ERR_IO : 0;
}

static void a_file_that_cannot_be_read_to_its_end_is_missed(void **state)
{
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};

    begin(&hunt, world);
    plant_dir(world, WORLD_ROOT, "d");
    plant_large(world, "d/f");
    plant_dir(world, WORLD_ROOT, "e");
    at_read = fail_second;
    assert_found(&hunt, "");
    assert_int_equal(hunt.result.total, 0);
    assert_int_equal(hunt.result.missed_count, 1);
    assert_string_equal(hunt.result.missed[0].name, "d/f");
    assert_int_equal(hunt.result.missed[0].code, ERR_IO);
    plant(world, WORLD_ROOT, "e/f", "needle");
    assert_ok(world, hunt_run(&hunt));
    assert_int_equal(hunt.result.total, 3);
}

/* ---- and then no longer ---- */

static struct cancel cancel;

static int cancel_second(struct world *world, unsigned number)
{
    (void)world;
    if (number == 2)
        cancel_now(&cancel);
    return 0;
}

static int let_time_pass(struct world *world, unsigned number)
{
    if (number == 2)
        clock_fake_advance(&world->clock, 1000);
    return 0;
}

static int revoke_second(struct world *world, unsigned number)
{
    if (number == 2)
        assert_true(authority_revoke(world->authority, authority_scope_grant(world->scope)));
    return 0;
}

static void a_large_file_is_left_when_it_must_be(void **state)
{
    static const struct {
        int (*act)(struct world *world, unsigned number);
        int code;
    } ends[] = {
        {cancel_second, ERR_CANCELLED},
        {let_time_pass, ERR_TIMED_OUT},
        {revoke_second, ERR_GRANT_REVOKED},
    };
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};

    begin(&hunt, world);
    hunt.request.cancel = &cancel;
    plant_large(world, "f");
    for (size_t i = 0; i < array_size(ends); i++) {
        cancel_init(&cancel, &world->clock, clock_monotonic_ms(&world->clock) + 1000);
        at_read = ends[i].act;
        reads = 0;
        assert_refused(world, hunt_run(&hunt), ends[i].code);
        assert_int_equal(reads, 2);
        assert_int_equal(hunt.result.missed_count, 0);
    }
}

#define MEANWHILE(test)                                                                            \
    {#test "_on_disk", test, prepare_linux, teardown, NULL},                                       \
    {                                                                                              \
#test "_by_walking", test, prepare_walking, teardown, NULL                                 \
    }

TEST_MAIN(MEANWHILE(what_goes_before_it_is_opened_is_not_missed),
          MEANWHILE(what_was_opened_is_read_to_its_end),
          MEANWHILE(a_file_that_shrinks_has_what_was_read), MEANWHILE(a_file_that_grows_has_an_end),
          MEANWHILE(a_file_that_cannot_be_read_to_its_end_is_missed),
          MEANWHILE(a_large_file_is_left_when_it_must_be))
