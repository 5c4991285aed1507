/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <signal.h>
#include <time.h>

#include "base/rand.h"
#include "journal_scene.h"

enum { KILLS = 80, CANNOT = 77, MANY_WORKSPACES = 200 };

/* ---- leftovers of the dead ---- */

static int leave_file(struct world *world)
{
    struct linux_journal *journal = open_journal(world);
    int slot;

    if (note_leftover(journal, world->work, LEFT_FILE, LINUX_LEFTOVER_FILE, &slot) < 0)
        return 1;
    make_file(world->work, LEFT_FILE, "half");
    return 0;
}

static int leave_tree(struct world *world)
{
    struct linux_journal *journal = open_journal(world);
    int slot;
    int tree;

    if (note_leftover(journal, world->work, LEFT_TREE, LINUX_LEFTOVER_TREE, &slot) < 0)
        return 1;
    make_dir(world->work, LEFT_TREE);
    tree = openat(world->work, LEFT_TREE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    make_dir(tree, "sub");
    make_file(tree, "sub/file", "x");
    return symlinkat("../../outside", tree, "link") == 0 ? 0 : 2;
}

static void the_next_start_removes_what_was_left(void **state)
{
    struct world *world = *state;

    make_file(world->work, STRANGERS, "of a process that lives");
    make_file(world->work, ".gatehouse-notes", "the user's own");
    make_file(world->scene.fd, "outside/sentinel", "precious");
    assert_int_equal(in_child(world, leave_file), 0);
    assert_int_equal(in_child(world, leave_tree), 0);
    assert_int_equal(count_entries(world->work, "."), 3); /* the second start swept the first */
    sweep(world);
    assert_int_equal(count_entries(world->work, "."), 2);
    assert_true(is_there(world->work, STRANGERS));
    assert_true(is_there(world->work, ".gatehouse-notes"));
    assert_true(is_there(world->scene.fd, "outside/sentinel"));
    /* Nothing but the directory of the workspaces. */
    assert_int_equal(count_entries(world->scene.fd, "state"), 1);
}

static int add_and_make_nothing(struct world *world)
{
    struct linux_journal *journal = open_journal(world);
    int slot;

    return note_leftover(journal, world->work, LEFT_FILE, LINUX_LEFTOVER_FILE, &slot);
}

static void a_name_that_was_never_made_is_no_trouble(void **state)
{
    struct world *world = *state;

    assert_int_equal(in_child(world, add_and_make_nothing), 0);
    assert_int_equal(count_journals(world), 1);
    sweep(world);
    assert_int_equal(count_journals(world), 0);
}

static int leave_file_and_take_it_back(struct world *world)
{
    struct linux_journal *journal = open_journal(world);
    int slot;

    if (note_leftover(journal, world->work, LEFT_FILE, LINUX_LEFTOVER_FILE, &slot) < 0)
        return 1;
    make_file(world->work, LEFT_FILE, "whole");
    linux_journal_remove(journal, slot);
    return 0;
}

static void what_was_taken_back_is_not_removed(void **state)
{
    struct world *world = *state;

    assert_int_equal(in_child(world, leave_file_and_take_it_back), 0);
    sweep(world);
    assert_true(is_there(world->work, LEFT_FILE));
}

/* ---- kill -9 ---- */

/* As a replacement write and an extraction do it, over and over. */
static _Noreturn void work_until_killed(struct world *world, int ready)
{
    struct linux_journal *journal = open_journal(world);
    struct linux_backend backend = {.journal = journal};

    for (unsigned i = 0;; i++) {
        char name[LINUX_TEMP_NAME_BYTES];
        char target[16];
        struct backend_root *temp;
        int slot;
        int fd;

        linux_temp_name(name);
        snprintf(target, sizeof(target), "target%u", i % 4);
        if (note_leftover(journal, world->work, name, LINUX_LEFTOVER_FILE, &slot) < 0)
            _exit(1);
        fd = openat(world->work, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 || write(fd, "whole", 5) != 5)
            _exit(2);
        close(fd);
        if (i % 3 == 0 ? unlinkat(world->work, name, 0) < 0
                       : renameat(world->work, name, world->work, target) < 0)
            _exit(3);
        linux_journal_remove(journal, slot);
        if (linux_temp_make(&backend.base, &temp) < 0)
            _exit(4);
        make_dir(temp->fd, "sub");
        make_file(temp->fd, "sub/file", "x");
        if (i % 2 == 0)
            make_file(temp->fd, "file", "x");
        linux_temp_drop(temp);
        if (i == 0 && write(ready, "!", 1) != 1)
            _exit(5);
    }
}

static void spin(uint32_t ns)
{
    struct timespec start, now;

    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec < (long)ns);
}

static void killed_at_any_moment_it_leaves_nothing(void **state)
{
    struct world *world = *state;
    unsigned with_litter = 0;

    make_file(world->work, STRANGERS, "of a process that lives");
    for (unsigned round = 0; round < KILLS; round++) {
        int pipe_fds[2];
        int status;
        char byte;
        pid_t child;

        assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
        child = fork();
        assert_true(child >= 0);
        if (child == 0)
            work_until_killed(world, pipe_fds[1]);
        close(pipe_fds[1]);
        assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
        close(pipe_fds[0]);
        spin(rand_below(2000000));
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));

        with_litter +=
            count_named(world->work, ".", LINUX_TEMP_START) > 1 || count_workspaces(world) > 0;
        sweep(world);
        assert_int_equal(count_named(world->work, ".", LINUX_TEMP_START), 1);
        assert_true(is_there(world->work, STRANGERS));
        assert_int_equal(count_entries(world->scene.fd, "state/temp"), 0);
        assert_int_equal(count_entries(world->scene.fd, "state"), 1);
    }
    /* Else it has shown nothing. */
    assert_true(with_litter > 0);
    assert_true(is_there(world->work, "target1"));
}

static _Noreturn void open_many_until_killed(struct world *world, int ready)
{
    struct linux_backend backend = {.journal = open_journal(world), .walks = !linux_has_openat2()};
    struct backend_root *tree = NULL;
    struct backend_root root = {.backend = &backend, .fd = world->work};

    for (unsigned i = 0; i < MANY_WORKSPACES; i++) {
        struct backend_root *temp;

        if (linux_temp_make(&backend.base, &temp) < 0)
            _exit(1);
        make_dir(temp->fd, "sub");
        make_file(temp->fd, "sub/file", "x");
    }
    /* A tree still has room in the journal. */
    if (linux_mount_id(root.fd, &root.mount_id) < 0 ||
        linux_tree_stage(&root, &(struct backend_lookup){0}, STR("new"), &tree) < 0)
        _exit(2);
    make_file(tree->fd, "file", "x");
    if (write(ready, "!", 1) != 1)
        _exit(3);
    while (true)
        pause();
}

/* Killed when it says that it is ready. */
static void run_and_kill(struct world *world, void (*live)(struct world *world, int ready))
{
    int pipe_fds[2];
    int status;
    char byte;
    pid_t child;

    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        live(world, pipe_fds[1]);
        _exit(1);
    }
    close(pipe_fds[1]);
    assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
    close(pipe_fds[0]);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
}

static void killed_with_many_workspaces_it_leaves_nothing(void **state)
{
    struct world *world = *state;

    run_and_kill(world, open_many_until_killed);
    assert_int_equal(count_workspaces(world), MANY_WORKSPACES);
    assert_int_equal(count_named(world->work, ".", LINUX_TEMP_START), 1);
    sweep(world);
    assert_int_equal(count_entries(world->scene.fd, "state/temp"), 0);
    assert_int_equal(count_entries(world->scene.fd, "state"), 1);
    assert_int_equal(count_entries(world->work, "."), 0);
}

/* ---- what is no longer what was noted ---- */

static void a_directory_replaced_by_a_link_is_not_followed(void **state)
{
    struct world *world = *state;

    assert_int_equal(in_child(world, leave_file), 0);
    assert_int_equal(renameat(world->scene.fd, "work", world->scene.fd, "moved"), 0);
    assert_int_equal(symlinkat("outside", world->scene.fd, "work"), 0);
    make_file(world->scene.fd, "work/" LINUX_TEMP_START "aaaaaaaaaaaaaaaaaaaaaaaa", "another's");
    sweep(world);
    assert_int_equal(count_entries(world->scene.fd, "outside"), 1);
    assert_int_equal(count_entries(world->scene.fd, "moved"), 1);
    assert_int_equal(count_journals(world), 0);
}

static void a_link_back_to_the_directory_is_not_followed_either(void **state)
{
    struct world *world = *state;

    assert_int_equal(in_child(world, leave_file), 0);
    assert_int_equal(renameat(world->scene.fd, "work", world->scene.fd, "moved"), 0);
    assert_int_equal(symlinkat("moved", world->scene.fd, "work"), 0);
    sweep(world);
    assert_true(is_there(world->work, LEFT_FILE));
    assert_int_equal(count_journals(world), 0);
}

static void another_directory_of_that_name_is_left_alone(void **state)
{
    struct world *world = *state;

    assert_int_equal(in_child(world, leave_tree), 0);
    assert_int_equal(renameat(world->scene.fd, "work", world->scene.fd, "moved"), 0);
    make_dir(world->scene.fd, "work");
    make_dir(world->scene.fd, "work/" LINUX_TEMP_START "bbbbbbbbbbbbbbbbbbbbbbbb");
    sweep(world);
    assert_int_equal(count_entries(world->scene.fd, "work"), 1);
    assert_int_equal(count_entries(world->scene.fd, "moved"), 1);
    assert_int_equal(count_journals(world), 0);
}

static void a_directory_that_has_gone_is_forgotten(void **state)
{
    struct world *world = *state;

    assert_int_equal(in_child(world, leave_file), 0);
    assert_int_equal(unlinkat(world->work, LEFT_FILE, 0), 0);
    assert_int_equal(unlinkat(world->scene.fd, "work", AT_REMOVEDIR), 0);
    sweep(world);
    assert_int_equal(count_journals(world), 0);
}

static void a_thing_of_another_kind_is_left_alone(void **state)
{
    struct world *world = *state;

    assert_int_equal(in_child(world, leave_file), 0);
    assert_int_equal(unlinkat(world->work, LEFT_FILE, 0), 0);
    make_dir(world->work, LEFT_FILE);
    sweep(world);
    assert_true(is_there(world->work, LEFT_FILE));

    assert_int_equal(unlinkat(world->work, LEFT_FILE, AT_REMOVEDIR), 0);
    assert_int_equal(in_child(world, leave_file), 0);
    assert_int_equal(unlinkat(world->work, LEFT_FILE, 0), 0);
    assert_int_equal(symlinkat("../outside", world->work, LEFT_FILE), 0);
    sweep(world);
    assert_true(is_there(world->work, LEFT_FILE));

    assert_int_equal(in_child(world, leave_tree), 0);
    assert_int_equal(renameat(world->work, LEFT_TREE, world->work, "away"), 0);
    make_file(world->work, LEFT_TREE, "a file");
    sweep(world);
    assert_true(is_there(world->work, LEFT_TREE));
    assert_int_equal(count_entries(world->work, "away"), 2);
    assert_int_equal(count_journals(world), 0);
}

/* As an ordinary user: root could remove it all the same. 0 or the step that failed. */
static int try_without_permission(struct world *world)
{
    struct linux_journal *journal = NULL;

    if (geteuid() == 0 &&
        (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0))
        return CANNOT;
    if (in_child(world, leave_file) != 0)
        return 1;
    if (fchmod(world->work, 0555) < 0 || linux_journal_open(world->state, &journal, NULL) < 0)
        return 2;
    if (!is_there(world->work, LEFT_FILE) || count_journals(world) != 2)
        return 3;
    linux_journal_close(journal);
    if (fchmod(world->work, 0755) < 0 || linux_journal_open(world->state, &journal, NULL) < 0)
        return 4;
    if (is_there(world->work, LEFT_FILE) || count_journals(world) != 1)
        return 5;
    return 0;
}

static void what_cannot_be_removed_now_is_tried_again(void **state)
{
    struct world *world = *state;
    int status;

    if (geteuid() == 0) {
        assert_int_equal(fchownat(world->scene.fd, ".", NOBODY, NOBODY, 0), 0);
        assert_int_equal(fchownat(world->scene.fd, "work", NOBODY, NOBODY, 0), 0);
    }
    status = in_child(world, try_without_permission);
    if (status == CANNOT)
        skip_because("cannot become another user");
    assert_int_equal(status, 0);
}

/* ---- corrupt journals ---- */

static void find_journal(const struct world *world, char out_path[PATH_MAX])
{
    DIR *dir = opendir(world->state);

    assert_non_null(dir);
    out_path[0] = '\0';
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (strncmp(entry->d_name, JOURNAL_PREFIX, sizeof(JOURNAL_PREFIX) - 1) == 0)
            snprintf(out_path, PATH_MAX, "%.2000s/%s", world->state, entry->d_name);
    closedir(dir);
    assert_true(out_path[0] != '\0');
}

/* Every case spoils one thing in a journal that would otherwise be obeyed. */
enum spoil {
    SPOIL_MAGIC,
    SPOIL_SLOT_COUNT,
    SPOIL_SLOT_BYTES,
    SPOIL_STATE,
    SPOIL_KIND,
    SPOIL_NAME,
    SPOIL_NAME_WITH_SLASH,
    SPOIL_NAME_END,
    SPOIL_PATH_END,
    SPOIL_PATH_RELATIVE,
    SPOIL_SHORT,
    SPOIL_EMPTY,
    SPOIL_LONG,
    SPOILS
};

static void spoil(struct journal_image *image, enum spoil how, size_t *size)
{
    switch (how) {
    case SPOIL_MAGIC:
        image->magic[3]++;
        break;
    case SPOIL_SLOT_COUNT:
        image->slot_count--;
        break;
    case SPOIL_SLOT_BYTES:
        image->slot_bytes++;
        break;
    case SPOIL_STATE:
        image->states[JOURNAL_SLOTS - 1] = JOURNAL_USED + 1;
        break;
    case SPOIL_KIND:
        image->slots[0].kind = 2;
        break;
    case SPOIL_NAME:
        snprintf(image->slots[0].last, sizeof(image->slots[0].last), "keep");
        break;
    case SPOIL_NAME_WITH_SLASH:
        snprintf(image->slots[0].last, sizeof(image->slots[0].last),
                 LINUX_TEMP_START "../../../../../../../keep");
        break;
    case SPOIL_NAME_END:
        memset(image->slots[0].last + 35, 'a', sizeof(image->slots[0].last) - 35);
        break;
    case SPOIL_PATH_END:
        memset(image->slots[0].path, '/', sizeof(image->slots[0].path));
        break;
    case SPOIL_PATH_RELATIVE:
        image->slots[0].path[0] = '.';
        break;
    case SPOIL_SHORT:
        --*size;
        break;
    case SPOIL_EMPTY:
        *size = 0;
        break;
    case SPOIL_LONG:
        ++*size;
        break;
    case SPOILS:
        break;
    }
}

static void edit_journal(const struct world *world, struct journal_image *image, size_t size,
                         bool is_write)
{
    char path[PATH_MAX];
    int fd;

    find_journal(world, path);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    if (is_write) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, image, sizeof(*image), 0), sizeof(*image));
        assert_int_equal(ftruncate(fd, (off_t)size), 0);
    } else {
        assert_int_equal(pread(fd, image, sizeof(*image), 0), sizeof(*image));
    }
    close(fd);
}

static void a_corrupt_journal_removes_nothing(void **state)
{
    struct world *world = *state;
    struct journal_image *image = malloc(sizeof(*image));

    assert_non_null(image);
    make_file(world->work, "keep", "precious");
    for (enum spoil how = 0; how < SPOILS; how++) {
        size_t size = sizeof(*image);

        assert_int_equal(in_child(world, leave_file), 0);
        edit_journal(world, image, size, false);
        spoil(image, how, &size);
        edit_journal(world, image, size, true);
        sweep(world);
        if (!is_there(world->work, LEFT_FILE) || !is_there(world->work, "keep"))
            fail_msg("case %d was believed", (int)how);
        /* Set aside, and not more than one. */
        assert_int_equal(count_journals(world), 0);
        assert_true(is_there(world->scene.fd, "state/" JOURNAL_CORRUPT));
        assert_int_equal(count_entries(world->scene.fd, "state"), 2);
        assert_int_equal(unlinkat(world->work, LEFT_FILE, 0), 0);
    }
    /* Unspoilt, the same way, it is obeyed. */
    assert_int_equal(in_child(world, leave_file), 0);
    edit_journal(world, image, sizeof(*image), false);
    edit_journal(world, image, sizeof(*image), true);
    sweep(world);
    assert_false(is_there(world->work, LEFT_FILE));
    free(image);
}

/* They are known by where they are, not by what the journal says. */
static void workspaces_go_with_a_corrupt_journal_too(void **state)
{
    struct world *world = *state;
    struct journal_image *image = malloc(sizeof(*image));

    assert_non_null(image);
    run_and_kill(world, open_many_until_killed);
    edit_journal(world, image, sizeof(*image), false);
    image->magic[3]++;
    edit_journal(world, image, sizeof(*image), true);
    sweep(world);
    assert_int_equal(count_entries(world->scene.fd, "state/temp"), 0);
    assert_true(is_there(world->scene.fd, "state/" JOURNAL_CORRUPT));
    assert_int_equal(count_named(world->work, ".", LINUX_TEMP_START), 1);
    free(image);
}

static void another_versions_journal_stays_for_it(void **state)
{
    struct world *world = *state;
    struct journal_image *image = malloc(sizeof(*image));

    assert_non_null(image);
    assert_int_equal(in_child(world, leave_file), 0);
    edit_journal(world, image, sizeof(*image), false);
    image->version++;
    edit_journal(world, image, sizeof(*image) / 2, true);
    sweep(world);
    assert_true(is_there(world->work, LEFT_FILE));
    assert_int_equal(count_journals(world), 1);
    free(image);
}

static void things_that_only_look_like_journals_do_no_harm(void **state)
{
    struct world *world = *state;

    assert_int_equal(mkdirat(world->scene.fd, "state", 0700), 0);
    make_dir(world->scene.fd, "state/journal-dir");
    assert_int_equal(mkfifoat(world->scene.fd, "state/journal-fifo", 0600), 0);
    make_file(world->scene.fd, "outside/sentinel", "precious");
    assert_int_equal(symlinkat("../outside/sentinel", world->scene.fd, "state/journal-link"), 0);
    assert_int_equal(symlinkat("../outside/sentinel", world->scene.fd, "state/fresh-link"), 0);
    make_file(world->scene.fd, "state/fresh-abandoned", "");
    make_file(world->scene.fd, "state/settings", "{}");
    sweep(world);
    assert_true(is_there(world->scene.fd, "outside/sentinel"));
    assert_true(is_there(world->scene.fd, "state/settings"));
    assert_false(is_there(world->scene.fd, "state/fresh-abandoned"));
}

TEST_MAIN(with_world(the_next_start_removes_what_was_left),
          with_world(a_name_that_was_never_made_is_no_trouble),
          with_world(what_was_taken_back_is_not_removed),
          with_world(killed_at_any_moment_it_leaves_nothing),
          with_world(killed_with_many_workspaces_it_leaves_nothing),
          with_world(a_directory_replaced_by_a_link_is_not_followed),
          with_world(a_link_back_to_the_directory_is_not_followed_either),
          with_world(another_directory_of_that_name_is_left_alone),
          with_world(a_directory_that_has_gone_is_forgotten),
          with_world(a_thing_of_another_kind_is_left_alone),
          with_world(what_cannot_be_removed_now_is_tried_again),
          with_world(a_corrupt_journal_removes_nothing),
          with_world(workspaces_go_with_a_corrupt_journal_too),
          with_world(another_versions_journal_stays_for_it),
          with_world(things_that_only_look_like_journals_do_no_harm))
