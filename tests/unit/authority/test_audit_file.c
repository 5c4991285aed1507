/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the audit log in one process: refusals, rotation, repair, syncing. */
#include "audit_scene.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/syscall.h>

/* In the place of the C library's: what reaches the disk, and a disk that fails. */
static atomic_uint syncs;
static bool is_disk_broken;

int fdatasync(int fildes)
{
    (void)fildes;
    syncs++;
    if (!is_disk_broken)
        return 0;
    errno = EIO;
    return -1;
}

/* What another process does between our last look at the file and our write. */
static void (*_Atomic meanwhile)(void);

ssize_t write(int fd, const void *buf, size_t n)
{
    void (*act)(void) = atomic_exchange(&meanwhile, NULL);

    if (act != NULL)
        act();
    return syscall(SYS_write, fd, buf, n);
}

static struct audit_config config;

static int start(void **state)
{
    syncs = 0;
    is_disk_broken = false;
    scene_start(state);
    config = scene_config();
    return 0;
}

#define file_test(function) cmocka_unit_test_setup_teardown(function, start, scene_stop)

static int open_error(void)
{
    struct audit_file *file = NULL;
    struct err err = ERR_INIT;
    int r = audit_file_open(&config, &file, &err);

    assert_null(file);
    assert_true(r < 0);
    assert_int_equal(err.code, r);
    assert_true(err.message[0] != '\0');
    return r;
}

static void expect_ids(const char *ids, uint64_t skipped)
{
    cleanup_found struct scene_found found = scene_find_all();

    if (!str_eq_c(buf_view(&found.ids), ids))
        fail_msg("found %.*s", STR_ARG(buf_view(&found.ids)));
    assert_int_equal(found.skipped, skipped);
}

static void expect_count(size_t count)
{
    cleanup_found struct scene_found found = scene_find_all();

    assert_int_equal(found.count, count);
    assert_int_equal(found.skipped, 0);
}

static size_t line_bytes(uint64_t id)
{
    struct authority_event event = scene_event(id, AUTHORITY_SUCCESS);
    cleanup_buf struct buf line = BUF_INIT(AUDIT_MAX_RECORD_BYTES);

    assert_int_equal(audit_format(&event, &line), 0);
    return line.len + 1;
}

static void records_are_appended_also_by_the_next_process(void **state)
{
    struct audit_file *file = scene_open(&config);

    (void)state;
    assert_int_equal(scene_record(file, 1, AUTHORITY_INTENT), 0);
    assert_int_equal(scene_record(file, 1, AUTHORITY_SUCCESS), 0);
    audit_file_close(file);
    file = scene_open(&config);
    assert_int_equal(scene_record(file, 2, AUTHORITY_DENIED), 0);
    audit_file_close(file);
    expect_ids("1 1 2", 0);
}

static void the_files_are_private(void **state)
{
    static const char *const names[] = {"audit.jsonl", "audit.jsonl.lock", "audit.jsonl.reads",
                                        "audit.jsonl.reads.lock"};
    static const mode_t masks[] = {0, 0277, 0777};

    (void)state;
    for (size_t i = 0; i < array_size(masks); i++) {
        mode_t old = umask(masks[i]);
        struct audit_file *file;

        for (size_t j = 0; j < array_size(names); j++)
            unlinkat(scene_fd, names[j], 0);
        file = scene_open(&config);
        umask(old);
        for (size_t j = 0; j < array_size(names); j++)
            assert_int_equal(scene_stat(names[j]).st_mode & 07777, 0600);
        audit_file_close(file);
    }
    for (size_t j = 0; j < array_size(names); j++)
        assert_int_equal(fchmodat(scene_fd, names[j], 0666, 0), 0);
    audit_file_close(scene_open(&config));
    for (size_t j = 0; j < array_size(names); j++)
        assert_int_equal(scene_stat(names[j]).st_mode & 07777, 0600);
}

static void planted_links_are_refused_and_their_targets_untouched(void **state)
{
    static const char *const places[] = {"audit.jsonl", "audit.jsonl.lock", "audit.jsonl.reads",
                                         "audit.jsonl.reads.lock"};

    (void)state;
    for (size_t i = 0; i < array_size(places); i++) {
        unlinkat(scene_fd, places[i], 0);
        scene_put("target", STR("precious"));
        assert_int_equal(symlinkat("target", scene_fd, places[i]), 0);
        assert_int_equal(open_error(), ERR_SYMLINK_REJECTED);
        assert_int_equal(unlinkat(scene_fd, places[i], 0), 0);
        assert_int_equal(symlinkat("nowhere", scene_fd, places[i]), 0);
        assert_int_equal(open_error(), ERR_SYMLINK_REJECTED);
        assert_false(scene_has("nowhere"));
        assert_int_equal(unlinkat(scene_fd, places[i], 0), 0);
        assert_int_equal(linkat(scene_fd, "target", scene_fd, places[i], 0), 0);
        assert_int_equal(open_error(), ERR_HARDLINK_REJECTED);
        assert_int_equal(scene_stat("target").st_size, sizeof("precious") - 1);
        assert_int_equal(unlinkat(scene_fd, places[i], 0), 0);
        assert_int_equal(unlinkat(scene_fd, "target", 0), 0);
    }
}

static void what_is_no_file_of_ours_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdirat(scene_fd, "audit.jsonl", 0700), 0);
    assert_int_equal(open_error(), ERR_NOT_REGULAR_FILE);
    assert_int_equal(unlinkat(scene_fd, "audit.jsonl", AT_REMOVEDIR), 0);
    assert_int_equal(mkfifoat(scene_fd, "audit.jsonl", 0600), 0);
    assert_int_equal(open_error(), ERR_NOT_REGULAR_FILE);
    assert_int_equal(unlinkat(scene_fd, "audit.jsonl", 0), 0);
    config.name = "../audit.jsonl";
    assert_int_equal(open_error(), ERR_INVALID_ARGUMENT);
    config.name = "..";
    assert_int_equal(open_error(), ERR_INVALID_ARGUMENT);
    config.name = "";
    assert_int_equal(open_error(), ERR_INVALID_ARGUMENT);
    config = scene_config();
    config.max_files = AUDIT_MAX_FILES + 1;
    assert_int_equal(open_error(), ERR_INVALID_ARGUMENT);
}

static void another_owners_file_is_refused(void **state)
{
    (void)state;
    scene_put("audit.jsonl", STR(""));
    if (geteuid() != 0 || fchownat(scene_fd, "audit.jsonl", 65534, 65534, 0) < 0)
        skip_because("only root can give a file away");
    assert_int_equal(open_error(), ERR_PERMISSION_DENIED);
}

static void a_link_planted_later_stops_changes(void **state)
{
    struct audit_file *file = scene_open(&config);

    (void)state;
    assert_int_equal(scene_record(file, 1, AUTHORITY_INTENT), 0);
    assert_int_equal(linkat(scene_fd, "audit.jsonl", scene_fd, "alias", 0), 0);
    assert_int_equal(scene_record(file, 2, AUTHORITY_INTENT), ERR_AUDIT_UNAVAILABLE);
    assert_int_equal(unlinkat(scene_fd, "audit.jsonl", 0), 0);
    assert_int_equal(symlinkat("alias", scene_fd, "audit.jsonl"), 0);
    assert_int_equal(unlinkat(scene_fd, "alias", 0), 0);
    assert_int_equal(scene_record(file, 3, AUTHORITY_INTENT), ERR_AUDIT_UNAVAILABLE);
    assert_false(scene_has("alias"));
    audit_file_close(file);
}

/* ---- Rotation ---- */

static void files_are_rotated_by_size_and_the_oldest_goes(void **state)
{
    struct audit_file *file;

    (void)state;
    config.max_bytes = 3 * line_bytes(1) + 2;
    config.max_files = 2;
    file = scene_open(&config);
    for (uint64_t id = 1; id <= 8; id++)
        assert_int_equal(scene_record(file, id, AUTHORITY_SUCCESS), 0);
    expect_ids("1 2 3 4 5 6 7 8", 0);
    assert_int_equal(scene_record(file, 9, AUTHORITY_SUCCESS), 0);
    assert_true(scene_stat("audit.jsonl.2").st_size <= (off_t)config.max_bytes);
    for (uint64_t id = 1; id <= 3; id++)
        assert_int_equal(scene_record(file, id, AUTHORITY_SUCCESS), 0);
    audit_file_close(file);
    assert_false(scene_has("audit.jsonl.3"));
    expect_ids("4 5 6 7 8 9 1 2 3", 0);
    /* What was allocated and not needed is free again. */
    assert_true(scene_stat("audit.jsonl.1").st_blocks * 512 <= 4096);
}

static void a_rotated_file_is_left_by_everybody(void **state)
{
    struct audit_file *file;
    struct audit_file *other;
    off_t size;

    (void)state;
    config.max_bytes = 2 * line_bytes(1) + 2;
    file = scene_open(&config);
    other = scene_open(&config);
    assert_int_equal(scene_record(other, 1, AUTHORITY_SUCCESS), 0);
    assert_int_equal(scene_record(file, 2, AUTHORITY_SUCCESS), 0);
    assert_int_equal(scene_record(file, 3, AUTHORITY_SUCCESS), 0);
    size = scene_stat("audit.jsonl.1").st_size;
    assert_int_equal(scene_stat("audit.jsonl.1").st_mode & 07777, 0400);
    assert_int_equal(scene_record(other, 4, AUTHORITY_SUCCESS), 0);
    assert_int_equal(scene_stat("audit.jsonl.1").st_size, size);
    audit_file_close(file);
    audit_file_close(other);
    expect_ids("1 2 3 4", 0);
}

static void a_record_larger_than_a_file_has_one_to_itself(void **state)
{
    struct audit_file *file;

    (void)state;
    config.max_bytes = 1;
    config.max_files = 4;
    file = scene_open(&config);
    for (uint64_t id = 1; id <= 4; id++)
        assert_int_equal(scene_record(file, id, AUTHORITY_INTENT), 0);
    audit_file_close(file);
    expect_ids("1 2 3 4", 0);
    assert_true(scene_has("audit.jsonl.3"));
}

static void links_planted_among_rotated_files_are_moved_and_not_followed(void **state)
{
    struct audit_file *file;

    (void)state;
    scene_put("target", STR("precious"));
    config.max_bytes = 1;
    config.max_files = 2;
    file = scene_open(&config);
    assert_int_equal(scene_record(file, 1, AUTHORITY_SUCCESS), 0);
    assert_int_equal(symlinkat("target", scene_fd, "audit.jsonl.1"), 0);
    assert_int_equal(symlinkat("target", scene_fd, "audit.jsonl.new"), 0);
    for (uint64_t id = 2; id <= 5; id++)
        assert_int_equal(scene_record(file, id, AUTHORITY_SUCCESS), 0);
    audit_file_close(file);
    expect_ids("3 4 5", 0);
    assert_int_equal(scene_stat("target").st_size, sizeof("precious") - 1);
}

/* A crash between two renames leaves a gap in the numbers. */
static void a_gap_in_the_numbers_costs_no_file(void **state)
{
    struct audit_file *file;

    (void)state;
    config.max_bytes = 1;
    config.max_files = 3;
    file = scene_open(&config);
    for (uint64_t id = 1; id <= 3; id++)
        assert_int_equal(scene_record(file, id, AUTHORITY_SUCCESS), 0);
    assert_int_equal(renameat(scene_fd, "audit.jsonl.2", scene_fd, "audit.jsonl.3"), 0);
    assert_int_equal(renameat(scene_fd, "audit.jsonl.1", scene_fd, "audit.jsonl.2"), 0);
    expect_ids("1 2 3", 0);
    assert_int_equal(scene_record(file, 4, AUTHORITY_SUCCESS), 0);
    expect_ids("1 2 3 4", 0);
    audit_file_close(file);
}

/* Killed after the seal, after the renames, and with a new file that got no name. */
static void a_killed_rotation_is_finished_by_the_next(void **state)
{
    struct audit_file *file = scene_open(&config);
    struct audit_file *other = scene_open(&config);

    (void)state;
    assert_int_equal(scene_record(file, 1, AUTHORITY_INTENT), 0);
    scene_put("audit.jsonl.new", STR(""));
    assert_int_equal(fchmodat(scene_fd, "audit.jsonl", 0400, 0), 0);
    assert_int_equal(scene_record(file, 2, AUTHORITY_INTENT), 0);
    assert_true(scene_has("audit.jsonl.1"));
    assert_int_equal(scene_record(other, 3, AUTHORITY_INTENT), 0);
    assert_int_equal(renameat(scene_fd, "audit.jsonl.1", scene_fd, "audit.jsonl.2"), 0);
    assert_int_equal(fchmodat(scene_fd, "audit.jsonl", 0400, 0), 0);
    assert_int_equal(renameat(scene_fd, "audit.jsonl", scene_fd, "audit.jsonl.1"), 0);
    assert_int_equal(scene_record(other, 4, AUTHORITY_INTENT), 0);
    assert_int_equal(scene_record(file, 5, AUTHORITY_INTENT), 0);
    audit_file_close(file);
    audit_file_close(other);
    assert_int_equal(fchmodat(scene_fd, "audit.jsonl", 0400, 0), 0);
    file = scene_open(&config);
    assert_int_equal(scene_record(file, 6, AUTHORITY_INTENT), 0);
    audit_file_close(file);
    expect_ids("1 2 3 4 5 6", 0);
    assert_int_equal(scene_stat("audit.jsonl.3").st_mode & 0777, 0400);
}

static void a_file_that_cannot_be_rotated_grows_to_its_ceiling(void **state)
{
    struct audit_file *file;
    uint64_t id = 0;

    (void)state;
    config.max_bytes = 64 << 10;
    config.max_files = 1;
    assert_int_equal(mkdirat(scene_fd, "audit.jsonl.1", 0700), 0);
    file = scene_open(&config);
    while (id < 10000 && scene_record(file, id + 1, AUTHORITY_SUCCESS) == 0)
        id++;
    assert_true(id * line_bytes(1) > config.max_bytes);
    assert_true(scene_stat("audit.jsonl").st_size <= 2 * (off_t)config.max_bytes);
    assert_int_equal(scene_record(file, 9999, AUTHORITY_INTENT), ERR_AUDIT_UNAVAILABLE);
    assert_int_equal(unlinkat(scene_fd, "audit.jsonl.1", AT_REMOVEDIR), 0);
    assert_int_equal(scene_record(file, 9999, AUTHORITY_INTENT), 0);
    audit_file_close(file);
    expect_count(id + 1);
}

static void a_removed_file_is_made_again(void **state)
{
    struct audit_file *file = scene_open(&config);

    (void)state;
    assert_int_equal(scene_record(file, 1, AUTHORITY_INTENT), 0);
    assert_int_equal(unlinkat(scene_fd, "audit.jsonl", 0), 0);
    assert_int_equal(scene_record(file, 1, AUTHORITY_SUCCESS), 0);
    assert_int_equal(unlinkat(scene_fd, "audit.jsonl.lock", 0), 0);
    assert_int_equal(unlinkat(scene_fd, "audit.jsonl", 0), 0);
    assert_int_equal(scene_record(file, 2, AUTHORITY_INTENT), 0);
    audit_file_close(file);
    expect_ids("2", 0);
}

/* ---- Repair ---- */

static void a_torn_last_line_does_not_spoil_the_next_record(void **state)
{
    struct audit_file *file;

    (void)state;
    scene_put("audit.jsonl", STR("{\"timestamp\":\"2026-"));
    file = scene_open(&config);
    assert_int_equal(scene_record(file, 1, AUTHORITY_INTENT), 0);
    scene_put("audit.jsonl", STR("{\"torn by another proce"));
    assert_int_equal(scene_record(file, 1, AUTHORITY_SUCCESS), 0);
    assert_int_equal(scene_record(file, 2, AUTHORITY_SUCCESS), 0);
    audit_file_close(file);
    expect_ids("1 1 2", 2);
}

static void tear_a_line(void)
{
    scene_put("audit.jsonl", STR("{\"timestamp\":"));
}

static void put_a_line(void)
{
    scene_put("audit.jsonl", STR("whole\n"));
}

static void remove_file(void)
{
    assert_int_equal(unlinkat(scene_fd, "audit.jsonl", 0), 0);
}

static void a_line_torn_at_the_last_moment_does_not_spoil_a_record(void **state)
{
    struct audit_file *file = scene_open(&config);

    (void)state;
    assert_int_equal(scene_record(file, 1, AUTHORITY_INTENT), 0);
    meanwhile = tear_a_line;
    assert_int_equal(scene_record(file, 2, AUTHORITY_INTENT), 0);
    expect_ids("1 2", 1);
    meanwhile = put_a_line;
    assert_int_equal(scene_record(file, 3, AUTHORITY_INTENT), 0);
    expect_ids("1 2 3", 2);
    meanwhile = tear_a_line;
    assert_int_equal(scene_record(file, 3, AUTHORITY_SUCCESS), 0);
    audit_file_close(file);
    expect_ids("1 2 3 3", 3);
}

static void a_file_removed_at_the_last_moment_takes_no_record_along(void **state)
{
    struct audit_file *file = scene_open(&config);

    (void)state;
    assert_int_equal(scene_record(file, 1, AUTHORITY_INTENT), 0);
    meanwhile = remove_file;
    assert_int_equal(scene_record(file, 2, AUTHORITY_INTENT), 0);
    audit_file_close(file);
    expect_ids("2", 0);
}

/* ---- Syncing ---- */

static void the_policy_says_what_is_synced(void **state)
{
    static const unsigned expected[] = {
        [AUDIT_SYNC_NEVER] = 0, [AUDIT_SYNC_INTENTS] = 1, [AUDIT_SYNC_ALL] = 3};

    (void)state;
    for (enum audit_sync sync = AUDIT_SYNC_NEVER; sync <= AUDIT_SYNC_ALL; sync++) {
        struct audit_file *file;

        config.sync = sync;
        syncs = 0;
        file = scene_open(&config);
        assert_int_equal(scene_record(file, 1, AUTHORITY_DENIED), 0);
        assert_int_equal(scene_record(file, 2, AUTHORITY_INTENT), 0);
        assert_int_equal(scene_record(file, 2, AUTHORITY_SUCCESS), 0);
        assert_int_equal(syncs, expected[sync]);
        audit_file_close(file);
    }
}

static void an_intent_that_is_not_on_the_disk_is_refused(void **state)
{
    struct audit_file *file;

    (void)state;
    config.sync = AUDIT_SYNC_INTENTS;
    file = scene_open(&config);
    is_disk_broken = true;
    assert_int_equal(scene_record(file, 1, AUTHORITY_INTENT), ERR_AUDIT_UNAVAILABLE);
    assert_int_equal(scene_record(file, 1, AUTHORITY_FAILED), 0);
    audit_file_close(file);
}

/* ---- Threads and locks ---- */

enum { THREADS = 4, RECORDS_EACH = 500 };

static void *record_many(void *data)
{
    size_t failed = 0;

    for (uint64_t id = 1; id <= RECORDS_EACH; id++) {
        failed += scene_record(data, id, AUTHORITY_INTENT) < 0;
        failed += scene_record(data, id, AUTHORITY_SUCCESS) < 0;
    }
    return failed == 0 ? data : NULL;
}

static void threads_share_a_file_through_rotations(void **state)
{
    struct audit_file *file;
    pthread_t threads[THREADS];

    (void)state;
    config.max_bytes = 32 << 10;
    config.max_files = AUDIT_MAX_FILES;
    config.sync = AUDIT_SYNC_INTENTS;
    file = scene_open(&config);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_many, file), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *result = NULL;

        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, file);
    }
    audit_file_close(file);
    assert_true(scene_has("audit.jsonl.2"));
    expect_count((size_t)2 * THREADS * RECORDS_EACH);
}

/*
 * A stopped process that holds the lock: no waiting for ever, no change without
 * a record. It came after somebody had removed the lock file, and counts too.
 */
static void a_lock_that_is_never_given_back_refuses_changes(void **state)
{
    struct audit_file *file;
    cleanup_fd int lock = -1;

    (void)state;
    config.lock_wait_ms = 100;
    file = scene_open(&config);
    assert_int_equal(unlinkat(scene_fd, "audit.jsonl.lock", 0), 0);
    audit_file_close(scene_open(&config));
    lock = openat(scene_fd, "audit.jsonl.lock", O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(scene_record(file, 1, AUTHORITY_INTENT), ERR_AUDIT_UNAVAILABLE);
    assert_int_equal(flock(lock, LOCK_UN), 0);
    assert_int_equal(scene_record(file, 2, AUTHORITY_INTENT), 0);
    /* With space in hand nobody needs the lock. */
    assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(scene_record(file, 2, AUTHORITY_SUCCESS), 0);
    assert_int_equal(scene_record(file, 3, AUTHORITY_INTENT), 0);
    assert_int_equal(flock(lock, LOCK_UN), 0);
    audit_file_close(file);
    expect_ids("2 2 3", 0);
}

/* One millisecond after the other. */
static void record_next(struct audit_file *file, uint64_t id, enum authority_operation operation,
                        enum authority_outcome outcome)
{
    static int64_t next_ms = 1772366400123;
    struct authority_event event = scene_event(id, outcome);

    event.wall_ms = next_ms++;
    event.operation = operation;
    assert_int_equal(audit_file_record(file, &event), 0);
}

static void reads_wait_and_nothing_overtakes_them(void **state)
{
    struct audit_file *file;

    (void)state;
    config.gathers_reads = true;
    file = scene_open(&config);
    record_next(file, 1, AUTHORITY_OP_READ, AUTHORITY_SUCCESS);
    record_next(file, 2, AUTHORITY_OP_READ, AUTHORITY_SUCCESS);
    expect_ids("", 0);
    record_next(file, 3, AUTHORITY_OP_WRITE, AUTHORITY_INTENT);
    expect_ids("1 2 3", 0);
    /* The outcome of a change does not wait, and neither does a refusal. */
    record_next(file, 4, AUTHORITY_OP_READ, AUTHORITY_SUCCESS);
    record_next(file, 3, AUTHORITY_OP_WRITE, AUTHORITY_SUCCESS);
    expect_ids("1 2 3 4 3", 0);
    record_next(file, 5, AUTHORITY_OP_READ, AUTHORITY_SUCCESS);
    record_next(file, 6, AUTHORITY_OP_READ, AUTHORITY_DENIED);
    expect_ids("1 2 3 4 3 5 6", 0);
    record_next(file, 7, AUTHORITY_OP_READ, AUTHORITY_SUCCESS);
    record_next(file, 8, AUTHORITY_OP_READ, AUTHORITY_FAILED);
    expect_ids("1 2 3 4 3 5 6 7 8", 0);
    record_next(file, 9, AUTHORITY_OP_READ, AUTHORITY_SUCCESS);
    audit_file_flush(file);
    expect_ids("1 2 3 4 3 5 6 7 8 9", 0);
    record_next(file, 10, AUTHORITY_OP_READ, AUTHORITY_SUCCESS);
    audit_file_close(file);
    expect_ids("1 2 3 4 3 5 6 7 8 9 10", 0);
}

/* It repeats what its steps told; with a step before it, all of them are written. */
static void the_end_of_a_call_waits_also_when_something_changes(void **state)
{
    struct audit_file *file;

    (void)state;
    config.gathers_reads = true;
    file = scene_open(&config);
    record_next(file, 1, AUTHORITY_OP_CALL, AUTHORITY_SUCCESS);
    record_next(file, 2, AUTHORITY_OP_WRITE, AUTHORITY_INTENT);
    record_next(file, 2, AUTHORITY_OP_WRITE, AUTHORITY_SUCCESS);
    record_next(file, 3, AUTHORITY_OP_CALL, AUTHORITY_SUCCESS);
    expect_ids("2 2", 0);
    record_next(file, 4, AUTHORITY_OP_CALL, AUTHORITY_FAILED);
    expect_ids("1 2 2 3 4", 0);
    record_next(file, 5, AUTHORITY_OP_CALL, AUTHORITY_SUCCESS);
    record_next(file, 6, AUTHORITY_OP_READ, AUTHORITY_SUCCESS);
    record_next(file, 7, AUTHORITY_OP_WRITE, AUTHORITY_INTENT);
    expect_ids("1 2 2 3 4 5 6 7", 0);
    record_next(file, 8, AUTHORITY_OP_CALL, AUTHORITY_SUCCESS);
    audit_file_flush(file);
    expect_ids("1 2 2 3 4 5 6 7 8", 0);
    audit_file_close(file);
}

static void a_thousand_waiting_reads_are_all_written(void **state)
{
    struct audit_file *file;
    cleanup_found struct scene_found found = {0};

    (void)state;
    config.gathers_reads = true;
    file = scene_open(&config);
    for (uint64_t id = 1; id <= 1000; id++)
        assert_int_equal(scene_record_read(file, id, AUTHORITY_SUCCESS), 0);
    audit_file_close(file);
    found = scene_find_all();
    assert_int_equal(found.count, 1000);
    assert_int_equal(found.skipped, 0);
}

static void record_as_formatted(struct audit_file *file, const struct authority_event *event,
                                struct buf *expected)
{
    assert_int_equal(audit_file_record(file, event), 0);
    assert_int_equal(audit_format(event, expected), 0);
    assert_int_equal(buf_append_char(expected, '\n'), 0);
}

static void expect_content(const struct buf *expected)
{
    static char got[1 << 20];
    int fd = openat(scene_fd, "audit.jsonl", O_RDONLY | O_CLOEXEC);
    ssize_t len;

    assert_true(fd >= 0);
    len = read(fd, got, sizeof(got));
    close(fd);
    assert_int_equal(len, expected->len);
    assert_memory_equal(got, expected->data, expected->len);
}

/* What lines of one origin share is made once: each line is still that of its own event. */
static void each_line_tells_its_own_origin(void **state)
{
    static char much[300]; /* longer than what is kept of it */
    static const struct authority_subject subjects[] = {
        {.type = AUTHORITY_AGENT_RUN, .id = "talk", .run_id = "run"},
        {.type = AUTHORITY_AGENT_RUN, .id = "talk", .run_id = ""},
        {.type = AUTHORITY_AGENT_RUN, .id = "talk"},
        {.type = AUTHORITY_CORE, .id = "talk"},
        {.type = AUTHORITY_CORE, .id = "a \",\"root\":{ \\ b"},
        {.type = AUTHORITY_CORE, .id = much},
        {.type = AUTHORITY_CORE, .id = NULL},
    };
    static const struct authority_root roots[] = {
        {.kind = AUTHORITY_WORKSPACE, .id = "ws"},
        {.kind = AUTHORITY_WORKSPACE, .id = "ws", .display_name = ""},
        {.kind = AUTHORITY_WORKSPACE, .id = "ws", .display_name = "Notes \n\xff"},
        {.kind = AUTHORITY_EXTENSION_STORAGE, .id = "ws"},
        {.kind = AUTHORITY_WORKSPACE, .id = "ws", .display_name = much},
    };
    cleanup_buf struct buf expected = BUF_INIT(1 << 20);
    struct audit_file *file = scene_open(&config);
    uint64_t id = 0;

    (void)state;
    memset(much, 'x', sizeof(much) - 1);
    for (size_t i = 0; i < 4 * array_size(subjects) * array_size(roots); i++) {
        struct authority_event event = scene_event(++id, AUTHORITY_SUCCESS);

        /* Each twice in a row, in two orders. */
        event.subject = &subjects[i / 2 % array_size(subjects)];
        event.root = &roots[i / 2 / array_size(subjects) % array_size(roots)];
        event.operation = AUTHORITY_OP_REQUEST_ROOT;
        record_as_formatted(file, &event, &expected);
    }
    audit_file_close(file);
    expect_content(&expected);
}

/* The line of a success is made from its intent's, and must be what it would be without. */
static void each_outcome_tells_what_is_true_of_it(void **state)
{
    static const struct authority_call calls[] = {{.tool = "write_file", .id = 7},
                                                  {.tool = "edit_file", .id = 8}};
    static char long_name[2000];
    cleanup_buf struct buf expected = BUF_INIT(1 << 20);
    struct audit_file *file = scene_open(&config);

    (void)state;
    memset(long_name, 'x', sizeof(long_name));
    for (uint64_t id = 1; id <= 400; id++) {
        struct authority_event event = scene_event(id, AUTHORITY_INTENT);
        struct authority_event other;

        event.call = id % 3 > 0 ? &calls[id % 3 - 1] : NULL;
        event.reason = id % 5 > 0 ? "outcome\":\"intent" : NULL;
        event.name = id % 7 > 0 ? STR("\",\"outcome\":\"intent\"") : STR("a");
        if (id % 11 == 0)
            event.name = (struct str){long_name, id};
        if (id % 13 == 0)
            event.name = (struct str){long_name, sizeof(long_name)};
        other = event;
        other.request_id += 1000;
        record_as_formatted(file, &event, &expected);
        if (id % 2 > 0)
            record_as_formatted(file, &other, &expected);
        event.outcome = other.outcome = AUTHORITY_SUCCESS;
        event.wall_ms += (int64_t)id * 1000;
        if (id % 8 == 0)
            event.wrapper_ids[event.wrapper_count++] = "hook";
        else if (id % 8 == 2)
            event.call = &calls[0];
        else if (id % 8 == 4)
            event.policy_source = "policy";
        else if (id % 8 == 6)
            event.destination = STR("elsewhere");
        record_as_formatted(file, &event, &expected);
        if (id % 2 > 0)
            record_as_formatted(file, &other, &expected);
    }
    audit_file_close(file);
    expect_content(&expected);
}

/* A host may note intent and success from the same room, with other words. */
static void an_outcome_with_other_words_in_the_same_place_tells_those(void **state)
{
    enum { WORDS = 10 };
    cleanup_buf struct buf expected = BUF_INIT(1 << 20);
    struct audit_file *file = scene_open(&config);

    (void)state;
    for (unsigned changed = 0; changed <= WORDS; changed++) {
        char words[WORDS][8] = {"one", "two",   "three", "four", "five",
                                "six", "seven", "eight", "nine", "ten"};
        const struct authority_subject subject = {.type = AUTHORITY_CORE, .id = words[0]};
        const struct authority_root root = {
            .kind = AUTHORITY_WORKSPACE, .id = words[1], .display_name = words[2]};
        struct authority_call call = {
            .tool = words[3], .decision = words[4], .id = 1, .client = words[9]};
        struct authority_event event = scene_event(changed + 1, AUTHORITY_INTENT);

        event.subject = &subject;
        event.root = &root;
        event.call = &call;
        event.name = (struct str){words[5], 3};
        event.destination = (struct str){words[6], 5};
        event.reason = words[7];
        event.policy_source = words[8];
        record_as_formatted(file, &event, &expected);
        event.outcome = AUTHORITY_SUCCESS;
        if (changed < WORDS)
            words[changed][0] = 'X';
        else
            call.id = 2;
        record_as_formatted(file, &event, &expected);
    }
    audit_file_close(file);
    expect_content(&expected);
}

/* Of what changes nothing only an intent, which a host may note, has a long name. */
static void the_success_of_a_read_with_an_intent_has_a_short_name(void **state)
{
    static char name[AUDIT_KEPT_NAME_BYTES + 1];
    cleanup_buf struct buf expected = BUF_INIT(1 << 16);
    struct audit_file *file = scene_open(&config);
    struct authority_event event = scene_event(1, AUTHORITY_INTENT);

    (void)state;
    memset(name, 'x', sizeof(name));
    event.operation = AUTHORITY_OP_REQUEST_ROOT;
    event.name = (struct str){name, sizeof(name)};
    record_as_formatted(file, &event, &expected);
    event.outcome = AUTHORITY_SUCCESS;
    record_as_formatted(file, &event, &expected);
    audit_file_close(file);
    expect_content(&expected);
}

TEST_MAIN(file_test(records_are_appended_also_by_the_next_process),
          file_test(each_line_tells_its_own_origin),
          file_test(each_outcome_tells_what_is_true_of_it),
          file_test(an_outcome_with_other_words_in_the_same_place_tells_those),
          file_test(the_success_of_a_read_with_an_intent_has_a_short_name),
          file_test(the_files_are_private),
          file_test(planted_links_are_refused_and_their_targets_untouched),
          file_test(what_is_no_file_of_ours_is_refused), file_test(another_owners_file_is_refused),
          file_test(a_link_planted_later_stops_changes),
          file_test(files_are_rotated_by_size_and_the_oldest_goes),
          file_test(a_rotated_file_is_left_by_everybody),
          file_test(a_record_larger_than_a_file_has_one_to_itself),
          file_test(links_planted_among_rotated_files_are_moved_and_not_followed),
          file_test(a_gap_in_the_numbers_costs_no_file),
          file_test(a_killed_rotation_is_finished_by_the_next),
          file_test(a_file_that_cannot_be_rotated_grows_to_its_ceiling),
          file_test(a_removed_file_is_made_again),
          file_test(a_torn_last_line_does_not_spoil_the_next_record),
          file_test(a_line_torn_at_the_last_moment_does_not_spoil_a_record),
          file_test(a_file_removed_at_the_last_moment_takes_no_record_along),
          file_test(the_policy_says_what_is_synced),
          file_test(an_intent_that_is_not_on_the_disk_is_refused),
          file_test(threads_share_a_file_through_rotations),
          file_test(a_lock_that_is_never_given_back_refuses_changes),
          file_test(reads_wait_and_nothing_overtakes_them),
          file_test(the_end_of_a_call_waits_also_when_something_changes),
          file_test(a_thousand_waiting_reads_are_all_written))
