/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Others change the disk during an operation: they swap directories, end a process, or just work
 * there.
 */
#include "attempts.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>

/* ---- kill -9 ---- */

static bool ends_in_a_copy;

/* SAFETY: takes the place of the libc's, which does the same call and nothing else. */
ssize_t copy_instead(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t len,
                     unsigned flags) __asm__("copy_file_range");

ssize_t copy_instead(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t len,
                     unsigned flags)
{
    ssize_t copied = syscall(SYS_copy_file_range, from, from_offset, to, to_offset, len, flags);

    if (ends_in_a_copy)
        kill(getpid(), SIGKILL);
    return copied;
}

static void copy_until_killed(struct world *world)
{
    const struct authority_move_options replace = {.may_replace = true};

    world_reopen(world, world->state);
    ends_in_a_copy = true;
    authority_copy(world->scope, STR("new"), STR("old"), &replace, &world->err);
}

static void what_a_killed_process_left_goes_with_the_next_start(void **state)
{
    struct world *world = *state;
    const struct authority_config config = {
        .backend = AUTHORITY_LINUX, .state_dir = world->state, .clock = &world->clock};
    cleanup_buf struct buf out = BUF_INIT(1000);
    struct authority *next = NULL;
    int status = 0;
    pid_t pid;

    plant(world, WORLD_ROOT, "old", "old");
    plant_to_copy(world, WORLD_ROOT, "new");
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        world_is_child = true;
        copy_until_killed(world);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFSIGNALED(status))
        skip_because("this file system copies without work");
    assert_content(world, WORLD_ROOT, "old", "old");
    assert_ok(world, authority_new(&config, &next, &world->err));
    authority_free(next);
    assert_ok(world, authority_walk(world->scope, STR_EMPTY,
                                    &(struct authority_walk_options){.is_sorted = true},
                                    world_note_entry, &out, &world->err));
    assert_str(buf_view(&out), "new\nold\n");
    assert_content(world, WORLD_ROOT, "old", "old");
}

/* ---- races ---- */

struct swapper {
    int dir_fd;
    atomic_bool is_over;
};

/* "d" is a directory, then a link that leads out, then a directory again. */
static void *swap(void *data)
{
    struct swapper *swapper = data;

    while (!atomic_load(&swapper->is_over))
        renameat2(swapper->dir_fd, "d", swapper->dir_fd, "l", RENAME_EXCHANGE);
    return NULL;
}

static void a_directory_that_is_swapped_for_a_link_leads_nowhere(void **state)
{
    struct world *world = *state;
    enum { TRIES = 1500 };
    const struct authority_write_options fast = {.is_unsynced = true};
    struct swapper swapper = {.dir_fd = world->fds[WORLD_ROOT]};
    struct authority_stat about;
    size_t entered = 0;
    pthread_t thread;

    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_ROOT, "d/f", "inside");
    plant(world, WORLD_ROOT, "spare", "spare");
    plant_dir(world, WORLD_OUTSIDE, "place");
    plant(world, WORLD_OUTSIDE, "place/f", "SECRET");
    plant(world, WORLD_OUTSIDE, "place/gone", "SECRET");
    plant_link(world, "l", "../outside/place");
    atomic_init(&swapper.is_over, false);
    assert_int_equal(pthread_create(&thread, NULL, swap, &swapper), 0);
    /* Longer where the other one stood still with the link in its place. */
    for (int i = 0; i < TRIES || entered == 0; i++) {
        struct authority_scope *scope = i % 2 == 0 ? world->scope : world->following;
        cleanup_buf struct buf out = BUF_INIT(1000);
        char name[32];

        entered += authority_read_bytes(scope, STR("d/f"), NULL, &out, NULL) == 0;
        assert_int_equal(str_find(buf_view(&out), STR("SECRET")), SIZE_MAX);
        snprintf(name, sizeof(name), "d/new%d", i);
        authority_write_bytes(scope, str_from(name), STR("x"), &fast, NULL);
        authority_remove(scope, str_from(name), NULL, NULL);
        authority_remove(scope, STR("d/gone"), NULL, NULL);
        snprintf(name, sizeof(name), "d/dir%d", i);
        authority_mkdir(scope, str_from(name), NULL, NULL);
        if (authority_move(scope, STR("spare"), STR("d/spare"), NULL, NULL) == 0)
            while (authority_move(scope, STR("d/spare"), STR("spare"), NULL, NULL) != 0)
                continue;
        authority_append(scope, STR("d/f"), STR_EMPTY, &fast, NULL);
    }
    atomic_store(&swapper.is_over, true);
    pthread_join(thread, NULL);
    assert_content(world, WORLD_OUTSIDE, "place/f", "SECRET");
    assert_content(world, WORLD_OUTSIDE, "place/gone", "SECRET");
    assert_true(look(world, WORLD_OUTSIDE, "place", &about, NULL));
    assert_int_equal(about.links, 2); /* no directory was made in it */
    {
        cleanup_buf struct buf out = BUF_INIT(100000);
        struct authority_request request = world_request(world);
        struct authority_scope *outside;

        request.root.path = world->paths[WORLD_OUTSIDE];
        outside = world_open(world, &request);
        assert_ok(world, authority_walk(outside, STR_EMPTY,
                                        &(struct authority_walk_options){.is_sorted = true},
                                        world_note_entry, &out, &world->err));
        assert_str(buf_view(&out), "place\nplace/f\nplace/gone\n");
        authority_scope_free(outside);
    }
}

static void a_tree_that_is_swapped_while_it_is_removed_is_left(void **state)
{
    struct world *world = *state;
    enum { TRIES = 60 };
    const struct authority_remove_options recursive = {.is_recursive = true};
    struct swapper swapper = {.dir_fd = world->fds[WORLD_ROOT]};
    pthread_t thread;

    plant_dir(world, WORLD_OUTSIDE, "place");
    plant(world, WORLD_OUTSIDE, "place/f", "SECRET");
    plant_link(world, "l", "../outside/place");
    atomic_init(&swapper.is_over, false);
    assert_int_equal(pthread_create(&thread, NULL, swap, &swapper), 0);
    for (int i = 0; i < TRIES; i++) {
        mkdirat(world->fds[WORLD_ROOT], "d", 0755);
        for (int k = 0; k < 20; k++) {
            char name[16];

            snprintf(name, sizeof(name), "d/%d", k);
            mkdirat(world->fds[WORLD_ROOT], name, 0755);
        }
        authority_remove(i % 2 == 0 ? world->scope : world->following, STR("d"), &recursive, NULL);
    }
    atomic_store(&swapper.is_over, true);
    pthread_join(thread, NULL);
    assert_content(world, WORLD_OUTSIDE, "place/f", "SECRET");
}

/* ---- watching ---- */

static void note_change(void *data, enum authority_change change, struct str name)
{
    static const char letters[] = {[AUTHORITY_CREATED] = '+',
                                   [AUTHORITY_CHANGED] = '*',
                                   [AUTHORITY_REMOVED] = '-',
                                   [AUTHORITY_RESCAN] = '!'};

    buf_append_char(data, letters[change]);
    buf_append_str(data, name);
    buf_append_char(data, ' ');
}

static void a_watch_tells_what_happens_in_its_directory(void **state)
{
    struct world *world = *state;
    cleanup_buf struct buf out = BUF_INIT(10000);
    struct authority_watch *watch = NULL;
    int fd = -1;

    plant_dir(world, WORLD_ROOT, "w");
    plant_dir(world, WORLD_ROOT, "w/below");
    assert_ok(world, authority_watch(world->scope, STR("w"), &watch, &fd, &world->err));
    assert_int_equal(authority_watch_read(watch, note_change, &out), 0);
    assert_int_equal(out.len, 0);
    assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0), 0);
    assert_ok(world, attempt_write(world, world->scope, STR("w/f")));
    assert_ok(world, attempt_write(world, world->scope, STR("w/f")));
    assert_ok(world, attempt_append(world, world->scope, STR("w/f")));
    assert_ok(world, attempt_remove(world, world->scope, STR("w/f")));
    assert_ok(world, attempt_write(world, world->scope, STR("w/below/deep")));
    assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, PATIENCE_MS), 1);
    assert_int_equal(authority_watch_read(watch, note_change, &out), 0);
    assert_true(str_starts_with(buf_view(&out), STR("+f ")));
    assert_true(str_find(buf_view(&out), STR("*f ")) != SIZE_MAX);
    assert_true(str_find(buf_view(&out), STR("-f ")) != SIZE_MAX);
    assert_int_equal(str_find(buf_view(&out), STR("deep")), SIZE_MAX);
    assert_int_equal(str_find(buf_view(&out), STR("gatehouse")), SIZE_MAX);
    authority_watch_free(watch);
    assert_int_equal(attempt_watch(world, world->scope, STR("none")), ERR_NOT_FOUND);
    assert_int_equal(attempt_watch(world, world->scope, STR("w/below/deep")), ERR_NOT_A_DIRECTORY);
}

TEST_MAIN(ON_DISK(what_a_killed_process_left_goes_with_the_next_start),
          ON_DISK(a_directory_that_is_swapped_for_a_link_leads_nowhere),
          ON_DISK(a_tree_that_is_swapped_while_it_is_removed_is_left),
          ON_DISK(a_watch_tells_what_happens_in_its_directory))
