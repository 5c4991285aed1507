/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include "isolate/cgroup.h"

static const struct cgroup_limits limits = {
    .memory_bytes = 64 << 20, .cpu_percent = 150, .processes = 10};

/* A starter that was killed: it has made a leaf and removes nothing. */
static void leave_one(void *data)
{
    struct cgroup_leaf leaf = CGROUP_LEAF_INIT;
    const int *pipe_fd = data;

    expect(cgroup_leaf_make(&limits, &leaf, NULL) == 0);
    expect(write(*pipe_fd, leaf.name, sizeof(leaf.name)) == (ssize_t)sizeof(leaf.name));
}

static void what_a_killed_starter_left_is_swept(void **state)
{
    struct cgroup_leaf leaf = CGROUP_LEAF_INIT;
    char name[CGROUP_NAME_BYTES];
    struct stat about;
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    in_child(leave_one, &ends[1]);
    assert_int_equal(read(ends[0], name, sizeof(name)), sizeof(name));
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(cgroup_leaf_make(&limits, &leaf, NULL), 0);
    if (leaf.dir_count == 0)
        skip_because("cannot create a cgroup");
    for (size_t i = 0; i < leaf.dir_count; i++) {
        assert_int_equal(fstatat(leaf.dirs[i].parent_fd, leaf.name, &about, 0), 0);
        assert_int_equal(fstatat(leaf.dirs[i].parent_fd, name, &about, 0), -1);
    }
    cgroup_leaf_remove(&leaf);
}

static void join_it(void *data)
{
    const struct cgroup_leaf *leaf = data;
    char groups[4096] = "";
    int fd;

    expect(cgroup_leaf_join(leaf) == 0);
    fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    expect(fd >= 0 && read(fd, groups, sizeof(groups) - 1) > 0);
    expect(strstr(groups, leaf->name) != NULL);
}

static void who_joins_is_in_and_what_is_empty_goes(void **state)
{
    struct cgroup_leaf leaf = CGROUP_LEAF_INIT;
    cleanup_fd int parent_fd = -1;
    char name[CGROUP_NAME_BYTES];
    struct stat about;

    (void)state;
    assert_int_equal(cgroup_leaf_make(&limits, &leaf, NULL), 0);
    if (leaf.dir_count == 0)
        skip_because("cannot create a cgroup");
    in_child(join_it, &leaf);
    memcpy(name, leaf.name, sizeof(name));
    parent_fd = dup(leaf.dirs[0].parent_fd);
    cgroup_leaf_remove(&leaf);
    assert_int_equal(fstatat(parent_fd, name, &about, 0), -1);
}

static void nothing_is_made_where_nothing_is_asked(void **state)
{
    struct cgroup_leaf leaf = {.dir_count = 9};

    (void)state;
    assert_int_equal(cgroup_leaf_make(&(struct cgroup_limits){0}, &leaf, NULL), 0);
    assert_int_equal(leaf.dir_count, 0);
    for (int i = 0; i < CGROUP_LIMITS; i++)
        assert_int_equal(leaf.holds[i], CGROUP_NOT_ASKED);
}

static void what_does_not_hold_is_said(void **state)
{
    char words[CGROUP_WORDS_BYTES];

    (void)state;
    cgroup_describe(CGROUP_MEMORY, CGROUP_BY_PROCESS, words);
    assert_string_equal(
        words,
        "memory: limited for each process (cannot create a cgroup); shared memory is NOT LIMITED");
    cgroup_describe(CGROUP_PROCESSES, CGROUP_BY_PROCESS, words);
    assert_null(strstr(words, "NOT"));
    cgroup_describe(CGROUP_MEMORY, CGROUP_BY_GROUP, words);
    assert_null(strstr(words, "NOT"));
}

TEST_MAIN(cmocka_unit_test(what_does_not_hold_is_said),
          cmocka_unit_test(what_a_killed_starter_left_is_swept),
          cmocka_unit_test(who_joins_is_in_and_what_is_empty_goes),
          cmocka_unit_test(nothing_is_made_where_nothing_is_asked))
