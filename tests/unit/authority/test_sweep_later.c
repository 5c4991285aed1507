/* SPDX-License-Identifier: Apache-2.0 */
/* Many leftovers: some are removed at once, the rest in portions. */
#include "test.h"

#include <errno.h>
#include <sys/syscall.h>

#include "journal_scene.h"

enum { MUCH = 400 };

/* As if the two directories were on different file systems. */
static bool are_apart;

/* SAFETY: takes the place of the libc's, which does the same call and nothing else. */
int rename_instead(int from_fd, const char *from, int to_fd, const char *to) __asm__("renameat");

int rename_instead(int from_fd, const char *from, int to_fd, const char *to)
{
    if (are_apart && from_fd != to_fd) {
        errno = EXDEV;
        return -1;
    }
    return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
}

static void make_files(int fd, const char *path, int count)
{
    for (int i = 0; i < count; i++) {
        char name[64];

        snprintf(name, sizeof(name), "%s/%d", path, i);
        make_file(fd, name, "");
    }
}

static int leave_much(struct world *world)
{
    struct linux_journal *journal = open_journal(world);
    struct linux_backend backend = {.journal = journal};
    struct backend_root *temp;
    int slot;

    if (note_leftover(journal, world->work, LEFT_TREE, LINUX_LEFTOVER_TREE, &slot) < 0 ||
        linux_temp_make(&backend.base, &temp) < 0)
        return 1;
    make_dir(world->work, LEFT_TREE);
    make_files(world->work, LEFT_TREE, MUCH);
    make_dir(temp->fd, "sub");
    make_files(temp->fd, "sub", MUCH);
    return 0;
}

/* Links are not followed; of files and directories alike. */
static size_t count_all(int fd, const char *path)
{
    int copy = openat(fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fdopendir(copy);
    size_t count = 0;

    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count++;
        if (entry->d_type == DT_DIR)
            count += count_all(dirfd(dir), entry->d_name);
    }
    closedir(dir);
    return count;
}

static void a_start_removes_so_much_and_the_rest_goes_in_portions(void **state)
{
    enum { PORTION = 100, AT_START = 64 };
    struct world *world = *state;
    struct linux_journal *journal;
    size_t left;
    size_t portions = 0;

    assert_int_equal(in_child(world, leave_much), 0);
    left = count_all(world->scene.fd, "state/temp") + count_all(world->work, ".");
    assert_true(left > 2 * MUCH);
    journal = open_journal(world);
    /* Out of the user's way, and not yet gone. */
    assert_int_equal(count_entries(world->work, "."), 0);
    assert_true(linux_journal_has_leftovers(journal));
    assert_true(count_all(world->scene.fd, "state/temp") >= left - AT_START);
    for (; linux_journal_has_leftovers(journal); portions++) {
        left = count_all(world->scene.fd, "state/temp");
        linux_journal_sweep(journal, PORTION, NULL);
        assert_true(count_all(world->scene.fd, "state/temp") + PORTION >= left);
    }
    assert_true(portions >= 2 * MUCH / PORTION);
    /* Our own, which lives. */
    assert_int_equal(count_all(world->scene.fd, "state/temp"), 1);
    assert_int_equal(count_journals(world), 1);
    linux_journal_close(journal);
    assert_int_equal(count_all(world->scene.fd, "state"), 1);
}

static int sweep_some(struct world *world)
{
    struct linux_journal *journal = open_journal(world);

    linux_journal_sweep(journal, 100, NULL);
    return linux_journal_has_leftovers(journal) ? 0 : 1;
}

static void killed_in_the_middle_of_a_sweep_the_next_goes_on(void **state)
{
    struct world *world = *state;
    size_t left;

    assert_int_equal(in_child(world, leave_much), 0);
    for (int i = 0; i < 3; i++) {
        left = count_all(world->scene.fd, "state") + count_all(world->work, ".");
        assert_int_equal(in_child(world, sweep_some), 0);
        assert_true(count_all(world->scene.fd, "state") + count_all(world->work, ".") < left);
    }
    assert_true(count_journals(world) > 1);
    sweep(world);
    assert_int_equal(count_all(world->work, "."), 0);
    assert_int_equal(count_all(world->scene.fd, "state"), 1);
}

/* With its second name a file is refused, so that cannot wait. */
static int leave_second_name(struct world *world)
{
    struct linux_journal *journal = open_journal(world);
    int slot;

    if (note_leftover(journal, world->work, LEFT_FILE, LINUX_LEFTOVER_FILE, &slot) < 0)
        return 1;
    make_file(world->work, LEFT_FILE, "whole");
    return linkat(world->work, LEFT_FILE, world->work, "published", 0) == 0 ? 0 : 2;
}

static void files_go_before_anything_else(void **state)
{
    struct world *world = *state;
    struct linux_journal *journal;
    struct stat about;

    for (int i = 0; i < 4; i++)
        assert_int_equal(in_child(world, leave_much), 0);
    assert_int_equal(in_child(world, leave_second_name), 0);
    journal = open_journal(world);
    assert_true(linux_journal_has_leftovers(journal));
    assert_int_equal(fstatat(world->work, "published", &about, 0), 0);
    assert_int_equal(about.st_nlink, 1);
    assert_int_equal(count_entries(world->work, "."), 1);
    linux_journal_close(journal);
}

static void a_cancelled_sweep_leaves_the_rest(void **state)
{
    struct world *world = *state;
    struct linux_journal *journal;
    struct cancel cancel;
    size_t left;

    assert_int_equal(in_child(world, leave_much), 0);
    journal = open_journal(world);
    left = count_all(world->scene.fd, "state/temp");
    cancel_init(&cancel, &clock_system, CANCEL_NO_DEADLINE);
    cancel_now(&cancel);
    linux_journal_sweep(journal, UINT64_MAX, &cancel);
    assert_int_equal(count_all(world->scene.fd, "state/temp"), left);
    assert_true(linux_journal_has_leftovers(journal));
    linux_journal_close(journal);
    sweep(world);
    assert_int_equal(count_all(world->scene.fd, "state"), 1);
}

static void a_tree_that_cannot_be_set_aside_goes_where_it_is(void **state)
{
    struct world *world = *state;
    struct linux_journal *journal;

    assert_int_equal(in_child(world, leave_much), 0);
    are_apart = true;
    journal = open_journal(world);
    assert_true(linux_journal_has_leftovers(journal));
    assert_true(is_there(world->work, LEFT_TREE));
    linux_journal_close(journal);
    sweep(world);
    are_apart = false;
    assert_int_equal(count_all(world->work, "."), 0);
    assert_int_equal(count_all(world->scene.fd, "state"), 1);
}

TEST_MAIN(with_world(a_start_removes_so_much_and_the_rest_goes_in_portions),
          with_world(killed_in_the_middle_of_a_sweep_the_next_goes_on),
          with_world(files_go_before_anything_else), with_world(a_cancelled_sweep_leaves_the_rest),
          with_world(a_tree_that_cannot_be_set_aside_goes_where_it_is))
