/* SPDX-License-Identifier: Apache-2.0 */
/* Watches share inotify instances without affecting each other. */
#include "test.h"

#include <poll.h>
#include <sys/inotify.h>
#include <sys/syscall.h>

#include "authority/linux/journal_internal.h"
#include "inotify_queue.h"
#include "scene.h"

enum { MANY = 300, MAX_TEXT = 512 };

static const struct backend_lookup plainly;

/* "+name ", "~name ", "-name ", "! " */
struct told {
    size_t count;
    char text[MAX_TEXT];
};

struct ear {
    struct backend_watch *watch;
    int fd;
};

static struct world {
    struct scene scene; /* root/a and root/b are there */
    struct backend *backend;
    struct backend_root *root;
} world;

/* Right before and right after a directory is added to an instance. */
static struct {
    void (*before)(void *data);
    void (*after)(void *data);
    void *data;
} meanwhile;

/* SAFETY: takes the place of the libc's, which does the same call and nothing else. */
int add_watch_instead(int fd, const char *path, uint32_t mask) __asm__("inotify_add_watch");

int add_watch_instead(int fd, const char *path, uint32_t mask)
{
    void (*before)(void *data) = meanwhile.before;
    void (*after)(void *data) = meanwhile.after;
    int descriptor;

    meanwhile.before = meanwhile.after = NULL;
    if (before != NULL)
        before(meanwhile.data);
    descriptor = (int)syscall(SYS_inotify_add_watch, fd, path, mask);
    if (after != NULL)
        after(meanwhile.data);
    return descriptor;
}

static int world_make(void **state)
{
    char path[PATH_MAX];

    scene_make(&world.scene);
    make_dir(world.scene.fd, "root");
    make_dir(world.scene.fd, "root/a");
    make_dir(world.scene.fd, "root/b");
    assert_int_equal(linux_backend_new(NULL, false, &world.backend, NULL), 0);
    snprintf(path, sizeof(path), "%s/root", world.scene.path);
    assert_int_equal(linux_root_open(world.backend, path, &world.root), 0);
    memset(&meanwhile, 0, sizeof(meanwhile));
    *state = &world;
    return 0;
}

static int world_drop(void **state)
{
    (void)state;
    linux_root_close(world.root);
    world.backend->ops->free(world.backend);
    scene_drop(&world.scene);
    return 0;
}

static struct ear listen_to(const char *name)
{
    struct ear ear = {.fd = -1};

    assert_int_equal(linux_watch(world.root, &plainly, str_from(name), &ear.watch, &ear.fd), 0);
    return ear;
}

static void note(void *data, enum authority_change change, struct str name)
{
    struct told *told = data;
    size_t len = strlen(told->text);

    told->count++;
    snprintf(told->text + len, sizeof(told->text) - len, "%c%.*s ", "+~-!"[change], STR_ARG(name));
}

static bool is_readable(const struct ear *ear)
{
    return poll(&(struct pollfd){.fd = ear->fd, .events = POLLIN}, 1, 0) > 0;
}

static void expect(const struct ear *ear, const char *text)
{
    struct told told = {.count = 0};

    assert_int_equal(is_readable(ear) || text[0] == '\0', true);
    assert_int_equal(linux_watch_read(ear->watch, note, &told), 0);
    assert_string_equal(told.text, text);
    assert_false(is_readable(ear));
}

static void plant(const char *directory, const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    assert_int_equal(mknodat(world.root->fd, path, S_IFREG | 0644, 0), 0);
}

/* Descriptors of this process that are called so. */
static size_t count_open(const char *kind)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char target[PATH_MAX];
        ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

        if (len > 0) {
            target[len] = '\0';
            count += strstr(target, kind) != NULL;
        }
    }
    closedir(dir);
    return count;
}

static void hundreds_of_watches_have_few_instances(void **state)
{
    static struct ear ears[MANY];
    char name[32];

    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "d%zu", i);
        make_dir(world.root->fd, name);
        ears[i] = listen_to(name);
    }
    assert_true(count_open("inotify") <= 3);
    for (size_t i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "d%zu", i);
        plant(name, "new");
    }
    for (size_t i = 0; i < MANY; i++)
        expect(&ears[i], "+new ");
    /* Every second one goes, and the others do not miss it. */
    for (size_t i = 0; i < MANY; i += 2)
        linux_watch_free(ears[i].watch);
    for (size_t i = 1; i < MANY; i += 2) {
        snprintf(name, sizeof(name), "d%zu", i);
        plant(name, "later");
    }
    for (size_t i = 1; i < MANY; i += 2) {
        expect(&ears[i], "+later ");
        linux_watch_free(ears[i].watch);
    }
    assert_int_equal(count_open("inotify"), 0);
    assert_int_equal(count_open("eventpoll"), 0);
    assert_int_equal(count_open("eventfd"), 0);
}

static void two_watches_of_one_directory_both_hear_and_end_apart(void **state)
{
    struct ear first = listen_to("a");
    struct ear second = listen_to("a");

    (void)state;
    plant("a", "one");
    assert_true(is_readable(&first));
    expect(&second, "+one ");
    expect(&first, "+one ");
    linux_watch_free(first.watch);
    plant("a", "two");
    expect(&second, "+two ");
    /* Of a third nothing was taken away with the first. */
    first = listen_to("a");
    linux_watch_free(second.watch);
    plant("a", "three");
    expect(&first, "+three ");
    linux_watch_free(first.watch);
}

static void what_another_reader_took_is_kept_and_can_be_polled(void **state)
{
    struct ear a = listen_to("a");
    struct ear b = listen_to("b");

    (void)state;
    plant("b", "one");
    expect(&a, "");
    plant("b", "two");
    expect(&a, "");
    assert_false(is_readable(&a));
    expect(&b, "+one +two ");
    /* What was left for one that is freed goes with it. */
    plant("b", "three");
    expect(&a, "");
    linux_watch_free(b.watch);
    plant("b", "four");
    plant("a", "five");
    expect(&a, "+five ");
    linux_watch_free(a.watch);
}

static void what_was_before_a_watch_is_not_told_to_it(void **state)
{
    struct ear first = listen_to("a");
    struct ear second;

    (void)state;
    plant("a", "before");
    second = listen_to("a");
    expect(&second, "");
    plant("a", "after");
    expect(&second, "+after ");
    expect(&first, "+before +after ");
    linux_watch_free(first.watch);
    linux_watch_free(second.watch);
}

static void news_that_nobody_reads_become_a_look_at_everything(void **state)
{
    /* Of 64 KB, of which a name and its head take at least these. */
    enum { ENOUGH = (64 << 10) / 6 };
    struct ear a = listen_to("a");
    struct ear b = listen_to("b");
    struct told told;

    (void)state;
    for (int i = 0; i < ENOUGH; i++) {
        char name[32];

        snprintf(name, sizeof(name), "b/f%05d", i);
        assert_int_equal(mkdirat(world.root->fd, name, 0755), 0);
        told = (struct told){.count = 0};
        if (i % 100 == 0)
            assert_int_equal(linux_watch_read(a.watch, note, &told), 0);
        assert_int_equal(told.count, 0);
    }
    expect(&a, "");
    expect(&b, "! ");
    plant("b", "later");
    expect(&b, "+later ");
    linux_watch_free(a.watch);
    linux_watch_free(b.watch);
}

static void what_the_system_lost_is_told_to_all(void **state)
{
    struct ear a = listen_to("a");
    struct ear b = listen_to("b");
    int64_t length = queue_length();
    struct told told = {.count = 0};

    (void)state;
    if (length <= 0 || length > MAX_QUEUE) {
        linux_watch_free(a.watch);
        linux_watch_free(b.watch);
        skip_because("the queue holds %lld events, too many to fill", (long long)length);
    }
    plant("a", "x");
    plant("a", "y");
    for (int64_t i = 0; i <= length; i++)
        assert_int_equal(
            fchmodat(world.root->fd, i % 2 == 0 ? "a/x" : "a/y", 0600 + (mode_t)(i & 4), 0), 0);
    while (is_readable(&a))
        assert_int_equal(linux_watch_read(a.watch, note, &told), 0);
    expect(&b, "! ");
    linux_watch_free(a.watch);
    linux_watch_free(b.watch);
}

static void a_directory_that_moves_ends_all_its_watches_and_no_later_one(void **state)
{
    struct ear first = listen_to("a");
    struct ear second = listen_to("a");
    struct ear other = listen_to("b");
    struct ear later;

    (void)state;
    assert_int_equal(renameat(world.root->fd, "a", world.root->fd, "moved"), 0);
    later = listen_to("moved");
    plant("moved", "one");
    plant("b", "two");
    expect(&first, "! ");
    expect(&later, "+one ");
    expect(&second, "! ");
    expect(&other, "+two ");
    /* Those that are over do not take it away. */
    linux_watch_free(first.watch);
    linux_watch_free(second.watch);
    plant("moved", "three");
    expect(&later, "+three ");
    linux_watch_free(later.watch);
    linux_watch_free(other.watch);
}

/* ---- while one is being added ---- */

struct busy {
    struct ear ear;
    struct ear other;
};

/* All that needs the lock; a file system that hangs would hold the one who adds here for good. */
static void use_others(void *data)
{
    struct busy *busy = data;

    plant("b", "while");
    expect(&busy->other, "+while ");
    linux_watch_free(busy->ear.watch);
    busy->ear = listen_to("a");
    expect(&busy->ear, "");
}

static void others_go_on_while_adding_hangs(void **state)
{
    struct busy busy = {.ear = listen_to("a"), .other = listen_to("b")};
    struct ear added;

    (void)state;
    meanwhile.before = use_others;
    meanwhile.data = &busy;
    added = listen_to("a");
    plant("a", "x");
    expect(&added, "+x ");
    expect(&busy.ear, "+x ");
    linux_watch_free(added.watch);
    linux_watch_free(busy.ear.watch);
    linux_watch_free(busy.other.watch);
}

static void free_ear(void *data)
{
    linux_watch_free(((struct busy *)data)->ear.watch);
}

/* A watch ends while another of the same directory is added, which hears all the same. */
static void add_while(void (*it_ends)(void *data))
{
    struct busy busy = {.ear = listen_to("a")};
    struct ear added;

    meanwhile.after = it_ends;
    meanwhile.data = &busy;
    added = listen_to("a");
    plant("a", "x");
    expect(&added, "+x ");
    linux_watch_free(added.watch);
    assert_int_equal(count_open("inotify"), 0);
}

static void the_last_of_a_directory_may_go_while_another_comes(void **state)
{
    (void)state;
    add_while(free_ear);
}

/* More than are remembered. */
static void come_and_go(void *data)
{
    free_ear(data);
    for (int i = 0; i < 100; i++)
        linux_watch_free(listen_to("b").watch);
}

static void many_may_come_and_go_meanwhile(void **state)
{
    (void)state;
    add_while(come_and_go);
}

static void move_and_read(void *data)
{
    struct busy *busy = data;

    assert_int_equal(renameat(world.root->fd, "a", world.root->fd, "moved"), 0);
    expect(&busy->other, "");
}

/* The event was somebody else's to read before the watch was there. */
static void a_directory_that_moves_while_it_is_added_is_not_watched(void **state)
{
    struct busy busy = {.other = listen_to("b")};
    struct ear added = {.fd = -1};

    (void)state;
    meanwhile.after = move_and_read;
    meanwhile.data = &busy;
    assert_int_equal(linux_watch(world.root, &plainly, STR("a"), &added.watch, &added.fd),
                     ERR_NOT_FOUND);
    linux_watch_free(busy.other.watch);
    assert_int_equal(count_open("inotify"), 0);
}

static void what_cannot_be_watched_leaves_nothing(void **state)
{
    struct ear ear = {.fd = -5};

    (void)state;
    plant("a", "file");
    assert_int_equal(linux_watch(world.root, &plainly, STR("a/file"), &ear.watch, &ear.fd),
                     ERR_NOT_A_DIRECTORY);
    assert_int_equal(linux_watch(world.root, &plainly, STR("none"), &ear.watch, &ear.fd),
                     ERR_NOT_FOUND);
    assert_null(ear.watch);
    assert_int_equal(ear.fd, -5);
    assert_int_equal(count_open("inotify"), 0);
    assert_int_equal(count_open("eventpoll"), 0);
}

#define with_world(test) cmocka_unit_test_setup_teardown(test, world_make, world_drop)

TEST_MAIN(with_world(hundreds_of_watches_have_few_instances),
          with_world(two_watches_of_one_directory_both_hear_and_end_apart),
          with_world(what_another_reader_took_is_kept_and_can_be_polled),
          with_world(what_was_before_a_watch_is_not_told_to_it),
          with_world(news_that_nobody_reads_become_a_look_at_everything),
          with_world(what_the_system_lost_is_told_to_all),
          with_world(a_directory_that_moves_ends_all_its_watches_and_no_later_one),
          with_world(others_go_on_while_adding_hangs),
          with_world(the_last_of_a_directory_may_go_while_another_comes),
          with_world(many_may_come_and_go_meanwhile),
          with_world(a_directory_that_moves_while_it_is_added_is_not_watched),
          with_world(what_cannot_be_watched_leaves_nothing))
