/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A disk that fails at a chosen moment: write() and fsync() here replace those of the C library,
 * for one file or for all directories.
 */
#include "world.h"

#include <sys/syscall.h>

#include "gatehouse/audit.h"

/* ---- writing to one file ---- */

/* What happens to one write, and what somebody else has appended right before it. */
struct fault {
    const char *others;
    size_t at_most; /* so many bytes are written; 0: none, and it fails */
};

static struct {
    ino_t inode;
    const struct fault *next;
    size_t left;
    const char *others_before_sync;
    int sync_error;
} file_faults;

static bool is_faulty(int fd)
{
    struct stat about;

    return file_faults.inode != 0 && fstat(fd, &about) == 0 && about.st_ino == file_faults.inode;
}

/* By a descriptor of somebody else: the position of ours stays where it is. */
static void append_as_another(int fd, const char *text)
{
    char path[32];
    int own;

    if (text == NULL)
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    own = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(own >= 0);
    assert_int_equal(syscall(SYS_write, own, text, strlen(text)), (long)strlen(text));
    close(own);
}

ssize_t write(int fd, const void *buf, size_t n)
{
    if (file_faults.left > 0 && is_faulty(fd)) {
        const struct fault *fault = file_faults.next++;

        file_faults.left--;
        append_as_another(fd, fault->others);
        if (fault->at_most == 0) {
            errno = ENOSPC;
            return -1;
        }
        n = n < fault->at_most ? n : fault->at_most;
    }
    return syscall(SYS_write, fd, buf, n);
}

/* ---- syncing ---- */

static int directory_error; /* of syncing any; 0: none */
static unsigned directory_syncs;
static bool fails_files; /* no regular file reaches the disk */

/* The regular files that were synced, and how many directories had been before each. */
enum { MOST_SYNCED = 16 };
static struct {
    ino_t inode;
    off_t size;
    unsigned directories_before;
} synced[MOST_SYNCED];
static size_t synced_count;

static void note_sync(const struct stat *about)
{
    if (!S_ISREG(about->st_mode) || synced_count == MOST_SYNCED)
        return;
    synced[synced_count].inode = about->st_ino;
    synced[synced_count].size = about->st_size;
    synced[synced_count++].directories_before = directory_syncs;
}

int fsync(int fd)
{
    struct stat about = {0};

    if (fstat(fd, &about) == 0)
        note_sync(&about);
    if (S_ISDIR(about.st_mode)) {
        directory_syncs++;
        if (directory_error != 0) {
            errno = directory_error;
            return -1;
        }
    }
    if (fails_files && S_ISREG(about.st_mode)) {
        errno = EIO;
        return -1;
    }
    if (file_faults.sync_error != 0 && is_faulty(fd)) {
        append_as_another(fd, file_faults.others_before_sync);
        errno = file_faults.sync_error;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

static int end_faults(void **state)
{
    directory_error = 0;
    fails_files = false;
    memset(&file_faults, 0, sizeof(file_faults));
    return teardown(state);
}

/* ---- appends that do not fit ---- */

static void check_append(struct world *world, const struct fault *faults, size_t count,
                         int expected, const char *content)
{
    struct authority_stat about;

    assert_true(look(world, WORLD_ROOT, "log", &about, NULL));
    file_faults.inode = about.inode;
    file_faults.next = faults;
    file_faults.left = count;
    assert_refused(world,
                   authority_append(world->scope, STR("log"), STR("abcdef"), NULL, &world->err),
                   expected);
    assert_int_equal(file_faults.left, 0);
    file_faults.inode = 0;
    assert_content(world, WORLD_ROOT, "log", content);
}

static void an_append_in_pieces_is_whole(void **state)
{
    static const struct fault faults[] = {{.at_most = 1}, {.at_most = 3}};
    struct world *world = *state;

    plant(world, WORLD_ROOT, "log", "old|");
    check_append(world, faults, array_size(faults), 0, "old|abcdef");
}

static void an_append_that_stops_halfway_is_taken_back(void **state)
{
    static const struct fault faults[] = {{.at_most = 2}, {.at_most = 1}, {.at_most = 0}};
    struct world *world = *state;

    plant(world, WORLD_ROOT, "log", "old|");
    check_append(world, faults, array_size(faults), ERR_NO_SPACE, "old|");
}

/* What came before ours began is not ours to take back, whatever the size was when we looked. */
static void what_others_have_appended_before_stays(void **state)
{
    static const struct fault faults[] = {{.others = "OTHER|", .at_most = 2}, {.at_most = 0}};
    struct world *world = *state;

    plant(world, WORLD_ROOT, "log", "old|");
    check_append(world, faults, array_size(faults), ERR_NO_SPACE, "old|OTHER|");
}

static void what_others_have_appended_behind_stays(void **state)
{
    static const struct fault faults[] = {{.at_most = 3}, {.others = "OTHER|", .at_most = 0}};
    struct world *world = *state;

    plant(world, WORLD_ROOT, "log", "old|");
    check_append(world, faults, array_size(faults), ERR_IO, "old|abcOTHER|");
}

static void what_others_have_appended_between_stays(void **state)
{
    static const struct fault faults[] = {
        {.at_most = 2}, {.others = "OTHER|", .at_most = 2}, {.at_most = 0}};
    struct world *world = *state;

    plant(world, WORLD_ROOT, "log", "old|");
    check_append(world, faults, array_size(faults), ERR_IO, "old|abOTHER|cd");
}

static void an_append_that_is_not_synced_is_taken_back(void **state)
{
    struct world *world = *state;

    plant(world, WORLD_ROOT, "log", "old|");
    file_faults.sync_error = EIO;
    check_append(world, NULL, 0, ERR_IO, "old|");
    file_faults.others_before_sync = "OTHER|";
    check_append(world, NULL, 0, ERR_IO, "old|abcdefOTHER|");
}

/* ---- directories that cannot be synced ---- */

static int write_new(struct world *world)
{
    return authority_write_bytes(world->scope, STR("dir/new"), STR("x"), NULL, &world->err);
}

static int replace(struct world *world)
{
    return authority_write_bytes(world->scope, STR("dir/old"), STR("x"), NULL, &world->err);
}

static int append_new(struct world *world)
{
    return authority_append(world->scope, STR("dir/appended"), STR("x"), NULL, &world->err);
}

static int append_old(struct world *world)
{
    return authority_append(world->scope, STR("dir/keep"), STR("x"), NULL, &world->err);
}

static int make_directory(struct world *world)
{
    return authority_mkdir(world->scope, STR("dir/made"), NULL, &world->err);
}

static int copy(struct world *world)
{
    return authority_copy(world->scope, STR("dir/keep"), STR("dir/copy"), NULL, &world->err);
}

static int move(struct world *world)
{
    return authority_move(world->scope, STR("dir/going"), STR("gone"), NULL, &world->err);
}

static int take(struct world *world)
{
    return authority_remove(world->scope, STR("dir/doomed"), NULL, &world->err);
}

static int extract(struct world *world)
{
    struct authority_archive_result result;

    return authority_extract_archive(world->scope, STR("dir.tar.gz"), STR("dir/out"), NULL, &result,
                                     &world->err);
}

static int (*const changes[])(struct world *world) = {
    write_new, replace, append_new, make_directory, copy, move, take, extract,
};

static void plant_for_changes(struct world *world)
{
    struct authority_archive_result result;

    plant_dir(world, WORLD_ROOT, "dir");
    plant(world, WORLD_ROOT, "dir/old", "old");
    plant(world, WORLD_ROOT, "dir/keep", "keep");
    plant(world, WORLD_ROOT, "dir/going", "going");
    plant(world, WORLD_ROOT, "dir/doomed", "doomed");
    assert_ok(world, authority_create_archive(world->scope, STR("dir"), STR("dir.tar.gz"),
                                              AUTHORITY_TAR_GZ, NULL, &result, &world->err));
}

/* As on some network and FUSE file systems. */
static void a_file_system_that_syncs_no_directories_will_do(void **state)
{
    struct world *world = *state;

    plant_for_changes(world);
    directory_error = EINVAL;
    for (size_t i = 0; i < array_size(changes); i++) {
        directory_syncs = 0;
        assert_ok(world, changes[i](world));
        assert_true(directory_syncs > 0);
    }
    assert_content(world, WORLD_ROOT, "dir/new", "x");
    assert_content(world, WORLD_ROOT, "dir/old", "x");
    assert_content(world, WORLD_ROOT, "gone", "going");
    assert_false(is_there(world, WORLD_ROOT, "dir/doomed"));
    assert_content(world, WORLD_ROOT, "dir/out/keep", "keep");
}

static void a_directory_that_does_not_reach_the_disk_is_told(void **state)
{
    struct world *world = *state;

    plant_for_changes(world);
    directory_error = EIO;
    for (size_t i = 0; i < array_size(changes); i++)
        assert_refused(world, changes[i](world), ERR_IO);
}

/* Else a power cut after the rename leaves an empty file where the old one was. */
static void what_has_a_new_content_reaches_the_disk_before_its_name(void **state)
{
    static const struct {
        int (*change)(struct world *world);
        const char *name;
    } rows[] = {
        {write_new, "dir/new"},   {replace, "dir/old"}, {append_new, "dir/appended"},
        {append_old, "dir/keep"}, {copy, "dir/copy"},
    };
    struct world *world = *state;

    plant_for_changes(world);
    for (size_t i = 0; i < array_size(rows); i++) {
        struct authority_stat about;
        bool is_synced = false;

        synced_count = 0;
        directory_syncs = 0;
        assert_ok(world, rows[i].change(world));
        assert_true(look(world, WORLD_ROOT, rows[i].name, &about, NULL));
        for (size_t k = 0; k < synced_count; k++)
            is_synced = is_synced ||
                        (synced[k].inode == about.inode && (uint64_t)synced[k].size == about.size &&
                         synced[k].directories_before == 0);
        if (!is_synced)
            fail_msg("%s was not synced, or too late", rows[i].name);
    }
}

static void a_file_that_does_not_reach_the_disk_does_not_replace_another(void **state)
{
    struct world *world = *state;

    plant_for_changes(world);
    fails_files = true;
    assert_refused(world, replace(world), ERR_IO);
    assert_refused(world, write_new(world), ERR_IO);
    fails_files = false;
    assert_content(world, WORLD_ROOT, "dir/old", "old");
    assert_false(is_there(world, WORLD_ROOT, "dir/new"));
}

static void the_audit_needs_no_directories_that_sync(void **state)
{
    struct world *world = *state;
    const struct audit_config config = {
        .dir_fd = world->fds[WORLD_OTHER], .name = "audit.jsonl", .sync = AUDIT_SYNC_ALL};
    struct audit_file *file = NULL;

    directory_error = EIO;
    assert_int_equal(audit_file_open(&config, &file, NULL), ERR_IO);
    assert_int_equal(unlinkat(world->fds[WORLD_OTHER], "audit.jsonl", 0), 0);
    directory_error = EINVAL;
    directory_syncs = 0;
    assert_int_equal(audit_file_open(&config, &file, NULL), 0);
    assert_true(directory_syncs > 0);
    audit_file_close(file);
}

#define FAULTY(test)                                                                               \
    {#test "_on_disk", test, setup_linux, end_faults, NULL},                                       \
    {                                                                                              \
#test "_by_walking", test, setup_walking, end_faults, NULL                                 \
    }

TEST_MAIN(FAULTY(an_append_in_pieces_is_whole), FAULTY(an_append_that_stops_halfway_is_taken_back),
          FAULTY(what_others_have_appended_before_stays),
          FAULTY(what_others_have_appended_behind_stays),
          FAULTY(what_others_have_appended_between_stays),
          FAULTY(an_append_that_is_not_synced_is_taken_back),
          FAULTY(a_file_system_that_syncs_no_directories_will_do),
          FAULTY(a_directory_that_does_not_reach_the_disk_is_told),
          FAULTY(what_has_a_new_content_reaches_the_disk_before_its_name),
          FAULTY(a_file_that_does_not_reach_the_disk_does_not_replace_another),
          FAULTY(the_audit_needs_no_directories_that_sync))
