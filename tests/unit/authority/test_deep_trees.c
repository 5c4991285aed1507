/* SPDX-License-Identifier: Apache-2.0 */
/* Trees deeper than the removal holds directories open, and removals of them that are cut short. */
#include "world.h"

#include <signal.h>
#include <sys/syscall.h>

enum { DEPTH = 120, FILES = DEPTH };

static const struct authority_remove_options recursive = {.is_recursive = true};

/* t/a/a/…, with a file in each. */
static void plant_deep(struct world *world)
{
    char name[2 * DEPTH + 16] = "t";

    for (size_t i = 0; i < DEPTH; i++) {
        size_t len = 1 + 2 * i;

        name[len] = '\0';
        plant_dir(world, WORLD_ROOT, name);
        memcpy(name + len, "/f", 3);
        plant(world, WORLD_ROOT, name, "x");
        memcpy(name + len, "/a", 3);
    }
}

static int count_file(void *data, const struct authority_entry *entry)
{
    *(size_t *)data += entry->type == AUTHORITY_FILE;
    return 0;
}

/* What a scope shows. */
static size_t count_shown(struct world *world)
{
    const struct authority_walk_options deep = {.max_depth = AUTHORITY_MAX_DEPTH};
    size_t files = 0;

    assert_ok(world, authority_walk(world->scope, STR(""), &deep, count_file, &files, &world->err));
    return files;
}

/* What is on the disk, hidden or not. */
static size_t count_there(struct world *world)
{
    char *const paths[] = {world->paths[WORLD_ROOT], NULL};
    size_t files = 0;
    FTS *fts;

    if (world->is_memory)
        return count_shown(world);
    fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    assert_non_null(fts);
    for (const FTSENT *entry; (entry = fts_read(fts)) != NULL;)
        files += entry->fts_info == FTS_F;
    fts_close(fts);
    return files;
}

static void what_a_removal_leaves_can_be_reached(void **state)
{
    struct world *world = *state;
    struct authority_remove_options few = {.is_recursive = true};
    size_t left = FILES;

    plant_deep(world);
    assert_int_equal(count_shown(world), FILES);
    /* Each try goes somewhat further, past the depth where directories are moved up. */
    for (few.max_entries = 100; few.max_entries <= 200; few.max_entries += 20) {
        assert_refused(world, authority_remove(world->scope, STR("t"), &few, &world->err),
                       ERR_TOO_LARGE);
        left = count_there(world);
        assert_true(left > 0);
        assert_int_equal(count_shown(world), left);
        if (left < FILES / 2)
            break;
    }
    assert_ok(world, authority_remove(world->scope, STR("t"), &recursive, &world->err));
    assert_int_equal(count_there(world), 0);
    assert_false(is_there(world, WORLD_ROOT, "t"));
}

/* ---- killed ---- */

static bool is_deadly;

/* Stands in for the libc's: the moment after a directory was moved up. */
int renameat(int oldfd, const char *old, int newfd, const char *new)
{
    int r = (int)syscall(SYS_renameat2, oldfd, old, newfd, new, 0);

    if (is_deadly)
        kill(getpid(), SIGKILL);
    return r;
}

static void what_a_killed_removal_leaves_can_be_reached(void **state)
{
    struct world *world = *state;
    size_t left;
    int status;
    pid_t child;

    plant_deep(world);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        is_deadly = true;
        (void)authority_remove(world->scope, STR("t"), &recursive, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    left = count_there(world);
    assert_in_range(left, 1, FILES);
    assert_int_equal(count_shown(world), left);
    assert_ok(world, authority_remove(world->scope, STR("t"), &recursive, &world->err));
    assert_int_equal(count_there(world), 0);
}

TEST_MAIN(EVERYWHERE(what_a_removal_leaves_can_be_reached),
          ON_DISK(what_a_killed_removal_leaves_can_be_reached))
