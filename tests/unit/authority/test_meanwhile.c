/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Others change the disk in the middle of an operation: the backend's table is replaced by one that
 * lets them act at a chosen call, once.
 */
#include "world.h"

#include <dirent.h>

static const struct backend_ops *real_ops;
static struct backend_ops ops;
static void (*meanwhile)(struct world *world); /* at the next publishing */
static struct world *present;

static void let_others_act(void)
{
    void (*act)(struct world * world) = meanwhile;

    meanwhile = NULL;
    if (act != NULL)
        act(present);
}

static int publish_after_others(struct backend_stage *stage, bool is_synced)
{
    let_others_act();
    return real_ops->stage_publish(stage, is_synced);
}

static int prepare(void **state, bool is_memory, bool walks)
{
    int r = world_setup(state, is_memory, walks);

    present = *state;
    meanwhile = NULL;
    real_ops = present->authority->backend->ops;
    ops = *real_ops;
    ops.stage_publish = publish_after_others;
    present->authority->backend->ops = &ops;
    return r;
}

static int prepare_memory(void **state)
{
    return prepare(state, true, false);
}

static int prepare_linux(void **state)
{
    return prepare(state, false, false);
}

static int prepare_walking(void **state)
{
    return prepare(state, false, true);
}

/* ---- others, at work ---- */

static void grow(struct world *world, const char *name)
{
    const struct backend_lookup lookup = {.follows_links = false};
    cleanup_fd int fd = -1;

    if (world->is_memory) {
        assert_int_equal(real_ops->append(world->trees[WORLD_ROOT], &lookup, str_from(name),
                                          STR(" and more"), false, 0644, false),
                         0);
        return;
    }
    fd = openat(world->fds[WORLD_ROOT], name, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, " and more", 9), 9);
}

static void take(struct world *world, const char *name)
{
    const struct backend_lookup lookup = {.follows_links = false};

    if (world->is_memory)
        assert_int_equal(
            real_ops->remove(world->trees[WORLD_ROOT], &lookup, str_from(name), false, 1), 0);
    else
        assert_int_equal(unlinkat(world->fds[WORLD_ROOT], name, 0), 0);
}

static void grow_file(struct world *world)
{
    grow(world, "f");
}

static void replace_file(struct world *world)
{
    take(world, "f");
    plant(world, WORLD_ROOT, "f", "new content");
}

static void remove_file(struct world *world)
{
    take(world, "f");
}

static void grow_file_below(struct world *world)
{
    grow(world, "d/sub/f");
}

static void replace_file_below(struct world *world)
{
    take(world, "d/sub/f");
    plant(world, WORLD_ROOT, "d/sub/f", "new content");
}

static void add_file_above(struct world *world)
{
    plant(world, WORLD_ROOT, "d/late", "late");
}

/* ---- moves that are copies ---- */

struct place {
    struct authority_scope *scope;
    char path[WORLD_PATH_BYTES];
};

static void expect_at(const struct place *place, struct str name, const char *content)
{
    cleanup_buf struct buf out = BUF_INIT(1000);

    assert_int_equal(authority_read_bytes(place->scope, name, NULL, &out, NULL), 0);
    assert_true(str_eq_c(buf_view(&out), content));
}

static void move_files(struct world *world, const struct place *there)
{
    const struct authority_move_options replace = {.may_replace = true};

    plant(world, WORLD_ROOT, "f", "old content");
    meanwhile = grow_file;
    assert_refused(
        world, authority_move_in(there->scope, STR("f"), world->scope, STR("f"), NULL, &world->err),
        ERR_BUSY);
    assert_content(world, WORLD_ROOT, "f", "old content and more");
    expect_at(there, STR("f"), "old content");
    meanwhile = replace_file;
    assert_refused(
        world,
        authority_move_in(there->scope, STR("f"), world->scope, STR("f"), &replace, &world->err),
        ERR_BUSY);
    assert_content(world, WORLD_ROOT, "f", "new content");
    expect_at(there, STR("f"), "old content and more");
    /* What is gone from here is all the more there. */
    meanwhile = remove_file;
    assert_refused(
        world,
        authority_move_in(there->scope, STR("f"), world->scope, STR("f"), &replace, &world->err),
        ERR_NOT_FOUND);
    expect_at(there, STR("f"), "new content");
    assert_null(meanwhile);
}

static void move_directory(struct world *world, const struct place *there,
                           void (*act)(struct world *world), const char *name, const char *changed)
{
    const struct authority_remove_options all = {.is_recursive = true};

    plant_dir(world, WORLD_ROOT, "d");
    plant_dir(world, WORLD_ROOT, "d/sub");
    plant(world, WORLD_ROOT, "d/sub/f", "old content");
    meanwhile = act;
    assert_refused(
        world, authority_move_in(there->scope, STR("d"), world->scope, STR("d"), NULL, &world->err),
        ERR_BUSY);
    assert_null(meanwhile);
    assert_content(world, WORLD_ROOT, name, changed);
    expect_at(there, STR("d/sub/f"), "old content");
    assert_ok(world, authority_remove(there->scope, STR("d"), &all, &world->err));
    assert_ok(world, authority_remove(world->scope, STR("d"), &all, &world->err));
}

static void move_directories(struct world *world, const struct place *there)
{
    move_directory(world, there, grow_file_below, "d/sub/f", "old content and more");
    move_directory(world, there, replace_file_below, "d/sub/f", "new content");
    /* Where the directory was read to its end before; memory would show it still. */
    if (!world->is_memory)
        move_directory(world, there, add_file_above, "d/late", "late");
    /* Left alone, it goes. */
    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_ROOT, "d/f", "old content");
    assert_ok(world,
              authority_move_in(there->scope, STR("d"), world->scope, STR("d"), NULL, &world->err));
    assert_false(is_there(world, WORLD_ROOT, "d"));
    expect_at(there, STR("d/f"), "old content");
}

static void a_source_that_changes_while_it_is_moved_stays(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct place there;

    request.root.path = world->paths[WORLD_OTHER];
    there.scope = world_open(world, &request);
    move_files(world, &there);
    move_directories(world, &there);
    authority_scope_free(there.scope);
}

/* The same where the kernel itself could not have renamed. */
static void a_source_that_changes_while_it_goes_to_another_device_stays(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct place there = {.path = "/dev/shm/gh-there-XXXXXX"};
    struct stat here_stat;
    struct stat there_stat;

    assert_int_equal(fstat(world->fds[WORLD_ROOT], &here_stat), 0);
    if (mkdtemp(there.path) == NULL)
        skip_because("no second file system at /dev/shm");
    if (stat(there.path, &there_stat) < 0 || there_stat.st_dev == here_stat.st_dev) {
        rmdir(there.path);
        skip_because("/dev/shm is on the same file system as the temporary directory");
    }
    request.root.path = there.path;
    there.scope = world_open(world, &request);
    move_files(world, &there);
    move_directories(world, &there);
    authority_scope_free(there.scope);
    world_erase(there.path);
}

/* ---- directories that go elsewhere while they are written to ---- */

static void move_to_denied(struct world *world)
{
    assert_int_equal(
        renameat(world->fds[WORLD_ROOT], "open", world->fds[WORLD_ROOT], "secret/open"), 0);
}

static void move_outside(struct world *world)
{
    assert_int_equal(renameat(world->fds[WORLD_ROOT], "open", world->fds[WORLD_OUTSIDE], "open"),
                     0);
}

/* Whose path begins like the root's. */
static void move_to_twin(struct world *world)
{
    assert_int_equal(renameat(world->fds[WORLD_ROOT], "open", world->fds[WORLD_TWIN], "open"), 0);
}

static void move_elsewhere(struct world *world)
{
    assert_int_equal(renameat(world->fds[WORLD_ROOT], "open", world->fds[WORLD_ROOT], "elsewhere"),
                     0);
}

static int write_new(struct authority_scope *scope, struct world *world)
{
    return authority_write_bytes(scope, STR("open/new"), STR("new"), NULL, &world->err);
}

static int replace(struct authority_scope *scope, struct world *world)
{
    return authority_write_bytes(scope, STR("open/old"), STR("new"), NULL, &world->err);
}

static int copy(struct authority_scope *scope, struct world *world)
{
    return authority_copy(scope, STR("source"), STR("open/new"), NULL, &world->err);
}

/* Also a name that was left behind would be there. */
static unsigned count_entries(struct world *world, enum world_tree tree, const char *name)
{
    DIR *dir = fdopendir(openat(world->fds[tree], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const struct dirent *entry;
    unsigned count = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return count;
}

static void what_is_written_does_not_follow_its_directory_to_where_it_may_not_be(void **state)
{
    static int (*const writes[])(struct authority_scope *, struct world *) = {write_new, replace,
                                                                              copy};
    static const struct {
        void (*act)(struct world *world);
        enum world_tree tree;
        const char *name;
        int code;
    } ways[] = {
        {move_to_denied, WORLD_ROOT, "secret/open", ERR_DENIED_BY_POLICY},
        {move_outside, WORLD_OUTSIDE, "open", ERR_PATH_OUTSIDE_ROOT},
        {move_to_twin, WORLD_TWIN, "open", ERR_PATH_OUTSIDE_ROOT},
    };
    static const char *const denied[] = {"secret/**", NULL};
    struct world *world = *state;
    const struct authority_limits limits[] = {
        {.symlinks = AUTHORITY_SYMLINKS_REJECT, .denied_globs = denied},
        {.symlinks = AUTHORITY_SYMLINKS_IN_ROOT, .denied_globs = denied},
    };

    plant(world, WORLD_ROOT, "source", "new");
    plant_dir(world, WORLD_ROOT, "secret");
    plant_dir(world, WORLD_ROOT, "open");
    plant(world, WORLD_ROOT, "open/old", "old");
    for (size_t i = 0; i < array_size(limits) * array_size(ways) * array_size(writes); i++) {
        size_t way = i / array_size(writes) % array_size(ways);
        enum world_tree tree = ways[way].tree;
        struct authority_scope *scope =
            world_open_limited(world, &limits[i / (array_size(writes) * array_size(ways))]);
        char name[64];

        meanwhile = ways[way].act;
        assert_refused(world, writes[i % array_size(writes)](scope, world), ways[way].code);
        assert_null(meanwhile);
        snprintf(name, sizeof(name), "%s/old", ways[way].name);
        assert_content(world, tree, name, "old");
        assert_int_equal(count_entries(world, tree, ways[way].name), 1);
        assert_int_equal(renameat(world->fds[tree], ways[way].name, world->fds[WORLD_ROOT], "open"),
                         0);
        authority_scope_free(scope);
    }
}

static void what_is_written_goes_along_to_where_it_may_be(void **state)
{
    static const char *const denied[] = {"secret/**", NULL};
    const struct authority_limits limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT,
                                            .denied_globs = denied};
    struct world *world = *state;
    struct authority_scope *scope = world_open_limited(world, &limits);

    plant_dir(world, WORLD_ROOT, "open");
    meanwhile = move_elsewhere;
    assert_ok(world, write_new(scope, world));
    assert_content(world, WORLD_ROOT, "elsewhere/new", "new");
    authority_scope_free(scope);
}

/* ---- a file that was told, and another content that looks like it ---- */

/* The same length, and the time of the last change put back: only the inode's own time tells. */
static void rewrite_unseen(struct world *world)
{
    cleanup_fd int fd = openat(world->fds[WORLD_ROOT], "f", O_WRONLY | O_CLOEXEC);
    struct stat before;
    struct stat after;

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &before), 0);
    /* The kernel's clock for this has ticks of some milliseconds. */
    do {
        const struct timespec times[] = {before.st_atim, before.st_mtim};

        assert_int_equal(pwrite(fd, "evil", 4, 0), 4);
        assert_int_equal(futimens(fd, times), 0);
        assert_int_equal(fstat(fd, &after), 0);
    } while (after.st_ctim.tv_sec == before.st_ctim.tv_sec &&
             after.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
    assert_memory_equal(&after.st_mtim, &before.st_mtim, sizeof(after.st_mtim));
    assert_int_equal(after.st_size, before.st_size);
}

static int exchange(struct world *world, const struct authority_stat *expected)
{
    struct authority_exchange exchange = {.expected = expected};
    const struct authority_write_options options = {.create = AUTHORITY_REPLACE_OLD,
                                                    .exchange = &exchange};

    return authority_write_bytes(world->scope, STR("f"), STR("ours"), &options, &world->err);
}

static void what_was_told_is_not_replaced_when_only_its_inode_tells_of_a_change(void **state)
{
    struct world *world = *state;
    struct authority_stat about;

    plant(world, WORLD_ROOT, "f", "told");
    meanwhile = rewrite_unseen;
    assert_refused(world, exchange(world, NULL), ERR_BUSY);
    assert_null(meanwhile);
    assert_content(world, WORLD_ROOT, "f", "evil");
    /* Nor where it changed before the write began. */
    assert_ok(world, authority_stat(world->scope, STR("f"), &about, &world->err));
    rewrite_unseen(world);
    assert_refused(world, exchange(world, &about), ERR_BUSY);
    assert_content(world, WORLD_ROOT, "f", "evil");
    assert_ok(world, authority_stat(world->scope, STR("f"), &about, &world->err));
    assert_ok(world, exchange(world, &about));
    assert_content(world, WORLD_ROOT, "f", "ours");
}

/* Somebody who cleans up takes it for one that was left. */
static void take_unfinished(struct world *world)
{
    cleanup_fd int fd = openat(world->fds[WORLD_ROOT], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fdopendir(steal_fd(&fd));
    const struct dirent *entry;
    unsigned taken = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        if (str_starts_with(str_from(entry->d_name), STR(".gatehouse-")))
            taken += unlinkat(dirfd(dir), entry->d_name, 0) == 0;
    closedir(dir);
    assert_int_equal(taken, 1);
}

static void whose_unfinished_file_was_taken_is_told_so(void **state)
{
    struct world *world = *state;

    plant(world, WORLD_ROOT, "f", "old");
    meanwhile = take_unfinished;
    assert_refused(world,
                   authority_write_bytes(world->scope, STR("f"), STR("new"), NULL, &world->err),
                   ERR_BUSY);
    assert_null(meanwhile);
    assert_content(world, WORLD_ROOT, "f", "old");
    meanwhile = take_unfinished;
    assert_refused(world, exchange(world, NULL), ERR_BUSY);
    assert_content(world, WORLD_ROOT, "f", "old");
    assert_ok(world, exchange(world, NULL));
    assert_content(world, WORLD_ROOT, "f", "ours");
}

#define MEANWHILE_IN_MEMORY(test)                                                                  \
    {                                                                                              \
#test "_in_memory", test, prepare_memory, teardown, NULL                                   \
    }
#define MEANWHILE_ON_DISK(test)                                                                    \
    {#test "_on_disk", test, prepare_linux, teardown, NULL},                                       \
    {                                                                                              \
#test "_by_walking", test, prepare_walking, teardown, NULL                                 \
    }

TEST_MAIN(MEANWHILE_IN_MEMORY(a_source_that_changes_while_it_is_moved_stays),
          MEANWHILE_ON_DISK(a_source_that_changes_while_it_is_moved_stays),
          MEANWHILE_ON_DISK(a_source_that_changes_while_it_goes_to_another_device_stays),
          MEANWHILE_ON_DISK(what_is_written_does_not_follow_its_directory_to_where_it_may_not_be),
          MEANWHILE_ON_DISK(what_is_written_goes_along_to_where_it_may_be),
          MEANWHILE_ON_DISK(whose_unfinished_file_was_taken_is_told_so),
          MEANWHILE_ON_DISK(what_was_told_is_not_replaced_when_only_its_inode_tells_of_a_change))
