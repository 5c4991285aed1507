/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "own_mounts.h"
#include "scene.h"

enum { ENOUGH = 1000000, RACE_MS = 2000, NOBODY = 65534 };

static const struct backend_lookup plainly;

struct world {
    struct scene scene; /* root/ is the root, outside/ is not */
    struct backend *backend;
    struct backend_root *root;
};

static int world_make(void **state)
{
    static struct world world;
    char path[PATH_MAX];

    scene_make(&world.scene);
    make_dir(world.scene.fd, "root");
    make_dir(world.scene.fd, "outside");
    make_file(world.scene.fd, "outside/sentinel", "precious");
    assert_int_equal(linux_backend_new(NULL, false, &world.backend, NULL), 0);
    snprintf(path, sizeof(path), "%s/root", world.scene.path);
    assert_int_equal(linux_root_open(world.backend, path, &world.root), 0);
    *state = &world;
    return 0;
}

static int world_drop(void **state)
{
    struct world *world = *state;

    linux_root_close(world->root);
    world->backend->ops->free(world->backend);
    scene_drop(&world->scene);
    return 0;
}

static int remove_plain(struct world *world, const char *name)
{
    return linux_remove(world->root, &plainly, str_from(name), false, ENOUGH);
}

static int remove_all(struct world *world, const char *name)
{
    return linux_remove(world->root, &plainly, str_from(name), true, ENOUGH);
}

static void files_links_and_empty_directories_go_one_by_one(void **state)
{
    struct world *world = *state;
    int fd = world->root->fd;

    make_file(fd, "file", "x");
    make_dir(fd, "dir");
    assert_int_equal(mkfifoat(fd, "fifo", 0600), 0);
    assert_int_equal(symlinkat("../outside", fd, "link"), 0);
    assert_int_equal(symlinkat("nowhere", fd, "dangling"), 0);
    assert_int_equal(remove_plain(world, "file"), 0);
    assert_int_equal(remove_plain(world, "dir"), 0);
    assert_int_equal(remove_plain(world, "fifo"), 0);
    assert_int_equal(remove_plain(world, "link"), 0);
    assert_int_equal(remove_all(world, "dangling"), 0);
    assert_int_equal(count_entries(fd, "."), 0);
    assert_true(is_there(world->scene.fd, "outside/sentinel"));
    assert_int_equal(remove_plain(world, "file"), ERR_NOT_FOUND);
    assert_int_equal(remove_all(world, "file"), ERR_NOT_FOUND);
}

static void a_directory_with_entries_needs_the_recursive_form(void **state)
{
    struct world *world = *state;
    int fd = world->root->fd;

    make_dir(fd, "dir");
    make_file(fd, "dir/file", "x");
    assert_int_equal(remove_plain(world, "dir"), ERR_NOT_EMPTY);
    assert_true(is_there(fd, "dir/file"));
    assert_int_equal(remove_all(world, "dir"), 0);
    assert_false(is_there(fd, "dir"));
}

static void the_root_and_what_leads_up_are_refused(void **state)
{
    struct world *world = *state;
    uint64_t budget = ENOUGH;
    static const char *const names[] = {"", ".", "..", "../outside", "dir/..", "dir/file"};

    make_dir(world->root->fd, "dir");
    make_file(world->root->fd, "dir/file", "x");
    assert_int_equal(remove_plain(world, ""), ERR_ROOT_PROTECTED);
    assert_int_equal(remove_all(world, ""), ERR_ROOT_PROTECTED);
    assert_true(remove_all(world, "..") < 0);
    assert_true(remove_all(world, "dir/..") < 0);
    for (size_t i = 0; i < array_size(names); i++)
        assert_int_equal(linux_remove_tree(world->root->fd, names[i], &budget, NULL),
                         ERR_INVALID_PATH);
    assert_true(is_there(world->root->fd, "dir/file"));
    assert_true(is_there(world->scene.fd, "outside/sentinel"));
}

static void links_in_a_tree_go_and_what_they_lead_to_stays(void **state)
{
    struct world *world = *state;
    int fd = world->root->fd;

    make_dir(fd, "tree");
    make_dir(fd, "tree/sub");
    assert_int_equal(symlinkat("../../../outside", fd, "tree/sub/out"), 0);
    assert_int_equal(symlinkat("/", fd, "tree/slash"), 0);
    assert_int_equal(symlinkat(".", fd, "tree/self"), 0);
    assert_int_equal(symlinkat("../../../outside/sentinel", fd, "tree/sub/file"), 0);
    assert_int_equal(remove_all(world, "tree"), 0);
    assert_false(is_there(fd, "tree"));
    assert_true(is_there(world->scene.fd, "outside/sentinel"));
}

static void one_of_several_names_can_go(void **state)
{
    struct world *world = *state;
    struct stat about;

    assert_int_equal(linkat(world->scene.fd, "outside/sentinel", world->root->fd, "second", 0), 0);
    assert_int_equal(remove_plain(world, "second"), 0);
    assert_int_equal(fstatat(world->scene.fd, "outside/sentinel", &about, 0), 0);
    assert_int_equal(about.st_nlink, 1);
    assert_int_equal(about.st_size, 8);
}

/* Makes a/a/a…, `depth` below fd, each with a file. */
static void make_deep(int fd, unsigned depth)
{
    int at = dup(fd);

    for (unsigned i = 0; i < depth; i++) {
        int next;

        make_dir(at, "a");
        make_file(at, "file", "x");
        next = openat(at, "a", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        close(at);
        at = next;
    }
    close(at);
}

static size_t count_descriptors(void)
{
    return count_entries(AT_FDCWD, "/proc/self/fd");
}

static void trees_of_any_depth_go_with_few_descriptors(void **state)
{
    struct world *world = *state;
    int fd = world->root->fd;
    int tree;

    make_dir(fd, "tree");
    tree = openat(fd, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    make_deep(tree, 3000); /* over PATH_MAX, over the usual limit of descriptors */
    close(tree);
    {
        size_t before = count_descriptors();

        assert_int_equal(remove_all(world, "tree"), 0);
        assert_int_equal(count_descriptors(), before);
    }
    assert_int_equal(count_entries(fd, "."), 0);
}

static void wide_directories_go_whole(void **state)
{
    struct world *world = *state;
    int fd = world->root->fd;
    char name[300];

    make_dir(fd, "wide");
    for (unsigned i = 0; i < 1500; i++) {
        /* Short names and names of the greatest length, directories among them. */
        snprintf(name, sizeof(name), "wide/%0*u", i % 3 == 0 ? 255 : 4, i);
        if (i % 5 == 0)
            make_dir(fd, name);
        else
            make_file(fd, name, "");
    }
    assert_int_equal(remove_all(world, "wide"), 0);
    assert_false(is_there(fd, "wide"));
}

static void the_budget_counts_every_entry(void **state)
{
    struct world *world = *state;
    int fd = world->root->fd;

    /* The tree itself and 20 more. */
    make_dir(fd, "tree");
    for (unsigned i = 0; i < 10; i++) {
        char name[32];

        snprintf(name, sizeof(name), "tree/%u", i);
        make_dir(fd, name);
        snprintf(name, sizeof(name), "tree/%u/file", i);
        make_file(fd, name, "x");
    }
    assert_int_equal(linux_remove(world->root, &plainly, STR("tree"), true, 0), ERR_TOO_LARGE);
    assert_int_equal(count_entries(fd, "tree"), 10);
    assert_int_equal(linux_remove(world->root, &plainly, STR("tree"), true, 6), ERR_TOO_LARGE);
    assert_true(is_there(fd, "tree"));
    assert_true(count_entries(fd, "tree") >= 7);
    assert_int_equal(linux_remove(world->root, &plainly, STR("tree"), true, 21), 0);
    assert_false(is_there(fd, "tree"));
}

static void the_exact_budget_is_enough(void **state)
{
    struct world *world = *state;
    int fd = world->root->fd;

    make_dir(fd, "tree");
    make_dir(fd, "tree/sub");
    make_file(fd, "tree/sub/file", "x");
    make_file(fd, "tree/file", "x");
    assert_int_equal(linux_remove(world->root, &plainly, STR("tree"), true, 4), 0);
}

static void a_cancelled_removal_stops(void **state)
{
    struct world *world = *state;
    struct backend_lookup lookup = plainly;
    struct cancel cancel;
    uint64_t budget = ENOUGH;

    make_dir(world->root->fd, "tree");
    make_file(world->root->fd, "tree/file", "x");
    cancel_init(&cancel, &clock_system, CANCEL_NO_DEADLINE);
    cancel_now(&cancel);
    lookup.cancel = &cancel;
    assert_int_equal(linux_remove(world->root, &lookup, STR("tree"), true, ENOUGH), ERR_CANCELLED);
    assert_int_equal(linux_remove_tree(world->root->fd, "tree", &budget, &cancel), ERR_CANCELLED);
    assert_true(is_there(world->root->fd, "tree/file"));
}

/* ---- mounts ---- */

/* In a child with mounts of its own: bind outside into the tree, and try. */
static int try_across_mounts(struct world *world)
{
    char source[PATH_MAX];
    char target[PATH_MAX];
    int fd = world->root->fd;
    uint64_t budget = ENOUGH;

    snprintf(source, sizeof(source), "%s/outside", world->scene.path);
    snprintf(target, sizeof(target), "%s/root/tree/sub/mount", world->scene.path);
    if (mount(source, target, NULL, MS_BIND, NULL) < 0)
        return 9;
    if (remove_all(world, "tree") != ERR_CROSSES_MOUNT)
        return 1;
    if (linux_remove_tree(fd, "tree", &budget, NULL) != ERR_CROSSES_MOUNT)
        return 2;
    if (remove_plain(world, "tree/sub/mount") != ERR_CROSSES_MOUNT ||
        remove_all(world, "tree/sub/mount") != ERR_CROSSES_MOUNT)
        return 3;
    if (!is_there(fd, "tree/sub/mount/sentinel"))
        return 4;
    /* A file over a file. */
    snprintf(source, sizeof(source), "%s/outside/sentinel", world->scene.path);
    snprintf(target, sizeof(target), "%s/root/tree/sub/file", world->scene.path);
    /* What came before the mount may have gone. */
    make_file(fd, "tree/sub/file", "x");
    if (mount(source, target, NULL, MS_BIND, NULL) < 0)
        return 9;
    if (remove_plain(world, "tree/sub/file") != ERR_CROSSES_MOUNT ||
        remove_all(world, "tree/sub/file") != ERR_CROSSES_MOUNT ||
        remove_all(world, "tree") != ERR_CROSSES_MOUNT)
        return 5;
    return is_there(world->scene.fd, "outside/sentinel") ? 0 : 6;
}

static void what_is_mounted_inside_is_not_touched(void **state)
{
    struct world *world = *state;
    int status;
    pid_t child;

    require_mounts();
    make_dir(world->root->fd, "tree");
    make_dir(world->root->fd, "tree/sub");
    make_dir(world->root->fd, "tree/sub/mount");
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        /* The root is opened again: a descriptor from before sees the mounts from before. */
        char path[PATH_MAX];
        int r;

        if (!enter_own_mounts())
            _exit(8);
        linux_root_close(world->root);
        snprintf(path, sizeof(path), "%s/root", world->scene.path);
        r = linux_root_open(world->backend, path, &world->root);
        _exit(r < 0 ? 7 : try_across_mounts(world));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(is_there(world->scene.fd, "outside/sentinel"));
}

/* ---- permissions ---- */

/* Without root's privileges; 0 or the step that failed. */
static int try_without_permission(struct world *world)
{
    int fd = world->root->fd;
    uint64_t budget = ENOUGH;

    if (geteuid() == 0 &&
        (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0))
        return 77;
    if (mkdirat(fd, "tree", 0755) < 0 || mkdirat(fd, "tree/closed", 0755) < 0 ||
        mkdirat(fd, "tree/closed/inner", 0755) < 0 || mkdirat(fd, "tree/fixed", 0755) < 0 ||
        mkdirat(fd, "tree/fixed/inner", 0755) < 0 || mkdirat(fd, "empty", 0) < 0)
        return 1;
    if (fchmodat(fd, "tree/closed", 0, 0) < 0 || fchmodat(fd, "tree/fixed", 0555, 0) < 0)
        return 2;
    /* Nobody asked for permissions to be changed. */
    if (remove_all(world, "tree") != ERR_PERMISSION_DENIED)
        return 3;
    if (!is_there(fd, "tree"))
        return 4;
    /* An empty one needs no look inside. */
    if (remove_all(world, "empty") != 0 || is_there(fd, "empty"))
        return 5;
    /* What we made ourselves goes all the same. */
    if (linux_remove_tree(fd, "tree", &budget, NULL) != 0 || is_there(fd, "tree"))
        return 6;
    return 0;
}

static void permissions_stop_a_removal_but_not_of_our_own(void **state)
{
    struct world *world = *state;
    int status;
    pid_t child;

    assert_int_equal(fchmod(world->scene.fd, 0711), 0);
    assert_int_equal(fchmod(world->root->fd, 0777), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(try_without_permission(world));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip_because("cannot become another user");
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- between two steps ---- */

/*
 * Stands in for the libc's, so that something can happen at the worst moment:
 * when entries have been read and nothing was done with them yet.
 */
static struct {
    struct world *world;
    unsigned calls;
    unsigned at; /* the call after which it happens */
    void (*happen)(struct world *world);
    bool is_blind; /* directories seem empty */
} between;

ssize_t getdents64(int fd, void *buffer, size_t length)
{
    ssize_t got = syscall(SYS_getdents64, fd, buffer, length);

    between.calls++;
    if (between.happen != NULL && between.calls == between.at)
        between.happen(between.world);
    return between.is_blind ? 0 : got;
}

static void happens(struct world *world, unsigned at, void (*happen)(struct world *world))
{
    memset(&between, 0, sizeof(between));
    between.world = world;
    between.at = at;
    between.happen = happen;
}

static int happens_no_more(void **state)
{
    memset(&between, 0, sizeof(between));
    return world_drop(state);
}

static void put_link_for_victim(struct world *world)
{
    int scene = world->scene.fd;

    assert_int_equal(renameat(scene, "root/tree/victim", scene, "parked"), 0);
    assert_int_equal(symlinkat("../../outside", scene, "root/tree/victim"), 0);
}

static void a_link_put_for_a_directory_is_what_goes(void **state)
{
    struct world *world = *state;

    make_dir(world->root->fd, "tree");
    make_dir(world->root->fd, "tree/victim");
    make_file(world->root->fd, "tree/victim/kept", "moved away in time");
    happens(world, 1, put_link_for_victim);
    assert_int_equal(remove_all(world, "tree"), 0);
    assert_true(between.calls > 1);
    assert_false(is_there(world->root->fd, "tree"));
    assert_true(is_there(world->scene.fd, "outside/sentinel"));
    assert_true(is_there(world->scene.fd, "parked/kept"));
}

/* The directory above it, so that the victim itself has not moved. */
static void take_out_of_the_tree(struct world *world)
{
    int scene = world->scene.fd;

    assert_int_equal(renameat(scene, "root/tree/upper", scene, "taken"), 0);
    /* The name is not enough. */
    make_dir(scene, "root/tree/upper");
}

static void what_has_left_the_tree_is_left_alone(void **state)
{
    enum { FILES = 500, ONE_BATCH = 100 };
    struct world *world = *state;
    int fd = world->root->fd;

    make_dir(fd, "tree");
    make_dir(fd, "tree/upper");
    make_dir(fd, "tree/upper/victim");
    for (unsigned i = 0; i < FILES; i++) {
        char name[64];

        snprintf(name, sizeof(name), "tree/upper/victim/%04u", i);
        make_file(fd, name, "");
    }
    /* tree, upper, and the first batch of victim. */
    happens(world, 3, take_out_of_the_tree);
    assert_int_equal(remove_all(world, "tree"), 0);
    assert_false(is_there(fd, "tree"));
    /* What had been read is lost, and no more. */
    assert_true(is_there(world->scene.fd, "taken/victim"));
    assert_in_range(count_entries(world->scene.fd, "taken/victim"), FILES - ONE_BATCH, FILES);
}

static void take_the_whole_tree(struct world *world)
{
    assert_int_equal(renameat(world->scene.fd, "root/tree", world->scene.fd, "taken"), 0);
}

static void a_tree_that_leaves_is_not_found(void **state)
{
    struct world *world = *state;

    make_dir(world->root->fd, "tree");
    make_dir(world->root->fd, "tree/sub");
    make_file(world->root->fd, "tree/sub/file", "x");
    happens(world, 1, take_the_whole_tree);
    assert_int_equal(remove_all(world, "tree"), ERR_NOT_FOUND);
    assert_true(is_there(world->scene.fd, "taken/sub/file"));
}

static void put_file_for_victim(struct world *world)
{
    int scene = world->scene.fd;

    assert_int_equal(unlinkat(scene, "root/tree/victim", AT_REMOVEDIR), 0);
    make_file(scene, "root/tree/victim", "x");
    make_dir(scene, "root/tree/late");
    make_file(scene, "root/tree/late/file", "x");
}

static void what_changes_or_comes_late_goes_in_another_pass(void **state)
{
    struct world *world = *state;

    make_dir(world->root->fd, "tree");
    make_dir(world->root->fd, "tree/victim");
    happens(world, 1, put_file_for_victim);
    assert_int_equal(remove_all(world, "tree"), 0);
    assert_false(is_there(world->root->fd, "tree"));
}

static void passes_that_find_nothing_come_to_an_end(void **state)
{
    struct world *world = *state;

    make_dir(world->root->fd, "tree");
    make_file(world->root->fd, "tree/file", "x");
    happens(world, 0, NULL);
    between.is_blind = true;
    assert_int_equal(linux_remove(world->root, &plainly, STR("tree"), true, 1000), ERR_TOO_LARGE);
    assert_in_range(between.calls, 1, 1001);
}

/* ---- races ---- */

struct rival {
    struct world *world;
    atomic_bool is_over;
    atomic_ulong rounds;
};

/* Moves a directory of the tree out and in, and puts a link to the outside in its place. */
static void *swap_with_link(void *data)
{
    struct rival *rival = data;
    int scene = rival->world->scene.fd;

    while (!atomic_load(&rival->is_over)) {
        (void)!symlinkat("../../outside", scene, "link");
        (void)!renameat(scene, "root/tree/victim", scene, "parked");
        (void)!renameat(scene, "link", scene, "root/tree/victim");
        (void)!unlinkat(scene, "root/tree/victim", 0);
        (void)!renameat(scene, "parked", scene, "root/tree/victim");
        (void)!renameat2(scene, "root/tree/victim", scene, "root/tree/other", RENAME_EXCHANGE);
        (void)!unlinkat(scene, "link", 0);
        rival->rounds++;
    }
    return NULL;
}

static void build_victim(int fd)
{
    (void)!mkdirat(fd, "tree", 0755);
    (void)!mkdirat(fd, "tree/victim", 0755);
    (void)!mkdirat(fd, "tree/victim/deep", 0755);
    (void)!symlinkat("../../outside", fd, "tree/other");
    for (int i = 0; i < 10; i++) {
        char name[64];
        int file;

        snprintf(name, sizeof(name), "tree/victim/%s%d", i % 2 ? "deep/" : "", i);
        file = openat(fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (file >= 0)
            close(file);
    }
}

static void directories_swapped_with_links_lead_nowhere(void **state)
{
    struct world *world = *state;
    struct rival rival = {.world = world};
    int64_t end = clock_monotonic_ms(&clock_system) + RACE_MS;
    unsigned long removed = 0;
    pthread_t thread;

    /* The same names as in the victim: going through the link would find them. */
    make_dir(world->scene.fd, "outside/deep");
    for (int i = 0; i < 10; i++) {
        char name[64];

        snprintf(name, sizeof(name), "outside/%s%d", i % 2 ? "deep/" : "", i);
        make_file(world->scene.fd, name, "precious");
    }
    assert_int_equal(pthread_create(&thread, NULL, swap_with_link, &rival), 0);
    /* Longer where one of the two had no turn yet. */
    while (clock_monotonic_ms(&clock_system) < end || removed == 0 ||
           atomic_load(&rival.rounds) == 0) {
        build_victim(world->root->fd);
        removed += remove_all(world, "tree") == 0;
    }
    atomic_store(&rival.is_over, true);
    pthread_join(thread, NULL);
    assert_int_equal(count_entries(world->scene.fd, "outside"), 7);
    assert_int_equal(count_entries(world->scene.fd, "outside/deep"), 5);
}

static void *refill(void *data)
{
    struct rival *rival = data;
    int fd = rival->world->root->fd;

    for (unsigned i = 0; !atomic_load(&rival->is_over); i++) {
        char name[32];

        snprintf(name, sizeof(name), "tree/%u", i % 64);
        (void)!mkdirat(fd, name, 0755);
        rival->rounds++;
    }
    return NULL;
}

static void a_directory_that_is_refilled_does_not_hold_us(void **state)
{
    struct world *world = *state;
    struct rival rival = {.world = world};
    pthread_t thread;
    int r;

    make_dir(world->root->fd, "tree");
    assert_int_equal(pthread_create(&thread, NULL, refill, &rival), 0);
    r = linux_remove(world->root, &plainly, STR("tree"), true, 20000);
    atomic_store(&rival.is_over, true);
    pthread_join(thread, NULL);
    /* Won or given up; it came back. */
    assert_true(r == 0 || r == ERR_TOO_LARGE);
    assert_int_equal(r == 0, !is_there(world->root->fd, "tree"));
}

#define with_world(test)  cmocka_unit_test_setup_teardown(test, world_make, world_drop)
#define with_moment(test) cmocka_unit_test_setup_teardown(test, world_make, happens_no_more)

TEST_MAIN(with_world(files_links_and_empty_directories_go_one_by_one),
          with_world(a_directory_with_entries_needs_the_recursive_form),
          with_world(the_root_and_what_leads_up_are_refused),
          with_world(links_in_a_tree_go_and_what_they_lead_to_stays),
          with_world(one_of_several_names_can_go),
          with_world(trees_of_any_depth_go_with_few_descriptors),
          with_world(wide_directories_go_whole), with_world(the_budget_counts_every_entry),
          with_world(the_exact_budget_is_enough), with_world(a_cancelled_removal_stops),
          with_world(what_is_mounted_inside_is_not_touched),
          with_world(permissions_stop_a_removal_but_not_of_our_own),
          with_moment(a_link_put_for_a_directory_is_what_goes),
          with_moment(what_has_left_the_tree_is_left_alone),
          with_moment(a_tree_that_leaves_is_not_found),
          with_moment(what_changes_or_comes_late_goes_in_another_pass),
          with_moment(passes_that_find_nothing_come_to_an_end),
          with_world(directories_swapped_with_links_lead_nowhere),
          with_world(a_directory_that_is_refilled_does_not_hold_us))
