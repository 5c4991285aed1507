/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are replaced only if they are what was read, several of them together: what others do
 * at the very moment, and a kill at each step. The calls that change names stand here in the place
 * of the C library's.
 */
#include "world.h"

#include <linux/fs.h>
#include <signal.h>
#include <sys/syscall.h>

/* ---- the moments ---- */

static struct {
    struct world *world;
    /* Called before exchange number `at`, from 0 on, and before each one after it. */
    void (*meanwhile)(struct world *world, unsigned number);
    void (*on_write)(struct world *world);
    void (*on_renamed)(struct world *world);
    unsigned exchanges;
    bool has_no_exchange;
    unsigned renames_left; /* until one fails; 0: none does */
    unsigned steps_left;   /* until the process is killed; 0: it lives */
} scene;

static void step(void)
{
    if (scene.steps_left > 0 && --scene.steps_left == 0)
        raise(SIGKILL);
}

int renameat2(int oldfd, const char *old, int newfd, const char *new, unsigned flags)
{
    int r;

    if (flags == RENAME_EXCHANGE && scene.has_no_exchange) {
        errno = EINVAL;
        return -1;
    }
    if (flags == 0 && scene.renames_left > 0 && --scene.renames_left == 0) {
        errno = EIO;
        return -1;
    }
    if (flags == RENAME_EXCHANGE && scene.meanwhile != NULL)
        scene.meanwhile(scene.world, scene.exchanges);
    scene.exchanges += flags == RENAME_EXCHANGE;
    step();
    r = (int)syscall(SYS_renameat2, oldfd, old, newfd, new, flags);
    if (flags == 0 && scene.on_renamed != NULL)
        scene.on_renamed(scene.world);
    step();
    return r;
}

int unlinkat(int fd, const char *name, int flag)
{
    int r;

    step();
    r = (int)syscall(SYS_unlinkat, fd, name, flag);
    step();
    return r;
}

ssize_t write(int fd, const void *buf, size_t n)
{
    void (*act)(struct world * world) = scene.on_write;

    scene.on_write = NULL;
    if (act != NULL)
        act(scene.world);
    return syscall(SYS_write, fd, buf, n);
}

static int scene_setup(void **state)
{
    int r = setup_linux(state);

    memset(&scene, 0, sizeof(scene));
    scene.world = *state;
    return r;
}

#define SCENE(test) cmocka_unit_test_setup_teardown(test, scene_setup, teardown)

/* ---- from outside ---- */

static void put(struct world *world, const char *name, const char *text)
{
    int fd = openat(world->fds[WORLD_ROOT], name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(syscall(SYS_write, fd, text, strlen(text)), (long)strlen(text));
    close(fd);
}

/* As many editors save. */
static void save(struct world *world, const char *name, const char *text)
{
    put(world, "saved~", text);
    assert_int_equal(renameat(world->fds[WORLD_ROOT], "saved~", world->fds[WORLD_ROOT], name), 0);
}

static size_t count_entries(const struct world *world)
{
    DIR *dir = opendir(world->paths[WORLD_ROOT]);
    size_t count = 0;

    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    closedir(dir);
    return count;
}

/* ---- replacing what was read ---- */

struct replaced {
    struct authority_stat read[3];
    struct str content[3];
    struct authority_replacement files[3];
    size_t count;
};

static const char *const names[] = {"a", "b", "c"};

/* Reads a, b and c, or the first of them. */
static void read_all(struct world *world, struct replaced *replaced, size_t count)
{
    static const struct str old[] = {STR("old a"), STR("old b"), STR("old c")};
    static const struct str new[] = {STR("new a"), STR("new b"), STR("new c")};

    replaced->count = count;
    for (size_t i = 0; i < count; i++) {
        put(world, names[i], old[i].ptr);
        assert_int_equal(authority_stat(world->scope, str_from(names[i]), &replaced->read[i], NULL),
                         0);
        replaced->content[i] = old[i];
        replaced->files[i] = (struct authority_replacement){
            .name = str_from(names[i]),
            .content = new[i],
            .exchange = {.expected = &replaced->read[i], .expected_content = &replaced->content[i]},
        };
    }
}

static int replace(struct world *world, struct replaced *replaced, size_t *out_at)
{
    world->err = (struct err)ERR_INIT;
    return authority_replace_all(world->scope, replaced->files, replaced->count, NULL, out_at,
                                 &world->err);
}

static void files_that_are_what_was_read_are_replaced(void **state)
{
    struct world *world = *state;
    struct replaced replaced;
    struct authority_stat about;
    size_t at;

    read_all(world, &replaced, 3);
    assert_int_equal(replace(world, &replaced, &at), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_content(world, WORLD_ROOT, names[i], replaced.files[i].content.ptr);
        assert_int_equal(authority_stat(world->scope, str_from(names[i]), &about, NULL), 0);
        assert_int_equal(about.inode, replaced.files[i].exchange.after.inode);
    }
    assert_int_equal(count_entries(world), 3);
}

static void one_that_is_not_leaves_all(void **state)
{
    struct world *world = *state;
    struct replaced replaced;
    size_t at = 0;

    read_all(world, &replaced, 3);
    save(world, "b", "old b"); /* another file of the same content */
    assert_int_equal(replace(world, &replaced, &at), ERR_BUSY);
    assert_int_equal(at, 1);
    assert_content(world, WORLD_ROOT, "a", "old a");
    assert_content(world, WORLD_ROOT, "c", "old c");
    assert_int_equal(count_entries(world), 3);
}

/* ---- in the last moment ---- */

static void save_at_first(struct world *world, unsigned number)
{
    if (number == 0)
        save(world, "a", "saved");
}

static void what_an_editor_saves_in_the_last_moment_stays(void **state)
{
    struct world *world = *state;
    struct replaced replaced;
    size_t at;

    read_all(world, &replaced, 1);
    scene.meanwhile = save_at_first;
    assert_int_equal(replace(world, &replaced, &at), ERR_BUSY);
    assert_int_equal(scene.exchanges, 2);
    assert_content(world, WORLD_ROOT, "a", "saved");
    assert_int_equal(count_entries(world), 1);
}

/* Same size, same times: only the content tells. */
static void overwrite(struct world *world, unsigned number)
{
    int fd = openat(world->fds[WORLD_ROOT], "a", O_WRONLY | O_CLOEXEC);
    struct stat about;
    struct timespec times[2];

    if (number == 0) {
        assert_int_equal(fstat(fd, &about), 0);
        times[0] = about.st_atim;
        times[1] = about.st_mtim;
        assert_int_equal(syscall(SYS_write, fd, "OLD A", 5), 5);
        assert_int_equal(futimens(fd, times), 0);
    }
    close(fd);
}

static void what_is_written_into_the_file_in_the_last_moment_stays(void **state)
{
    struct world *world = *state;
    struct replaced replaced;
    size_t at;

    read_all(world, &replaced, 1);
    scene.meanwhile = overwrite;
    assert_int_equal(replace(world, &replaced, &at), ERR_BUSY);
    assert_content(world, WORLD_ROOT, "a", "OLD A");
    assert_int_equal(count_entries(world), 1);
}

static void save_twice(struct world *world, unsigned number)
{
    if (number < 2)
        save(world, "a", number == 0 ? "saved" : "saved again");
}

static void of_two_saves_the_later_one_stays(void **state)
{
    struct world *world = *state;
    struct replaced replaced;
    size_t at;

    read_all(world, &replaced, 1);
    scene.meanwhile = save_twice;
    assert_int_equal(replace(world, &replaced, &at), ERR_BUSY);
    assert_content(world, WORLD_ROOT, "a", "saved again");
    assert_int_equal(count_entries(world), 1);
}

static void remove_after_save(struct world *world, unsigned number)
{
    if (number == 0)
        save(world, "a", "saved");
    else if (number == 1)
        assert_int_equal(syscall(SYS_unlinkat, world->fds[WORLD_ROOT], "a", 0), 0);
}

static void what_was_displaced_comes_back_even_if_ours_is_removed(void **state)
{
    struct world *world = *state;
    struct replaced replaced;
    size_t at;

    read_all(world, &replaced, 1);
    scene.meanwhile = remove_after_save;
    assert_int_equal(replace(world, &replaced, &at), ERR_BUSY);
    assert_content(world, WORLD_ROOT, "a", "saved");
    assert_int_equal(count_entries(world), 1);
}

static void save_the_last(struct world *world, unsigned number)
{
    if (number == 2)
        save(world, "c", "saved");
}

static void the_files_before_it_come_back(void **state)
{
    struct world *world = *state;
    struct replaced replaced;
    size_t at = 0;

    read_all(world, &replaced, 3);
    scene.meanwhile = save_the_last;
    assert_int_equal(replace(world, &replaced, &at), ERR_BUSY);
    assert_int_equal(at, 2);
    assert_content(world, WORLD_ROOT, "a", "old a");
    assert_content(world, WORLD_ROOT, "b", "old b");
    assert_content(world, WORLD_ROOT, "c", "saved");
    assert_int_equal(count_entries(world), 3);
}

/* ---- where names cannot be exchanged ---- */

static void without_exchanges_files_are_replaced_too(void **state)
{
    struct world *world = *state;
    struct replaced replaced;
    size_t at;

    read_all(world, &replaced, 3);
    scene.has_no_exchange = true;
    assert_int_equal(replace(world, &replaced, &at), 0);
    assert_content(world, WORLD_ROOT, "a", "new a");
    assert_content(world, WORLD_ROOT, "c", "new c");
    assert_int_equal(count_entries(world), 3);
}

/* As by who cleans up. */
static void take_unfinished(struct world *world)
{
    DIR *dir = opendir(world->paths[WORLD_ROOT]);
    unsigned taken = 0;

    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (str_starts_with(str_from(entry->d_name), STR(".gatehouse-")))
            taken += unlinkat(dirfd(dir), entry->d_name, 0) == 0;
    closedir(dir);
    assert_int_equal(taken, 1);
}

static void whose_unfinished_file_was_taken_is_told_so(void **state)
{
    struct world *world = *state;
    struct replaced replaced;
    size_t at;

    for (unsigned i = 0; i < 2; i++) {
        scene.has_no_exchange = i > 0;
        read_all(world, &replaced, 1);
        scene.on_write = take_unfinished;
        assert_int_equal(replace(world, &replaced, &at), ERR_BUSY);
        assert_null(scene.on_write);
        assert_content(world, WORLD_ROOT, "a", "old a");
        assert_int_equal(count_entries(world), 1);
    }
}

static void without_exchanges_the_files_before_one_that_fails_come_back(void **state)
{
    struct world *world = *state;
    struct replaced replaced;
    size_t at = 0;

    read_all(world, &replaced, 3);
    set_mode(world, WORLD_ROOT, "a", 0750);
    assert_int_equal(authority_stat(world->scope, STR("a"), &replaced.read[0], NULL), 0);
    scene.has_no_exchange = true;
    scene.renames_left = 3;
    assert_int_equal(replace(world, &replaced, &at), ERR_IO);
    assert_int_equal(at, 2);
    assert_content(world, WORLD_ROOT, "a", "old a");
    assert_int_equal(mode_of(world, WORLD_ROOT, "a"), 0750);
    assert_content(world, WORLD_ROOT, "b", "old b");
    assert_content(world, WORLD_ROOT, "c", "old c");
    assert_int_equal(count_entries(world), 3);
}

/* ---- appending ---- */

static void save_now(struct world *world)
{
    save(world, "a", "saved ");
}

static void what_is_appended_is_in_the_file_that_has_the_name(void **state)
{
    struct world *world = *state;

    put(world, "a", "old ");
    scene.on_write = save_now;
    assert_int_equal(authority_append(world->scope, STR("a"), STR("more"), NULL, NULL), 0);
    assert_content(world, WORLD_ROOT, "a", "saved more");
}

static void append_to_a(struct world *world)
{
    int fd = openat(world->fds[WORLD_ROOT], "a", O_WRONLY | O_APPEND | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(syscall(SYS_write, fd, " and more", 9), 9);
    close(fd);
}

static void what_is_appended_at_once_is_not_told_as_ours(void **state)
{
    struct world *world = *state;
    struct authority_exchange exchange = {.content = NULL};
    struct authority_stat now;

    put(world, "a", "old a");
    scene.on_renamed = append_to_a;
    assert_int_equal(authority_write_bytes(world->scope, STR("a"), STR("new a"),
                                           &(struct authority_write_options){
                                               .create = AUTHORITY_REPLACE_OLD,
                                               .exchange = &exchange,
                                           },
                                           NULL),
                     0);
    scene.on_renamed = NULL;
    assert_content(world, WORLD_ROOT, "a", "new a and more");
    assert_int_equal(authority_stat(world->scope, STR("a"), &now, NULL), 0);
    assert_int_equal(exchange.after.inode, now.inode);
    assert_int_equal(exchange.after.size, 5);
}

/* ---- kill -9 ---- */

static void replace_and_die(struct world *world)
{
    struct replaced replaced;
    size_t at;

    world_reopen(world, world->state);
    read_all(world, &replaced, 3);
    scene.steps_left = scene.exchanges; /* where the parent put it */
    scene.exchanges = 0;
    (void)replace(world, &replaced, &at);
    _exit(0);
}

/* Whether the child was killed; and what the next start leaves. */
static bool die_at(struct world *world, unsigned at)
{
    struct authority *next = NULL;
    const struct authority_config config = {.backend = AUTHORITY_LINUX, .state_dir = world->state};
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        world_is_child = true;
        scene.exchanges = at;
        replace_and_die(world);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(authority_new(&config, &next, &world->err), 0);
    authority_free(next);
    return WIFSIGNALED(status);
}

static void killed_at_any_step_it_has_replaced_all_or_none(void **state)
{
    struct world *world = *state;
    unsigned old = 0;
    unsigned at = 1;

    while (die_at(world, at)) {
        char found[8] = "";
        int fd = openat(world->fds[WORLD_ROOT], "a", O_RDONLY | O_CLOEXEC);
        bool is_old;

        assert_true(read(fd, found, 5) == 5);
        close(fd);
        is_old = strcmp(found, "old a") == 0;
        old += is_old;
        assert_content(world, WORLD_ROOT, "a", is_old ? "old a" : "new a");
        assert_content(world, WORLD_ROOT, "b", is_old ? "old b" : "new b");
        assert_content(world, WORLD_ROOT, "c", is_old ? "old c" : "new c");
        assert_int_equal(count_entries(world), 3);
        at++;
    }
    /* Two steps for each exchange and each removal. */
    assert_int_equal(at - 1, 12);
    assert_int_equal(old, 6);
}

static void save_and_count(struct world *world, unsigned number)
{
    if (number == 0)
        save(world, "c", "saved");
}

static void killed_before_it_gives_back_a_save_the_next_start_does(void **state)
{
    struct world *world = *state;

    scene.meanwhile = save_and_count; /* before any exchange, after all looks */
    assert_true(die_at(world, 6));    /* right after the third */
    assert_content(world, WORLD_ROOT, "a", "old a");
    assert_content(world, WORLD_ROOT, "b", "old b");
    assert_content(world, WORLD_ROOT, "c", "saved");
    assert_int_equal(count_entries(world), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE(files_that_are_what_was_read_are_replaced),
        SCENE(one_that_is_not_leaves_all),
        SCENE(what_an_editor_saves_in_the_last_moment_stays),
        SCENE(what_is_written_into_the_file_in_the_last_moment_stays),
        SCENE(of_two_saves_the_later_one_stays),
        SCENE(what_was_displaced_comes_back_even_if_ours_is_removed),
        SCENE(the_files_before_it_come_back),
        SCENE(without_exchanges_files_are_replaced_too),
        SCENE(whose_unfinished_file_was_taken_is_told_so),
        SCENE(without_exchanges_the_files_before_one_that_fails_come_back),
        SCENE(what_is_appended_is_in_the_file_that_has_the_name),
        SCENE(what_is_appended_at_once_is_not_told_as_ours),
        SCENE(killed_at_any_step_it_has_replaced_all_or_none),
        SCENE(killed_before_it_gives_back_a_save_the_next_start_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
