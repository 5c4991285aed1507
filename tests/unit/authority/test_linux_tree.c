/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody who may write beside a staged tree changes it before it is published. */
#include "test.h"

#include <sys/syscall.h>

#include "journal_scene.h"

static const struct backend_lookup plainly;

/* A tree that will be work/new, with a file in it. */
struct staged {
    struct linux_backend backend;
    struct backend_root root;
    struct backend_root *tree;
};

static void build(struct staged *staged)
{
    assert_int_equal(linux_tree_stage(&staged->root, &plainly, STR("new"), &staged->tree), 0);
    make_file(staged->tree->fd, "ours", "x");
}

static void begin(struct staged *staged, struct world *world)
{
    *staged = (struct staged){
        .backend = {.journal = open_journal(world), .walks = !linux_has_openat2()},
        .root = {.backend = &staged->backend, .fd = world->work},
    };
    assert_int_equal(linux_mount_id(world->work, &staged->root.mount_id), 0);
    build(staged);
}

/* Puts something of another's where the staged tree was. */
static void swap_directory(struct world *world, const char *private_name)
{
    assert_int_equal(renameat(world->work, private_name, world->work, "taken"), 0);
    assert_int_equal(mkdirat(world->work, private_name, 0755), 0);
    assert_int_equal(renameat(world->scene.fd, "outside/sentinel", world->work, "sentinel"), 0);
    {
        cleanup_fd int fd = openat(world->work, private_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_int_equal(renameat(world->work, "sentinel", fd, "sentinel"), 0);
    }
}

static void swap_file(struct world *world, const char *private_name)
{
    assert_int_equal(renameat(world->work, private_name, world->work, "taken"), 0);
    make_file(world->work, private_name, "theirs");
}

static void swap_link(struct world *world, const char *private_name)
{
    assert_int_equal(renameat(world->work, private_name, world->work, "taken"), 0);
    assert_int_equal(symlinkat("../outside", world->work, private_name), 0);
}

static void swap_empty_directory(struct world *world, const char *private_name)
{
    assert_int_equal(renameat(world->work, private_name, world->work, "taken"), 0);
    assert_int_equal(mkdirat(world->work, private_name, 0755), 0);
}

static const struct {
    void (*swap)(struct world *world, const char *private_name);
    const char *inside; /* of what was put there; NULL: nothing */
} swaps[] = {
    {swap_directory, "sentinel"},
    {swap_file, NULL},
    {swap_link, "sentinel"},
    {swap_empty_directory, NULL},
};

/* What was put there is as it was, also after the next start. */
static void assert_theirs(struct world *world, const char *name, const char *inside)
{
    struct stat about;

    assert_int_equal(fstatat(world->work, name, &about, AT_SYMLINK_NOFOLLOW), 0);
    if (inside != NULL) {
        cleanup_fd int fd = openat(world->work, name, O_PATH | O_CLOEXEC);

        assert_true(is_there(fd, inside));
    }
}

static void clear(struct world *world)
{
    uint64_t budget = 100;

    assert_int_equal(linux_remove_tree(world->scene.fd, "outside", &budget, NULL), 0);
    assert_int_equal(linux_remove_tree(world->scene.fd, "work", &budget, NULL), 0);
    close(world->work);
    make_dir(world->scene.fd, "outside");
    make_dir(world->scene.fd, "work");
    world->work = openat(world->scene.fd, "work", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void another_in_its_place_is_not_published(void **state)
{
    struct world *world = *state;

    for (size_t i = 0; i < array_size(swaps); i++) {
        struct staged staged;
        char name[LINUX_TEMP_NAME_BYTES];

        make_file(world->scene.fd, "outside/sentinel", "precious");
        begin(&staged, world);
        snprintf(name, sizeof(name), "%.*s", (int)sizeof(name) - 1, staged.tree->place.last);
        swaps[i].swap(world, name);
        assert_int_equal(linux_tree_publish(staged.tree, 0755, true), ERR_BUSY);
        assert_false(is_there(world->work, "new"));
        assert_theirs(world, name, swaps[i].inside);
        assert_true(is_there(world->work, "taken/ours"));
        linux_journal_close(staged.backend.journal);
        sweep(world);
        assert_theirs(world, name, swaps[i].inside);
        clear(world);
    }
}

static void another_in_its_place_is_not_removed(void **state)
{
    struct world *world = *state;

    for (size_t i = 0; i < array_size(swaps); i++) {
        struct staged staged;
        char name[LINUX_TEMP_NAME_BYTES];

        make_file(world->scene.fd, "outside/sentinel", "precious");
        begin(&staged, world);
        snprintf(name, sizeof(name), "%.*s", (int)sizeof(name) - 1, staged.tree->place.last);
        swaps[i].swap(world, name);
        linux_tree_drop(staged.tree);
        assert_theirs(world, name, swaps[i].inside);
        linux_journal_close(staged.backend.journal);
        assert_int_equal(count_journals(world), 0);
        sweep(world);
        assert_theirs(world, name, swaps[i].inside);
        clear(world);
    }
}

/* ---- at the last moment ---- */

/* Stands in for the libc's, so that something can happen between the look and the rename. */
static struct {
    struct world *world;
    void (*swap)(struct world *world, const char *private_name);
} at_last;

int renameat2(int oldfd, const char *old, int newfd, const char *new, unsigned flags)
{
    void (*swap)(struct world * world, const char *private_name) = at_last.swap;

    at_last.swap = NULL;
    if (swap != NULL)
        swap(at_last.world, old);
    return (int)syscall(SYS_renameat2, oldfd, old, newfd, new, flags);
}

static void a_swap_at_the_last_moment_is_noticed(void **state)
{
    struct world *world = *state;
    struct staged staged;

    make_file(world->scene.fd, "outside/sentinel", "precious");
    begin(&staged, world);
    at_last.world = world;
    at_last.swap = swap_directory;
    assert_int_equal(linux_tree_publish(staged.tree, 0755, false), ERR_BUSY);
    assert_null(at_last.swap);
    /* Too late to keep it from its name, but it is said, and nothing of theirs has gone. */
    assert_theirs(world, "new", "sentinel");
    linux_journal_close(staged.backend.journal);
    sweep(world);
    assert_theirs(world, "new", "sentinel");
}

static void unswapped_it_is_published_and_dropped(void **state)
{
    struct world *world = *state;
    struct staged staged;
    struct stat about;

    begin(&staged, world);
    assert_int_equal(linux_tree_publish(staged.tree, 0750, true), 0);
    assert_true(is_there(world->work, "new/ours"));
    assert_int_equal(fstatat(world->work, "new", &about, 0), 0);
    assert_int_equal(about.st_mode & 07777, 0750);
    /* Onto what is not empty: it goes, whatever mode it has been given by then. */
    build(&staged);
    assert_int_equal(linux_tree_publish(staged.tree, 0500, true), ERR_NOT_EMPTY);
    build(&staged);
    linux_tree_drop(staged.tree);
    assert_int_equal(count_entries(world->work, "."), 1);
    linux_journal_close(staged.backend.journal);
    assert_int_equal(count_journals(world), 0);
}

TEST_MAIN(with_world(another_in_its_place_is_not_published),
          with_world(another_in_its_place_is_not_removed),
          with_world(a_swap_at_the_last_moment_is_noticed),
          with_world(unswapped_it_is_published_and_dropped))
