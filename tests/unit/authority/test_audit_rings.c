/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes and refusals have their own files: reads never push them out, and a search shows both as
 * one log.
 */
#include "audit_scene.h"
#include "small_disk.h"

#include <signal.h>

static struct audit_config config;

static int start(void **state)
{
    scene_start(state);
    config = scene_config();
    return 0;
}

#define ring_test(function) cmocka_unit_test_setup_teardown(function, start, scene_stop)

static void expect_ids(const char *ids)
{
    cleanup_found struct scene_found found = scene_find_all();

    if (!str_eq_c(buf_view(&found.ids), ids))
        fail_msg("found %.*s", STR_ARG(buf_view(&found.ids)));
    assert_int_equal(found.skipped, 0);
}

static size_t count_lines(const char *name)
{
    cleanup_fd int fd = openat(scene_fd, name, O_RDONLY | O_CLOEXEC);
    size_t count = 0;
    char bytes[4096];
    ssize_t got;

    assert_true(fd >= 0);
    while ((got = read(fd, bytes, sizeof(bytes))) > 0) {
        for (ssize_t i = 0; i < got; i++)
            count += bytes[i] == '\n';
    }
    assert_int_equal(got, 0);
    return count;
}

static void record(struct audit_file *file, uint64_t id, int64_t after_ms,
                   enum authority_operation operation, enum authority_outcome outcome)
{
    struct authority_event event = scene_event(id, outcome);

    event.wall_ms += after_ms;
    event.operation = operation;
    assert_int_equal(audit_file_record(file, &event), 0);
}

static void each_record_is_in_the_ring_of_its_kind(void **state)
{
    static const struct {
        enum authority_operation operation;
        enum authority_outcome outcome;
        bool is_read;
    } cases[] = {
        {AUTHORITY_OP_WRITE, AUTHORITY_INTENT, false},
        {AUTHORITY_OP_WRITE, AUTHORITY_SUCCESS, false},
        {AUTHORITY_OP_REMOVE, AUTHORITY_FAILED, false},
        {AUTHORITY_OP_TEMP, AUTHORITY_SUCCESS, false},
        {AUTHORITY_OP_REQUEST_ROOT, AUTHORITY_SUCCESS, false},
        {AUTHORITY_OP_READ, AUTHORITY_DENIED, false},
        {AUTHORITY_OP_WATCH, AUTHORITY_DENIED, false},
        {AUTHORITY_OP_READ, AUTHORITY_SUCCESS, true},
        {AUTHORITY_OP_READ, AUTHORITY_FAILED, true},
        {AUTHORITY_OP_LIST, AUTHORITY_SUCCESS, true},
        {AUTHORITY_OP_STAT, AUTHORITY_FAILED, true},
        {AUTHORITY_OP_WALK, AUTHORITY_SUCCESS, true},
        {AUTHORITY_OP_WATCH, AUTHORITY_SUCCESS, true},
    };
    struct audit_file *file = scene_open(&config);
    size_t changes = 0;
    size_t reads = 0;

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        record(file, i + 1, 0, cases[i].operation, cases[i].outcome);
        reads += cases[i].is_read;
        changes += !cases[i].is_read;
        assert_int_equal(count_lines("audit.jsonl"), changes);
        assert_int_equal(count_lines("audit.jsonl.reads"), reads);
    }
    audit_file_close(file);
}

static void reads_never_push_a_change_out(void **state)
{
    static const enum authority_outcome outcomes[] = {AUTHORITY_SUCCESS, AUTHORITY_FAILED};
    struct audit_query changes = {.operation = STR("write")};
    struct audit_file *file;

    (void)state;
    config.max_bytes = 16 << 10;
    config.max_files = 2;
    config.gathers_reads = true;
    file = scene_open(&config);
    record(file, 1, 0, AUTHORITY_OP_WRITE, AUTHORITY_INTENT);
    record(file, 1, 0, AUTHORITY_OP_WRITE, AUTHORITY_SUCCESS);
    record(file, 2, 0, AUTHORITY_OP_WRITE, AUTHORITY_DENIED);
    for (uint64_t id = 3; id <= 1000; id++)
        record(file, id, (int64_t)id, AUTHORITY_OP_READ, outcomes[id % 2]);
    audit_file_close(file);
    assert_true(scene_has("audit.jsonl.reads.2"));
    assert_false(scene_has("audit.jsonl.reads.3"));
    assert_false(scene_has("audit.jsonl.1"));
    {
        cleanup_found struct scene_found found = scene_find(&changes);

        assert_str(buf_view(&found.ids), "1 1 2");
    }
}

/* ---- Searching ---- */

static void a_search_merges_both_rings_by_time(void **state)
{
    struct audit_file *file;

    (void)state;
    config.gathers_reads = true;
    config.max_bytes = 1; /* one record a file */
    file = scene_open(&config);
    record(file, 1, 10, AUTHORITY_OP_READ, AUTHORITY_FAILED);
    record(file, 2, 20, AUTHORITY_OP_WRITE, AUTHORITY_INTENT);
    record(file, 3, 30, AUTHORITY_OP_READ, AUTHORITY_FAILED);
    record(file, 4, 40, AUTHORITY_OP_READ, AUTHORITY_SUCCESS);
    record(file, 5, 50, AUTHORITY_OP_READ, AUTHORITY_DENIED);
    record(file, 2, 60, AUTHORITY_OP_WRITE, AUTHORITY_SUCCESS);
    record(file, 6, 70, AUTHORITY_OP_READ, AUTHORITY_SUCCESS);
    audit_file_close(file);
    expect_ids("1 2 3 4 5 2 6");
    {
        cleanup_found struct scene_found found =
            scene_find(&(struct audit_query){.max_records = 3});

        assert_str(buf_view(&found.ids), "1 2 3");
    }
    {
        cleanup_found struct scene_found found =
            scene_find(&(struct audit_query){.since_ms = 1772366400123 + 40, .max_records = 2});

        assert_str(buf_view(&found.ids), "4 5");
    }
}

/* 9 comes before 10: they are numbers. */
static void within_a_millisecond_requests_are_in_order(void **state)
{
    struct audit_file *file = scene_open(&config);

    (void)state;
    record(file, 8, 0, AUTHORITY_OP_WRITE, AUTHORITY_INTENT);
    record(file, 9, 0, AUTHORITY_OP_READ, AUTHORITY_SUCCESS);
    record(file, 10, 0, AUTHORITY_OP_WRITE, AUTHORITY_INTENT);
    record(file, 11, 0, AUTHORITY_OP_READ, AUTHORITY_FAILED);
    record(file, 10, 0, AUTHORITY_OP_WRITE, AUTHORITY_SUCCESS);
    audit_file_close(file);
    expect_ids("8 9 10 10 11");
}

/* Whoever had one ring only has left it as it was. */
static void one_ring_alone_is_found_too(void **state)
{
    struct audit_file *file = scene_open(&config);

    (void)state;
    record(file, 1, 0, AUTHORITY_OP_WRITE, AUTHORITY_INTENT);
    record(file, 2, 1, AUTHORITY_OP_READ, AUTHORITY_SUCCESS);
    audit_file_close(file);
    assert_int_equal(renameat(scene_fd, "audit.jsonl.reads", scene_fd, "kept"), 0);
    expect_ids("1");
    assert_int_equal(unlinkat(scene_fd, "audit.jsonl", 0), 0);
    assert_int_equal(renameat(scene_fd, "kept", scene_fd, "audit.jsonl.reads"), 0);
    expect_ids("2");
}

/* ---- What goes wrong with one ring ---- */

static void reads_that_cannot_be_recorded_stop_no_change(void **state)
{
    struct audit_file *file = scene_open(&config);

    (void)state;
    assert_int_equal(linkat(scene_fd, "audit.jsonl.reads", scene_fd, "alias", 0), 0);
    assert_int_equal(scene_record_read(file, 1, AUTHORITY_SUCCESS), ERR_AUDIT_UNAVAILABLE);
    assert_int_equal(scene_record(file, 2, AUTHORITY_INTENT), 0);
    assert_int_equal(scene_record(file, 2, AUTHORITY_SUCCESS), 0);
    audit_file_close(file);
    assert_int_equal(unlinkat(scene_fd, "audit.jsonl.reads", 0), 0);
    expect_ids("2 2");
}

struct killed {
    int fd; /* the id of each request is written here when it was recorded */
};

static int record_until_killed(void *data)
{
    const struct killed *killed = data;
    struct audit_file *file = NULL;

    CHECK(audit_file_open(&config, &file, NULL) == 0);
    for (uint64_t id = 1; true; id++) {
        CHECK(scene_record(file, id, AUTHORITY_INTENT) == 0);
        CHECK(scene_record_read(file, id, AUTHORITY_FAILED) == 0);
        CHECK(write(killed->fd, &id, sizeof(id)) == (ssize_t)sizeof(id));
    }
}

struct met {
    uint64_t changes;
    uint64_t reads;
};

static int meet(void *data, const struct json_value *found)
{
    struct met *met = data;
    struct str word;

    assert_true(json_get_str(found, STR("operation"), &word));
    met->reads += str_eq(word, STR("read"));
    met->changes += str_eq(word, STR("write"));
    return 0;
}

/* In the middle of rotations too: a file holds some eighty records. */
static void a_kill_leaves_both_rings_readable(void **state)
{
    struct audit_file *file;
    struct met met = {0};
    uint64_t acknowledged = 0;
    struct killed killed;
    struct child child;
    uint64_t id;
    int ends[2];

    (void)state;
    config.max_bytes = 32 << 10;
    config.max_files = AUDIT_MAX_FILES;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    killed.fd = ends[1];
    child = start_child(record_until_killed, &killed);
    close(ends[1]);
    while (acknowledged < 300 && read(ends[0], &id, sizeof(id)) == (ssize_t)sizeof(id))
        acknowledged++;
    assert_int_equal(acknowledged, 300);
    assert_int_equal(kill(child.pid, SIGKILL), 0);
    while (read(ends[0], &id, sizeof(id)) == (ssize_t)sizeof(id))
        acknowledged++;
    close(ends[0]);
    close(child.result_fd);
    assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
    file = scene_open(&config);
    assert_int_equal(scene_record(file, 1, AUTHORITY_INTENT), 0);
    assert_int_equal(scene_record_read(file, 1, AUTHORITY_SUCCESS), 0);
    audit_file_close(file);
    assert_int_equal(
        audit_query(&config, &(struct audit_query){.max_records = 0}, meet, &met, NULL, NULL), 0);
    /* The ring may have been turned over before the kill came. */
    if (!scene_has("audit.jsonl.64")) {
        assert_in_range(met.changes, acknowledged + 1, acknowledged + 2);
        assert_in_range(met.reads, acknowledged + 1, acknowledged + 2);
    }
    assert_true(met.changes > 100 && met.reads > 100);
}

TEST_MAIN(ring_test(each_record_is_in_the_ring_of_its_kind),
          ring_test(reads_never_push_a_change_out), ring_test(a_search_merges_both_rings_by_time),
          ring_test(within_a_millisecond_requests_are_in_order),
          ring_test(one_ring_alone_is_found_too),
          ring_test(reads_that_cannot_be_recorded_stop_no_change),
          ring_test(a_kill_leaves_both_rings_readable))
