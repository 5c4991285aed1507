/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "journal_scene.h"
#include "small_disk.h"

/* ---- the living ---- */

static int sweep_and_go(struct world *world)
{
    sweep(world);
    return 0;
}

static void the_living_are_not_swept(void **state)
{
    struct world *world = *state;
    struct linux_journal *journal = open_journal(world);
    struct linux_journal *second;
    int slot;

    assert_int_equal(note_leftover(journal, world->work, LEFT_FILE, LINUX_LEFTOVER_FILE, &slot), 0);
    make_file(world->work, LEFT_FILE, "half");
    assert_int_equal(in_child(world, sweep_and_go), 0);
    assert_true(is_there(world->work, LEFT_FILE));
    /* Nor in one process. */
    second = open_journal(world);
    assert_true(is_there(world->work, LEFT_FILE));
    assert_int_equal(count_journals(world), 2);
    linux_journal_close(second);
    assert_int_equal(count_journals(world), 1);
    assert_int_equal(unlinkat(world->work, LEFT_FILE, 0), 0);
    linux_journal_remove(journal, slot);
    linux_journal_close(journal);
    assert_int_equal(count_journals(world), 0);
}

static void closing_with_something_noted_keeps_the_journal(void **state)
{
    struct world *world = *state;
    struct linux_journal *journal = open_journal(world);
    int slot;

    assert_int_equal(note_leftover(journal, world->work, LEFT_FILE, LINUX_LEFTOVER_FILE, &slot), 0);
    make_file(world->work, LEFT_FILE, "half");
    linux_journal_close(journal);
    assert_int_equal(count_journals(world), 1);
    sweep(world);
    assert_false(is_there(world->work, LEFT_FILE));
    assert_int_equal(count_journals(world), 0);
}

/* The way to a directory is not asked for again at once; where it leads is what counts. */
static void a_directory_that_has_moved_is_found(void **state)
{
    struct world *world = *state;
    struct linux_journal *journal = open_journal(world);
    cleanup_fd int before = -1;
    int slot;

    assert_int_equal(mkdirat(world->work, "before", 0700), 0);
    before = openat(world->work, "before", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(note_leftover(journal, before, LEFT_FILE, LINUX_LEFTOVER_FILE, &slot), 0);
        linux_journal_remove(journal, slot);
    }
    assert_int_equal(renameat(world->work, "before", world->work, "after"), 0);
    linux_journal_moved(journal);
    assert_int_equal(note_leftover(journal, before, LEFT_FILE, LINUX_LEFTOVER_FILE, &slot), 0);
    make_file(before, LEFT_FILE, "half");
    linux_journal_close(journal);
    sweep(world);
    assert_false(is_there(before, LEFT_FILE));
}

static struct linux_journal *inherited;

static int close_inherited(struct world *world)
{
    (void)world;
    linux_journal_close(inherited);
    return 0;
}

static void a_forked_child_does_not_take_the_journal_along(void **state)
{
    struct world *world = *state;

    inherited = open_journal(world);
    assert_int_equal(in_child(world, close_inherited), 0);
    assert_int_equal(count_journals(world), 1);
    linux_journal_close(inherited);
    assert_int_equal(count_journals(world), 0);
}

static int open_often(struct world *world)
{
    for (int i = 0; i < 150; i++) {
        struct linux_journal *journal;
        int slot;

        if (linux_journal_open(world->state, &journal, NULL) < 0)
            return 1;
        /* If another had taken the file away, a kill now would leave litter. */
        if (note_leftover(journal, world->work, LEFT_FILE, LINUX_LEFTOVER_FILE, &slot) < 0 ||
            count_journals(world) < 1)
            return 2;
        linux_journal_remove(journal, slot);
        linux_journal_close(journal);
    }
    return 0;
}

static void starts_at_the_same_time_do_not_take_each_others_files(void **state)
{
    struct world *world = *state;
    pid_t children[4];

    for (size_t i = 0; i < array_size(children); i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(open_often(world));
    }
    for (size_t i = 0; i < array_size(children); i++) {
        int status;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_int_equal(count_entries(world->scene.fd, "state"), 1);
}

enum { CLAIMANTS = 2, CLAIM_ROUNDS = 20000 };

struct claimant {
    struct linux_journal *journal;
    int work;
    atomic_uint *steps;
    atomic_int *holders; /* of each slot */
    unsigned period;     /* of its delays, so that every distance between two claims comes up */
    unsigned failed;
};

/* Until all have come this far. */
static void wait_for_all(atomic_uint *steps, unsigned step)
{
    atomic_fetch_add(steps, 1);
    while (atomic_load(steps) < step * CLAIMANTS)
        sched_yield();
}

static void *claim_and_release(void *data)
{
    struct claimant *claimant = data;

    for (unsigned round = 0; round < CLAIM_ROUNDS; round++) {
        int slot = 0;

        wait_for_all(claimant->steps, 2 * round + 1);
        for (volatile unsigned delay = round % claimant->period; delay > 0; delay--)
            ;
        claimant->failed += note_leftover(claimant->journal, claimant->work, LEFT_FILE,
                                          LINUX_LEFTOVER_FILE, &slot) < 0;
        claimant->failed += atomic_fetch_add(&claimant->holders[slot], 1) != 0;
        wait_for_all(claimant->steps, 2 * round + 2);
        atomic_fetch_sub(&claimant->holders[slot], 1);
        linux_journal_remove(claimant->journal, slot);
    }
    return NULL;
}

static void a_slot_has_one_holder(void **state)
{
    struct world *world = *state;
    struct linux_journal *journal = open_journal(world);
    atomic_int holders[JOURNAL_SLOTS] = {0};
    atomic_uint steps = 0;
    struct claimant claimants[CLAIMANTS];
    pthread_t threads[CLAIMANTS];

    for (size_t i = 0; i < CLAIMANTS; i++) {
        claimants[i] =
            (struct claimant){journal, world->work, &steps, holders, .period = i == 0 ? 89 : 97};
        assert_int_equal(pthread_create(&threads[i], NULL, claim_and_release, &claimants[i]), 0);
    }
    for (size_t i = 0; i < CLAIMANTS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(claimants[i].failed, 0);
    }
    linux_journal_close(journal);
    assert_int_equal(count_journals(world), 0);
}

static void slots_run_out_and_come_back(void **state)
{
    struct world *world = *state;
    struct linux_journal *journal = open_journal(world);
    int slots[JOURNAL_FILE_SLOTS];
    int tree;
    int more = -5;

    for (size_t i = 0; i < array_size(slots); i++)
        assert_int_equal(
            note_leftover(journal, world->work, LEFT_FILE, LINUX_LEFTOVER_FILE, &slots[i]), 0);
    assert_int_equal(note_leftover(journal, world->work, LEFT_FILE, LINUX_LEFTOVER_FILE, &more),
                     ERR_BUSY);
    assert_int_equal(more, -5);
    assert_int_equal(note_leftover(journal, world->work, LEFT_TREE, LINUX_LEFTOVER_TREE, &tree), 0);
    linux_journal_remove(journal, tree);
    linux_journal_remove(journal, slots[7]);
    assert_int_equal(note_leftover(journal, world->work, LEFT_FILE, LINUX_LEFTOVER_FILE, &more), 0);
    for (size_t i = 0; i < array_size(slots); i++)
        linux_journal_remove(journal, slots[i]);
    linux_journal_close(journal);
}

/* A store into a slot without disk space would kill the child. */
static int use_slots_of_a_full_disk(void *data)
{
    struct world *world = data;
    cleanup_fd int disk = -1;
    struct linux_journal *journal;
    int slots[JOURNAL_FILE_SLOTS];
    char path[PATH_MAX];
    size_t count = 0;
    int tree;
    int r;

    CHECK((size_t)snprintf(path, sizeof(path), "%s/outside", world->scene.path) < sizeof(path));
    r = mount_small_disk(path);
    if (r != 0)
        return r;
    disk = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(disk >= 0);
    CHECK((size_t)snprintf(path, sizeof(path), "%s/outside/state", world->scene.path) <
          sizeof(path));
    CHECK(linux_journal_open(path, &journal, NULL) == 0);
    CHECK(fill_disk(disk) == 0);
    while (count < array_size(slots) && r == 0) {
        r = note_leftover(journal, world->work, LEFT_FILE, LINUX_LEFTOVER_FILE, &slots[count]);
        count += r == 0;
    }
    /* What comes one by one needs no more space. */
    CHECK(r == ERR_NO_SPACE && count > 0 && count < array_size(slots));
    CHECK(note_leftover(journal, world->work, LEFT_TREE, LINUX_LEFTOVER_TREE, &tree) == 0);
    CHECK(unlinkat(disk, "filler", 0) == 0);
    while (count < array_size(slots))
        CHECK(note_leftover(journal, world->work, LEFT_FILE, LINUX_LEFTOVER_FILE,
                            &slots[count++]) == 0);
    CHECK(note_leftover(journal, world->work, LEFT_FILE, LINUX_LEFTOVER_FILE, &tree) == ERR_BUSY);
    linux_journal_close(journal);
    return 0;
}

static void a_full_disk_refuses_slots(void **state)
{
    struct child child = start_child(use_slots_of_a_full_disk, *state);
    int line = end_child(&child);

    if (line == CHILD_SKIPS)
        skip_because("a small file system cannot be mounted here");
    if (line != 0)
        fail_msg("the child stopped at line %d", line);
}

static void a_bad_descriptor_takes_no_slot(void **state)
{
    struct world *world = *state;
    struct linux_journal *journal = open_journal(world);
    int slot;

    for (int i = 0; i < 2 * JOURNAL_FILE_SLOTS; i++)
        assert_true(note_leftover(journal, -1, LEFT_FILE, LINUX_LEFTOVER_FILE, &slot) != ERR_BUSY);
    linux_journal_close(journal);
    assert_int_equal(count_journals(world), 0);
}

/* ---- workspaces ---- */

static void a_workspace_is_private_and_goes_when_it_is_dropped(void **state)
{
    struct world *world = *state;
    struct linux_backend backend = {.journal = open_journal(world)};
    struct backend_root *root = NULL;
    struct stat about;

    /* More often than there may be at once. */
    for (int i = 0; i < 2 * JOURNAL_MAX_WORKSPACES; i++) {
        assert_int_equal(linux_temp_make(&backend.base, &root), 0);
        assert_int_equal(fstat(root->fd, &about), 0);
        assert_int_equal(about.st_mode & 07777, 0700);
        make_dir(root->fd, "sub");
        make_file(root->fd, "sub/file", "x");
        assert_int_equal(count_workspaces(world), 1);
        linux_temp_drop(root);
        assert_int_equal(count_workspaces(world), 0);
    }
    linux_journal_close(backend.journal);
    assert_int_equal(count_entries(world->scene.fd, "state/temp"), 0);
    assert_int_equal(count_journals(world), 0);
}

static void workspaces_have_a_ceiling_and_take_no_slots(void **state)
{
    struct world *world = *state;
    struct linux_backend backend = {.journal = open_journal(world)};
    struct backend_root *roots[JOURNAL_MAX_WORKSPACES];
    struct backend_root *root = NULL;
    int slots[JOURNAL_TREE_SLOTS];
    int slot;

    for (size_t i = 0; i < array_size(roots); i++)
        assert_int_equal(linux_temp_make(&backend.base, &roots[i]), 0);
    assert_int_equal(count_workspaces(world), JOURNAL_MAX_WORKSPACES);
    assert_int_equal(linux_temp_make(&backend.base, &root), ERR_BUSY);
    assert_null(root);
    /* All the same files can be written and trees be built. */
    assert_int_equal(
        note_leftover(backend.journal, world->work, LEFT_FILE, LINUX_LEFTOVER_FILE, &slot), 0);
    linux_journal_remove(backend.journal, slot);
    for (size_t i = 0; i < array_size(slots); i++)
        assert_int_equal(
            note_leftover(backend.journal, world->work, LEFT_TREE, LINUX_LEFTOVER_TREE, &slots[i]),
            0);
    for (size_t i = 0; i < array_size(slots); i++)
        linux_journal_remove(backend.journal, slots[i]);
    linux_temp_drop(roots[3]);
    assert_int_equal(linux_temp_make(&backend.base, &roots[3]), 0);
    for (size_t i = 0; i < array_size(roots); i++)
        linux_temp_drop(roots[i]);
    linux_journal_close(backend.journal);
    assert_int_equal(count_entries(world->scene.fd, "state/temp"), 0);
    assert_int_equal(count_journals(world), 0);
}

static void a_workspace_that_is_still_there_keeps_the_journal(void **state)
{
    struct world *world = *state;
    struct linux_backend backend = {.journal = open_journal(world)};
    struct backend_root *root = NULL;

    assert_int_equal(linux_temp_make(&backend.base, &root), 0);
    make_file(root->fd, "file", "x");
    linux_journal_close(backend.journal);
    assert_int_equal(count_workspaces(world), 1);
    assert_int_equal(count_journals(world), 1);
    sweep(world);
    assert_int_equal(count_entries(world->scene.fd, "state/temp"), 0);
    assert_int_equal(count_journals(world), 0);
    close(root->fd);
    free(root);
}

static void the_workspaces_of_the_living_are_not_swept(void **state)
{
    struct world *world = *state;
    struct linux_backend backend = {.journal = open_journal(world)};
    struct backend_root *root = NULL;

    assert_int_equal(linux_temp_make(&backend.base, &root), 0);
    make_file(root->fd, "file", "x");
    assert_int_equal(in_child(world, sweep_and_go), 0);
    assert_true(is_there(root->fd, "file"));
    assert_int_equal(count_workspaces(world), 1);
    linux_temp_drop(root);
    linux_journal_close(backend.journal);
}

static int leave_workspaces(struct world *world)
{
    struct linux_backend backend = {.journal = open_journal(world)};

    for (int i = 0; i < 3; i++) {
        struct backend_root *root;

        if (linux_temp_make(&backend.base, &root) < 0)
            return 1;
        make_dir(root->fd, "sub");
        make_file(root->fd, "sub/file", "x");
        if (symlinkat("/", root->fd, "slash") < 0)
            return 2;
    }
    return 0;
}

static void workspaces_of_the_dead_are_swept(void **state)
{
    struct world *world = *state;

    assert_int_equal(in_child(world, leave_workspaces), 0);
    assert_int_equal(count_workspaces(world), 3);
    sweep(world);
    assert_int_equal(count_entries(world->scene.fd, "state/temp"), 0);
    assert_int_equal(count_journals(world), 0);
}

static void without_a_journal_there_are_no_workspaces(void **state)
{
    struct linux_backend backend = {.journal = NULL};
    struct backend_root *root = NULL;

    (void)state;
    assert_int_equal(linux_temp_make(&backend.base, &root), ERR_UNSUPPORTED);
    assert_null(root);
    linux_temp_drop(NULL);
    linux_journal_close(NULL);
}

/* ---- the state directory ---- */

static int refused(const struct world *world, const char *word)
{
    struct linux_journal *journal = NULL;
    struct err err = ERR_INIT;
    int r = linux_journal_open(world->state, &journal, &err);

    assert_null(journal);
    assert_int_equal(err.code, r);
    if (strstr(err.message, word) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.message, word);
    return r;
}

static void the_state_directory_must_be_private(void **state)
{
    struct world *world = *state;
    struct stat about;

    /* Missing: made. */
    sweep(world);
    assert_int_equal(fstatat(world->scene.fd, "state", &about, 0), 0);
    assert_int_equal(about.st_mode & 07777, 0700);
    assert_int_equal(fchmodat(world->scene.fd, "state", 0755, 0), 0);
    assert_int_equal(refused(world, "0755"), ERR_PERMISSION_DENIED);
    assert_int_equal(fchmodat(world->scene.fd, "state", 0770, 0), 0);
    assert_int_equal(refused(world, "0770"), ERR_PERMISSION_DENIED);
    assert_int_equal(fchmodat(world->scene.fd, "state", 0700, 0), 0);
    sweep(world);
    /* Its directory of workspaces too, and no link to another. */
    assert_int_equal(fchmodat(world->scene.fd, "state/temp", 0701, 0), 0);
    assert_int_equal(refused(world, "0701"), ERR_PERMISSION_DENIED);
    assert_int_equal(unlinkat(world->scene.fd, "state/temp", AT_REMOVEDIR), 0);
    assert_int_equal(symlinkat("../outside", world->scene.fd, "state/temp"), 0);
    assert_true(refused(world, "state directory") < 0);
    assert_int_equal(count_entries(world->scene.fd, "outside"), 0);
}

static void the_state_directory_must_be_a_directory(void **state)
{
    struct world *world = *state;

    make_file(world->scene.fd, "state", "x");
    assert_int_equal(refused(world, "state directory"), ERR_NOT_A_DIRECTORY);
}

static void the_state_directory_must_be_ours(void **state)
{
    struct world *world = *state;

    if (geteuid() != 0)
        skip_because("needs root to give a directory away");
    assert_int_equal(mkdirat(world->scene.fd, "state", 0700), 0);
    assert_int_equal(fchownat(world->scene.fd, "state", NOBODY, NOBODY, 0), 0);
    assert_int_equal(refused(world, "another user"), ERR_PERMISSION_DENIED);
    assert_int_equal(count_entries(world->scene.fd, "state"), 0);
}

static void temporary_names_are_known_by_their_shape(void **state)
{
    char first[LINUX_TEMP_NAME_BYTES];
    char second[LINUX_TEMP_NAME_BYTES];

    (void)state;
    linux_temp_name(first);
    linux_temp_name(second);
    assert_string_not_equal(first, second);
    assert_int_equal(strlen(first), 35);
    assert_true(linux_is_temp_name(str_from(first)));
    assert_false(linux_is_temp_name(str_slice(str_from(first), 0, 34)));
    assert_false(linux_is_temp_name(STR(".gatehouse-notes")));
    assert_false(linux_is_temp_name(STR(".gatehouse-aaaaaaaaaaaaaaaaaaaaaaa/")));
    assert_false(linux_is_temp_name(STR("xgatehouse-aaaaaaaaaaaaaaaaaaaaaaaa")));
    assert_false(linux_is_temp_name(STR_EMPTY));
}

/* Which has its parent's key and counter. */
static void a_forked_child_makes_other_temporary_names(void **state)
{
    char mine[LINUX_TEMP_NAME_BYTES];
    char its[LINUX_TEMP_NAME_BYTES];
    int ends[2];
    pid_t child;

    (void)state;
    linux_temp_name(mine);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    child = fork();
    assert_true(child >= 0);
    linux_temp_name(mine);
    if (child == 0)
        _exit(write(ends[1], mine, sizeof(mine)) == sizeof(mine) ? 0 : 1);
    assert_int_equal(read(ends[0], its, sizeof(its)), sizeof(its));
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ends[0]);
    close(ends[1]);
    assert_true(linux_is_temp_name(str_from(its)));
    assert_string_not_equal(mine, its);
}

TEST_MAIN(with_world(the_living_are_not_swept),
          with_world(closing_with_something_noted_keeps_the_journal),
          with_world(a_directory_that_has_moved_is_found),
          with_world(a_forked_child_does_not_take_the_journal_along),
          with_world(starts_at_the_same_time_do_not_take_each_others_files),
          with_world(a_slot_has_one_holder), with_world(slots_run_out_and_come_back),
          with_world(a_full_disk_refuses_slots), with_world(a_bad_descriptor_takes_no_slot),
          with_world(a_workspace_is_private_and_goes_when_it_is_dropped),
          with_world(workspaces_have_a_ceiling_and_take_no_slots),
          with_world(a_workspace_that_is_still_there_keeps_the_journal),
          with_world(the_workspaces_of_the_living_are_not_swept),
          with_world(workspaces_of_the_dead_are_swept),
          cmocka_unit_test(without_a_journal_there_are_no_workspaces),
          with_world(the_state_directory_must_be_private),
          with_world(the_state_directory_must_be_a_directory),
          with_world(the_state_directory_must_be_ours),
          cmocka_unit_test(a_forked_child_makes_other_temporary_names),
          cmocka_unit_test(temporary_names_are_known_by_their_shape))
