/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of a backend on a real file system, with and without openat2. The outside uses plain
 * system calls in a directory of its own.
 */
#include "backend_suite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const tree_names[SUITE_TREES] = {"a", "b", "outside"};

struct disk {
    char base[64];
    char paths[SUITE_TREES][96];
    unsigned open_fds; /* before the backend was there */
    struct rlimit file_size;
    mode_t umask;
};

static unsigned count_fds(void)
{
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static void begin_with(struct suite *suite, bool walks)
{
    struct disk *disk = calloc(1, sizeof(*disk));
    struct err err = ERR_INIT;
    char state_dir[96];
    const char *parent = getenv("TMPDIR");

    assert_non_null(disk);
    suite->own = disk;
    disk->umask = umask(022);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &disk->file_size), 0);
    disk->open_fds = count_fds();
    snprintf(disk->base, sizeof(disk->base), "%.40s/backend-XXXXXX",
             parent != NULL && strlen(parent) <= 40 ? parent : "/tmp");
    assert_non_null(mkdtemp(disk->base));
    for (size_t i = 0; i < SUITE_TREES; i++) {
        snprintf(disk->paths[i], sizeof(disk->paths[i]), "%s/%s", disk->base, tree_names[i]);
        assert_int_equal(mkdir(disk->paths[i], 0755), 0);
    }
    snprintf(state_dir, sizeof(state_dir), "%s/state", disk->base);
    assert_int_equal(mkdir(state_dir, 0700), 0);
    if (linux_backend_new(state_dir, walks, &suite->backend, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(
        suite->backend->ops->root_open(suite->backend, disk->paths[SUITE_ROOT], &suite->root), 0);
    assert_int_equal(
        suite->backend->ops->root_open(suite->backend, disk->paths[SUITE_OTHER], &suite->other), 0);
}

static void begin(struct suite *suite)
{
    begin_with(suite, false);
}

static void begin_walking(struct suite *suite)
{
    begin_with(suite, true);
}

static int remove_visited(const char *path, const struct stat *about, int flag, struct FTW *where)
{
    (void)about;
    (void)flag;
    (void)where;
    return remove(path);
}

static void end(struct suite *suite)
{
    struct disk *disk = suite->own;
    unsigned open_fds;
    int removed;

    suite->backend->ops->root_close(suite->other);
    suite->backend->ops->root_close(suite->root);
    suite->backend->ops->free(suite->backend);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &disk->file_size), 0);
    umask(disk->umask);
    open_fds = count_fds() - disk->open_fds;
    removed = nftw(disk->base, remove_visited, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    free(disk);
    assert_int_equal(removed, 0);
    assert_int_equal(open_fds, 0);
}

/* The host's path of a name, good until the next call. */
static const char *path_of(struct suite *suite, enum suite_tree tree, const char *name)
{
    static char path[PATH_MAX];
    const struct disk *disk = suite->own;

    assert_true(snprintf(path, sizeof(path), "%s/%s", disk->paths[tree], name) < (int)sizeof(path));
    return path;
}

static void plant_file(const char *path, struct str content)
{
    cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    for (size_t at = 0; at < content.len;) {
        ssize_t written = write(fd, content.ptr + at, content.len - at);

        assert_true(written > 0);
        at += (size_t)written;
    }
}

static void plant(struct suite *suite, enum suite_tree tree, const char *name,
                  enum authority_type type, struct str content)
{
    const char *path = path_of(suite, tree, name);
    char target[PATH_MAX];

    switch (type) {
    case AUTHORITY_FILE:
        plant_file(path, content);
        break;
    case AUTHORITY_DIRECTORY:
        assert_int_equal(mkdir(path, 0755), 0);
        break;
    case AUTHORITY_SYMLINK:
        snprintf(target, sizeof(target), "%.*s", STR_ARG(content));
        assert_int_equal(symlink(target, path), 0);
        break;
    case AUTHORITY_OTHER:
        assert_int_equal(mkfifo(path, 0644), 0);
        break;
    }
}

static void plant_hardlink(struct suite *suite, enum suite_tree from_tree, const char *existing,
                           enum suite_tree tree, const char *name)
{
    char from[PATH_MAX];

    snprintf(from, sizeof(from), "%s", path_of(suite, from_tree, existing));
    assert_int_equal(link(from, path_of(suite, tree, name)), 0);
}

static void take(struct suite *suite, enum suite_tree tree, const char *name)
{
    assert_int_equal(remove(path_of(suite, tree, name)), 0);
}

static void set_mode(struct suite *suite, enum suite_tree tree, const char *name, unsigned mode)
{
    assert_int_equal(chmod(path_of(suite, tree, name), mode), 0);
}

static uint64_t count_entries(const char *path)
{
    const struct dirent *entry;
    uint64_t count = 0;
    DIR *dir = opendir(path);

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            count++;
    }
    closedir(dir);
    return count;
}

static void read_file(const char *path, struct buf *content)
{
    cleanup_fd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char bytes[4096];
    ssize_t got;

    assert_true(fd >= 0);
    while ((got = read(fd, bytes, sizeof(bytes))) > 0)
        assert_int_equal(buf_append(content, bytes, (size_t)got), 0);
    assert_int_equal(got, 0);
}

static bool look(struct suite *suite, enum suite_tree tree, const char *name,
                 struct authority_stat *out_stat, struct buf *content)
{
    const char *path = path_of(suite, tree, name);
    struct stat about;

    if (lstat(path, &about) < 0) {
        assert_int_equal(errno, ENOENT);
        return false;
    }
    *out_stat = (struct authority_stat){
        .type = S_ISREG(about.st_mode)   ? AUTHORITY_FILE
                : S_ISDIR(about.st_mode) ? AUTHORITY_DIRECTORY
                : S_ISLNK(about.st_mode) ? AUTHORITY_SYMLINK
                                         : AUTHORITY_OTHER,
        .size = S_ISDIR(about.st_mode) ? count_entries(path) : (uint64_t)about.st_size,
        .inode = about.st_ino,
        .mode = about.st_mode & 07777,
        .links = (unsigned)about.st_nlink,
    };
    if (content != NULL && S_ISREG(about.st_mode))
        read_file(path, content);
    return true;
}

/* A full disk without a file system of its own: the kernel stops a write in the middle as well. */
static void limit_space(struct suite *suite, uint64_t bytes)
{
    const struct disk *disk = suite->own;
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = disk->file_size.rlim_max};

    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static int open_fd(struct suite *suite, enum suite_tree tree, const char *name)
{
    int fd = open(path_of(suite, tree, name), O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

static const char *tree_path(struct suite *suite, enum suite_tree tree)
{
    const struct disk *disk = suite->own;

    return disk->paths[tree];
}

static struct suite_fixture fixture = {
    .end = end,
    .plant = plant,
    .plant_hardlink = plant_hardlink,
    .take = take,
    .set_mode = set_mode,
    .look = look,
    .limit_space = limit_space,
    .no_space_error = ERR_TOO_LARGE, /* EFBIG, for the limit is one on file sizes */
    .open_fd = open_fd,
    .path = tree_path,
    .has_watch = true,
};

static int setup(void **state)
{
    fixture.begin = begin;
    fixture.enforces_modes = geteuid() != 0;
    return suite_setup(state, &fixture);
}

static int setup_walking(void **state)
{
    fixture.begin = begin_walking;
    fixture.enforces_modes = geteuid() != 0;
    return suite_setup(state, &fixture);
}

/* The state directory holds nothing of what is over. */
static void nothing_stays_in_the_state_directory(void **state)
{
    struct suite *suite = *state;
    const struct disk *disk = suite->own;
    struct backend_root *tree = NULL;
    struct backend_root *temp = NULL;
    char path[128];
    uint64_t before;

    snprintf(path, sizeof(path), "%s/state", disk->base);
    before = count_entries(path);
    assert_int_equal(suite_write(suite, &suite_strict, "f", "x"), 0);
    assert_int_equal(suite->ops->tree_stage(suite->root, &suite_strict, STR("t"), &tree), 0);
    assert_int_equal(suite->ops->temp_make(suite->backend, &temp), 0);
    suite->ops->temp_drop(temp);
    suite->ops->tree_drop(tree);
    assert_int_equal(count_entries(path), before);
}

/* The mode of what stands beside `old` for now. */
static unsigned mode_while_written(struct suite *suite, unsigned mode)
{
    const struct disk *disk = suite->own;
    struct backend_stage *begun = NULL;
    struct dirent *entry;
    unsigned found = 0;
    DIR *dir;

    assert_int_equal(suite->ops->stage(suite->root, &suite_strict, STR("old"),
                                       BACKEND_CREATE_OR_REPLACE, mode, &begun),
                     0);
    assert_int_equal(suite->ops->stage_write(begun, "new", 3), 0);
    dir = opendir(disk->paths[SUITE_ROOT]);
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        struct stat about;

        if (entry->d_name[0] != '.' || strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0)
            continue;
        assert_int_equal(fstatat(dirfd(dir), entry->d_name, &about, AT_SYMLINK_NOFOLLOW), 0);
        found = about.st_mode;
    }
    closedir(dir);
    assert_int_equal(suite->ops->stage_publish(begun, false), 0);
    assert_true(S_ISREG(found));
    return found & 07777;
}

static void nobody_reads_what_is_written_who_could_not_read_it_before_or_after(void **state)
{
    struct suite *suite = *state;
    struct stat about;

    suite_plant(suite, "old", "old");
    suite->fixture->set_mode(suite, SUITE_ROOT, "old", 0640);
    assert_int_equal(mode_while_written(suite, 0666), 0640);
    assert_int_equal(suite_mode(suite, SUITE_ROOT, "old") & 07777, 0640);
    suite->fixture->set_mode(suite, SUITE_ROOT, "old", 0755);
    assert_int_equal(mode_while_written(suite, 0600), 0600);
    assert_int_equal(suite_mode(suite, SUITE_ROOT, "old") & 07777, 0755);
    if (geteuid() != 0)
        skip_because("only root gives files away");
    suite->fixture->set_mode(suite, SUITE_ROOT, "old", 0660);
    assert_int_equal(chown(path_of(suite, SUITE_ROOT, "old"), 0, 54321), 0);
    assert_int_equal(mode_while_written(suite, 0666), 0600);
    assert_int_equal(stat(path_of(suite, SUITE_ROOT, "old"), &about), 0);
    assert_int_equal(about.st_mode & 07777, 0660);
    assert_int_equal(about.st_gid, 54321);
}

#define ROW(name)         cmocka_unit_test_setup_teardown(name, setup, suite_teardown),
#define WALKING_ROW(name) {"walking: " #name, name, setup_walking, suite_teardown, NULL},

/* clang-format off */
TEST_MAIN(
    BACKEND_SUITE(ROW)
    ROW(nothing_stays_in_the_state_directory)
    ROW(nobody_reads_what_is_written_who_could_not_read_it_before_or_after)
    BACKEND_SUITE(WALKING_ROW)
    WALKING_ROW(nothing_stays_in_the_state_directory)
)
/* clang-format on */
