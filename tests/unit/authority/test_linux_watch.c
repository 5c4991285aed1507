/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <poll.h>

#include "authority/linux/journal_internal.h"
#include "inotify_queue.h"
#include "scene.h"

enum { MAX_NEWS = 64 };

static const struct backend_lookup plainly;

struct world {
    struct scene scene; /* root/dir is watched */
    struct backend *backend;
    struct backend_root *root;
    struct backend_watch *watch;
    int fd;
    int dir;
    /* "+name", "~name", "-name", "!" */
    char news[MAX_NEWS][64];
    size_t count;
    size_t rescans;
};

static int world_make(void **state)
{
    static struct world world;
    char path[PATH_MAX];

    world = (struct world){.fd = -1};
    scene_make(&world.scene);
    make_dir(world.scene.fd, "root");
    make_dir(world.scene.fd, "root/dir");
    assert_int_equal(linux_backend_new(NULL, false, &world.backend, NULL), 0);
    snprintf(path, sizeof(path), "%s/root", world.scene.path);
    assert_int_equal(linux_root_open(world.backend, path, &world.root), 0);
    assert_int_equal(linux_watch(world.root, &plainly, STR("dir"), &world.watch, &world.fd), 0);
    world.dir = openat(world.root->fd, "dir", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = &world;
    return 0;
}

static int world_drop(void **state)
{
    struct world *world = *state;

    linux_watch_free(world->watch);
    linux_root_close(world->root);
    world->backend->ops->free(world->backend);
    close(world->dir);
    scene_drop(&world->scene);
    return 0;
}

static void note(void *data, enum authority_change change, struct str name)
{
    struct world *world = data;

    world->rescans += change == AUTHORITY_RESCAN;
    if (world->count < MAX_NEWS)
        snprintf(world->news[world->count], sizeof(world->news[0]), "%c%.*s", "+~-!"[change],
                 STR_ARG(name));
    world->count++;
}

static bool is_readable(const struct world *world)
{
    struct pollfd poll_fd = {.fd = world->fd, .events = POLLIN};

    return poll(&poll_fd, 1, 0) > 0;
}

/* Reads what has come and compares it, word by word. */
static void expect(struct world *world, const char *words)
{
    char told[MAX_NEWS * 64] = "";
    size_t len = 0;

    world->count = 0;
    assert_int_equal(linux_watch_read(world->watch, note, world), 0);
    assert_true(world->count <= MAX_NEWS);
    for (size_t i = 0; i < world->count; i++)
        len += (size_t)snprintf(told + len, sizeof(told) - len, "%s%s", i > 0 ? " " : "",
                                world->news[i]);
    assert_string_equal(told, words);
    assert_false(is_readable(world));
}

static void creating_changing_and_removing_are_told(void **state)
{
    struct world *world = *state;
    int fd;

    expect(world, "");
    make_file(world->dir, "file", "text");
    assert_true(is_readable(world));
    expect(world, "+file ~file");
    assert_int_equal(fchmodat(world->dir, "file", 0600, 0), 0);
    expect(world, "~file");
    /* Also without anybody closing it. */
    fd = openat(world->dir, "file", O_WRONLY | O_APPEND | O_CLOEXEC);
    expect(world, "");
    assert_int_equal(write(fd, "more", 4), 4);
    expect(world, "~file");
    assert_int_equal(ftruncate(fd, 0), 0);
    expect(world, "~file");
    close(fd);
    expect(world, "~file");
    make_dir(world->dir, "sub");
    expect(world, "+sub");
    /* Only what is directly in it. */
    make_file(world->dir, "sub/deeper", "x");
    expect(world, "");
    assert_int_equal(unlinkat(world->dir, "sub/deeper", 0), 0);
    assert_int_equal(unlinkat(world->dir, "sub", AT_REMOVEDIR), 0);
    assert_int_equal(unlinkat(world->dir, "file", 0), 0);
    expect(world, "-sub -file");
}

static void renames_are_told_as_both_their_ends(void **state)
{
    struct world *world = *state;

    make_file(world->dir, "one", "x");
    make_file(world->root->fd, "elsewhere", "x");
    expect(world, "+one ~one");
    assert_int_equal(renameat(world->dir, "one", world->dir, "two"), 0);
    expect(world, "-one +two");
    assert_int_equal(renameat(world->root->fd, "elsewhere", world->dir, "in"), 0);
    expect(world, "+in");
    assert_int_equal(renameat(world->dir, "two", world->root->fd, "out"), 0);
    expect(world, "-two");
}

static void our_own_temporary_names_are_not_told(void **state)
{
    struct world *world = *state;
    char name[LINUX_TEMP_NAME_BYTES];

    linux_temp_name(name);
    make_file(world->dir, name, "half");
    assert_int_equal(renameat(world->dir, name, world->dir, "file"), 0);
    expect(world, "+file");
    make_file(world->dir, ".gatehouse-notes", "the user's own");
    expect(world, "+.gatehouse-notes ~.gatehouse-notes");
}

static void the_root_itself_can_be_watched(void **state)
{
    struct world *world = *state;
    int fd;

    linux_watch_free(world->watch);
    assert_int_equal(linux_watch(world->root, &plainly, STR_EMPTY, &world->watch, &fd), 0);
    world->fd = fd;
    make_dir(world->root->fd, "new");
    expect(world, "+new");
}

static void only_directories_in_the_root_can_be_watched(void **state)
{
    struct world *world = *state;
    struct backend_watch *watch = NULL;
    int fd = -5;

    make_file(world->root->fd, "file", "x");
    make_dir(world->scene.fd, "outside");
    assert_int_equal(symlinkat("../outside", world->root->fd, "link"), 0);
    assert_int_equal(linux_watch(world->root, &plainly, STR("file"), &watch, &fd),
                     ERR_NOT_A_DIRECTORY);
    assert_int_equal(linux_watch(world->root, &plainly, STR("link"), &watch, &fd),
                     ERR_SYMLINK_REJECTED);
    assert_int_equal(linux_watch(world->root, &plainly, STR("none"), &watch, &fd), ERR_NOT_FOUND);
    assert_null(watch);
    assert_int_equal(fd, -5);
}

static void a_directory_that_is_removed_ends_the_watch(void **state)
{
    struct world *world = *state;

    close(world->dir);
    assert_int_equal(unlinkat(world->root->fd, "dir", AT_REMOVEDIR), 0);
    expect(world, "!");
    make_dir(world->root->fd, "dir");
    world->dir = openat(world->root->fd, "dir", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    make_file(world->dir, "file", "x");
    expect(world, "");
}

static void a_directory_that_is_moved_away_tells_no_more(void **state)
{
    struct world *world = *state;

    make_file(world->dir, "before", "");
    assert_int_equal(renameat(world->root->fd, "dir", world->scene.fd, "away"), 0);
    make_file(world->dir, "secret", "x");
    expect(world, "+before ~before !");
    make_file(world->dir, "another", "x");
    expect(world, "");
}

static void lost_events_are_told_and_a_call_ends(void **state)
{
    struct world *world = *state;
    int64_t length = queue_length();
    size_t calls = 0;

    if (length <= 0 || length > MAX_QUEUE)
        skip_because("the queue holds %lld events, too many to fill", (long long)length);
    make_file(world->dir, "a", "");
    make_file(world->dir, "b", "");
    /* In turn, since the kernel tells the same thing twice in a row once. */
    for (int64_t i = 0; i < length; i++)
        assert_int_equal(fchmodat(world->dir, i % 2 == 0 ? "a" : "b", 0600 + (mode_t)(i & 4), 0),
                         0);
    while (is_readable(world)) {
        world->count = 0;
        assert_int_equal(linux_watch_read(world->watch, note, world), 0);
        /* Sixteen batches of 16 KB; an event has at least 16 bytes and a name. */
        assert_true(world->count <= 16 * 512);
        calls++;
    }
    assert_true(calls > 1);
    assert_int_equal(world->rescans, 1);
    /* It goes on after that. */
    make_dir(world->dir, "later");
    expect(world, "+later");
}

#define with_world(test) cmocka_unit_test_setup_teardown(test, world_make, world_drop)

TEST_MAIN(with_world(creating_changing_and_removing_are_told),
          with_world(renames_are_told_as_both_their_ends),
          with_world(our_own_temporary_names_are_not_told),
          with_world(the_root_itself_can_be_watched),
          with_world(only_directories_in_the_root_can_be_watched),
          with_world(a_directory_that_is_removed_ends_the_watch),
          with_world(a_directory_that_is_moved_away_tells_no_more),
          with_world(lost_events_are_told_and_a_call_ends))
