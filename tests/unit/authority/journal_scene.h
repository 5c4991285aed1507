/* SPDX-License-Identifier: Apache-2.0 */
/* A state directory and a directory to work in, for the tests of the journal and its sweep. */
#ifndef TESTS_UNIT_AUTHORITY_JOURNAL_SCENE_H
#define TESTS_UNIT_AUTHORITY_JOURNAL_SCENE_H

#include <stdio.h>
#include <sys/wait.h>

#include "authority/linux/journal_internal.h"
#include "scene.h"

/* Names as linux_temp_name() makes them, but known. */
#define LEFT_FILE LINUX_TEMP_START "aaaaaaaaaaaaaaaaaaaaaaaa"
#define LEFT_TREE LINUX_TEMP_START "bbbbbbbbbbbbbbbbbbbbbbbb"
#define STRANGERS LINUX_TEMP_START "cccccccccccccccccccccccc"

enum { NOBODY = 65534 };

struct world {
    struct scene scene; /* state/ and work/, where names are made */
    int work;
    char state[PATH_MAX];
};

static inline int world_make(void **state)
{
    static struct world world;

    scene_make(&world.scene);
    make_dir(world.scene.fd, "work");
    make_dir(world.scene.fd, "outside");
    world.work = openat(world.scene.fd, "work", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(world.state, sizeof(world.state), "%s/state", world.scene.path);
    *state = &world;
    return 0;
}

static inline int world_drop(void **state)
{
    struct world *world = *state;

    close(world->work);
    scene_drop(&world->scene);
    return 0;
}

static inline struct linux_journal *open_journal(const struct world *world)
{
    struct linux_journal *journal = NULL;
    struct err err = ERR_INIT;

    if (linux_journal_open(world->state, &journal, &err) < 0)
        fail_msg("%s", err.message);
    return journal;
}

/* The next start of somebody else, who has time for all of it. */
static inline void sweep(const struct world *world)
{
    struct linux_journal *journal = open_journal(world);

    while (linux_journal_has_leftovers(journal))
        linux_journal_sweep(journal, 1000, NULL);
    linux_journal_close(journal);
}

static inline size_t count_named(int fd, const char *path, const char *start)
{
    int copy = openat(fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fdopendir(copy);
    size_t count = 0;

    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += strncmp(entry->d_name, start, strlen(start)) == 0;
    closedir(dir);
    return count;
}

static inline size_t count_journals(const struct world *world)
{
    return count_named(world->scene.fd, "state", JOURNAL_PREFIX);
}

/* Of all journals together. */
static inline size_t count_workspaces(const struct world *world)
{
    int temp = openat(world->scene.fd, "state/temp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fdopendir(temp);
    size_t count = 0;

    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (strncmp(entry->d_name, JOURNAL_PREFIX, strlen(JOURNAL_PREFIX)) == 0)
            count += count_entries(temp, entry->d_name);
    closedir(dir);
    return count;
}

/* Runs `live` in a child that is gone afterwards without closing anything; returns its status. */
static inline int in_child(struct world *world, int (*live)(struct world *world))
{
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(live(world));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define with_world(test) cmocka_unit_test_setup_teardown(test, world_make, world_drop)

static inline int note_leftover(struct linux_journal *journal, int dir_fd, const char *last,
                                enum linux_leftover kind, int *out_slot)
{
    const struct linux_place place = {.dir_fd = dir_fd};

    return linux_journal_add(journal, &place, last, kind, out_slot);
}

#endif
