/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log with several processes, with killed ones, and on a full disk. */
#include "audit_scene.h"
#include "small_disk.h"

#include <signal.h>
#include <sys/resource.h>

static void expect_done(const struct child *child)
{
    int line = end_child(child);

    if (line != 0)
        fail_msg("the child stopped at line %d", line);
}

/* ---- Several processes ---- */

enum { WRITERS = 2, RECORDS_EACH = 10000 };

static struct audit_config small_files(void)
{
    struct audit_config config = scene_config();

    config.max_bytes = 100 << 10;
    config.max_files = AUDIT_MAX_FILES;
    return config;
}

/* Requests of one writer are numbered upwards from a base of its own. */
static int write_many(void *data)
{
    uint64_t base = *(const uint64_t *)data;
    struct audit_config config = small_files();
    struct audit_file *file = NULL;

    CHECK(audit_file_open(&config, &file, NULL) == 0);
    for (uint64_t i = 0; i < RECORDS_EACH; i++) {
        enum authority_outcome outcome = i % 2 == 0 ? AUTHORITY_INTENT : AUTHORITY_SUCCESS;

        CHECK(scene_record(file, base + i / 2, outcome) == 0);
    }
    audit_file_close(file);
    return 0;
}

/* How often each record was met. */
struct tally {
    uint8_t seen[WRITERS][RECORDS_EACH];
    size_t count;
};

static int count_record(void *data, const struct json_value *record)
{
    struct tally *tally = data;
    struct str text;
    int64_t id = 0;
    int64_t writer;
    int64_t index;

    assert_true(json_get_str(record, STR("requestId"), &text) && str_to_int64(text, &id));
    assert_true(json_get_str(record, STR("outcome"), &text));
    writer = id / RECORDS_EACH - 1;
    index = id % RECORDS_EACH * 2 + str_eq(text, STR("success"));
    assert_in_range(writer, 0, WRITERS - 1);
    tally->seen[writer][index]++;
    tally->count++;
    return 0;
}

static void tally_all(struct tally *tally)
{
    struct audit_config config = small_files();
    uint64_t skipped = 0;

    memset(tally, 0, sizeof(*tally));
    assert_int_equal(audit_query(&config, &(struct audit_query){.max_records = 0}, count_record,
                                 tally, &skipped, NULL),
                     0);
    assert_int_equal(skipped, 0);
}

static void two_processes_lose_and_tear_nothing(void **state)
{
    static struct tally tally;
    static uint64_t bases[WRITERS] = {RECORDS_EACH, 2 * RECORDS_EACH};
    struct child children[WRITERS];

    (void)state;
    for (size_t i = 0; i < WRITERS; i++)
        children[i] = start_child(write_many, &bases[i]);
    for (size_t i = 0; i < WRITERS; i++)
        expect_done(&children[i]);
    tally_all(&tally);
    assert_int_equal(tally.count, WRITERS * RECORDS_EACH);
    for (size_t writer = 0; writer < WRITERS; writer++)
        for (size_t i = 0; i < RECORDS_EACH; i++)
            assert_int_equal(tally.seen[writer][i], 1);
    assert_true(scene_has("audit.jsonl.20"));
    assert_false(scene_has("audit.jsonl.64"));
}

/* What a search has seen once, the next one sees too, however often the files move meanwhile. */
static void a_search_misses_nothing_while_files_rotate(void **state)
{
    static struct tally before;
    static struct tally now;
    static uint64_t base = RECORDS_EACH;
    struct child child = start_child(write_many, &base);

    (void)state;
    memset(&before, 0, sizeof(before));
    do {
        tally_all(&now);
        assert_true(now.count >= before.count);
        for (size_t i = 0; i < RECORDS_EACH; i++) {
            assert_true(now.seen[0][i] <= 1);
            assert_true(now.seen[0][i] >= before.seen[0][i]);
            /* No gap: nothing is seen whose forerunner is not. */
            assert_true(i == 0 || now.seen[0][i] <= now.seen[0][i - 1]);
        }
        before = now;
    } while (now.count < RECORDS_EACH);
    expect_done(&child);
}

/* ---- Killed ---- */

struct loop_end {
    int fd; /* each acknowledged intent's id is written here */
    uint64_t base;
};

static int write_until_killed(void *data)
{
    const struct loop_end *end = data;
    struct audit_config config = small_files();
    struct audit_file *file = NULL;

    CHECK(audit_file_open(&config, &file, NULL) == 0);
    for (uint64_t id = end->base; id < end->base + RECORDS_EACH; id++) {
        CHECK(scene_record(file, id, AUTHORITY_INTENT) == 0);
        CHECK(write(end->fd, &id, sizeof(id)) == (ssize_t)sizeof(id));
        CHECK(scene_record(file, id, AUTHORITY_SUCCESS) == 0);
    }
    return 0;
}

static int note_intent(void *data, const struct json_value *record)
{
    uint8_t *seen = data;
    struct str text;
    int64_t id = 0;

    assert_true(json_get_str(record, STR("requestId"), &text) && str_to_int64(text, &id));
    assert_in_range(id, 0, 4 * RECORDS_EACH - 1);
    seen[id] = 1;
    return 0;
}

/* Also with another process that goes on, so that its lines come behind torn ones. */
static void intents_that_were_acknowledged_survive_a_kill(void **state)
{
    static uint8_t seen[4 * RECORDS_EACH];
    struct audit_config config = small_files();
    struct audit_query intents = {.outcome = STR("intent")};
    struct audit_file *file = scene_open(&config);

    (void)state;
    for (uint64_t round = 0; round < 3; round++) {
        struct loop_end end = {.base = round * RECORDS_EACH};
        struct child child;
        uint64_t id = 0;
        size_t count = 0;
        int ends[2];

        memset(seen, 0, sizeof(seen));
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        end.fd = ends[1];
        child = start_child(write_until_killed, &end);
        close(ends[1]);
        while (count < 300 && read(ends[0], &id, sizeof(id)) == (ssize_t)sizeof(id)) {
            assert_int_equal(
                scene_record(file, 3 * RECORDS_EACH + id % RECORDS_EACH, AUTHORITY_INTENT), 0);
            count++;
        }
        assert_int_equal(kill(child.pid, SIGKILL), 0);
        while (read(ends[0], &id, sizeof(id)) == (ssize_t)sizeof(id))
            count++;
        close(ends[0]);
        close(child.result_fd);
        assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
        assert_int_equal(audit_query(&config, &intents, note_intent, seen, NULL, NULL), 0);
        for (uint64_t i = end.base; i < end.base + count; i++)
            assert_int_equal(seen[i], 1);
        for (uint64_t i = 0; i < 300; i++)
            assert_int_equal(seen[3 * RECORDS_EACH + i], 1);
    }
    audit_file_close(file);
}

static int open_record_and_die(void *data)
{
    struct audit_config config = scene_config();
    struct audit_file *file = NULL;

    (void)data;
    CHECK(audit_file_open(&config, &file, NULL) == 0);
    CHECK(scene_record(file, 1, AUTHORITY_INTENT) == 0);
    return 0;
}

static void space_of_dead_processes_is_used_again(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        struct child child = start_child(open_record_and_die, NULL);

        expect_done(&child);
    }
    assert_true(scene_stat("audit.jsonl").st_blocks * 512 <= 2 * (64 << 10));
}

/* ---- A full disk ---- */

static void intents_have_their_space_beforehand(void **state)
{
    struct audit_config config = scene_config();
    struct audit_file *file = scene_open(&config);
    struct stat about;

    (void)state;
    assert_int_equal(scene_record(file, 1, AUTHORITY_INTENT), 0);
    about = scene_stat("audit.jsonl");
    if (about.st_blocks * 512 <= 4096) {
        audit_file_close(file);
        skip_because("this file system allocates nothing beforehand");
    }
    assert_true(about.st_size < 1024);
    assert_true(about.st_blocks * 512 >= 64 << 10);
    audit_file_close(file);
}

enum { MANY = 4000 };

static int count_one(void *data, const struct json_value *record)
{
    (void)record;
    ++*(size_t *)data;
    return 0;
}

static size_t count_outcomes(const struct audit_config *config, struct str operation,
                             struct str outcome)
{
    struct audit_query query = {.operation = operation, .outcome = outcome};
    size_t count = 0;

    return audit_query(config, &query, count_one, &count, NULL, NULL) == 0 ? count : SIZE_MAX;
}

static int record_on_a_full_disk(void *data)
{
    struct audit_config config = {.name = "audit.jsonl", .max_bytes = 200 << 10, .max_files = 2};
    struct audit_file *file = NULL;
    struct audit_file *other = NULL;
    uint64_t intents = 0;
    uint64_t others = 0;
    int r;

    (void)data;
    r = mount_small_disk(scene_path);
    if (r != 0)
        return r;
    config.dir_fd = open(scene_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(config.dir_fd >= 0);
    CHECK(audit_file_open(&config, &file, NULL) == 0);
    CHECK(audit_file_open(&config, &other, NULL) == 0);
    CHECK(scene_record(file, ++intents, AUTHORITY_INTENT) == 0);
    CHECK(scene_record(other, ++others, AUTHORITY_INTENT) == 0);
    CHECK(fill_disk(config.dir_fd) == 0);
    /* Intents without outcomes until there is no room for more, in both processes' space. */
    while (intents < MANY && (r = scene_record(file, intents + 1, AUTHORITY_INTENT)) == 0)
        intents++;
    CHECK(r == ERR_NO_SPACE);
    while (others < MANY && (r = scene_record(other, others + 1, AUTHORITY_INTENT)) == 0)
        others++;
    CHECK(r == ERR_NO_SPACE);
    CHECK(intents > 10 && others > 10);
    /* What is recorded otherwise may use up its own space only. */
    for (unsigned i = 0; i < MANY; i++)
        (void)scene_record_grant(file, MANY + 1);
    CHECK(scene_record_grant(file, MANY + 1) == ERR_NO_SPACE);
    /* All outcomes of what was begun still fit, one after a long delay of the other. */
    for (uint64_t id = 1; id <= intents; id++)
        CHECK(scene_record(file, id, AUTHORITY_SUCCESS) == 0);
    for (uint64_t id = 1; id <= others; id++)
        CHECK(scene_record(other, id, AUTHORITY_FAILED) == 0);
    CHECK(count_outcomes(&config, STR("write"), STR("intent")) == intents + others);
    CHECK(count_outcomes(&config, STR("write"), STR("success")) == intents);
    CHECK(count_outcomes(&config, STR("write"), STR("failed")) == others);
    /* With space again, it goes on, and says what is missing. */
    CHECK(unlinkat(config.dir_fd, "filler", 0) == 0);
    CHECK(scene_record(file, MANY + 2, AUTHORITY_INTENT) == 0);
    audit_file_close(file);
    audit_file_close(other);
    return 0;
}

/* Rotated by another process, and the new file has no room: the outcome joins its intent. */
static int end_in_the_rotated_file(void *data)
{
    struct audit_config config = {.name = "audit.jsonl", .max_bytes = 100 << 10};
    struct audit_file *file = NULL;
    struct audit_file *other = NULL;
    struct stat about;
    int r;

    (void)data;
    r = mount_small_disk(scene_path);
    if (r != 0)
        return r;
    config.dir_fd = open(scene_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(config.dir_fd >= 0);
    CHECK(audit_file_open(&config, &file, NULL) == 0);
    CHECK(audit_file_open(&config, &other, NULL) == 0);
    CHECK(scene_record(file, 1, AUTHORITY_INTENT) == 0);
    while (fstatat(config.dir_fd, "audit.jsonl.1", &about, 0) < 0)
        CHECK(scene_record_grant(other, 2) == 0);
    CHECK(fill_disk(config.dir_fd) == 0);
    while (scene_record_grant(other, 2) == 0)
        continue;
    CHECK(scene_record(file, 1, AUTHORITY_SUCCESS) == 0);
    CHECK(scene_record(file, 3, AUTHORITY_INTENT) == ERR_NO_SPACE);
    CHECK(count_outcomes(&config, STR("write"), STR("success")) == 1);
    audit_file_close(file);
    audit_file_close(other);
    return 0;
}

/* The oldest file makes room for the newest. */
static int rotate_on_a_full_disk(void *data)
{
    struct audit_config config = {.name = "audit.jsonl", .max_bytes = 50 << 10, .max_files = 2};
    struct audit_file *file = NULL;
    struct stat about;
    uint64_t id = 0;
    int r;

    (void)data;
    r = mount_small_disk(scene_path);
    if (r != 0)
        return r;
    config.dir_fd = open(scene_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(config.dir_fd >= 0);
    CHECK(audit_file_open(&config, &file, NULL) == 0);
    while (fstatat(config.dir_fd, "audit.jsonl.2", &about, 0) < 0)
        CHECK(scene_record(file, ++id, AUTHORITY_SUCCESS) == 0);
    CHECK(fill_disk(config.dir_fd) == 0);
    for (unsigned i = 0; i < MANY; i++) {
        CHECK(scene_record(file, ++id, AUTHORITY_INTENT) == 0);
        CHECK(scene_record(file, id, AUTHORITY_SUCCESS) == 0);
    }
    audit_file_close(file);
    return 0;
}

static void check_on_a_small_disk(child_fn *run)
{
    struct child child = start_child(run, NULL);
    int line = end_child(&child);

    if (line == CHILD_SKIPS)
        skip_because("a small file system cannot be mounted here");
    if (line != 0)
        fail_msg("the child stopped at line %d", line);
}

static void a_full_disk_refuses_intents_and_keeps_promises(void **state)
{
    (void)state;
    check_on_a_small_disk(record_on_a_full_disk);
}

static void an_outcome_finds_room_where_its_intent_was(void **state)
{
    (void)state;
    check_on_a_small_disk(end_in_the_rotated_file);
}

static void rotation_goes_on_when_the_disk_is_full(void **state)
{
    (void)state;
    check_on_a_small_disk(rotate_on_a_full_disk);
}

static int record_over_the_limit(void *data)
{
    struct rlimit limit = {.rlim_cur = 2000, .rlim_max = RLIM_INFINITY};
    struct audit_config config = scene_config();
    struct audit_file *file = NULL;
    uint64_t *count = data;
    int r;

    signal(SIGXFSZ, SIG_IGN);
    CHECK(audit_file_open(&config, &file, NULL) == 0);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    while (*count < 100 && (r = scene_record(file, *count + 1, AUTHORITY_INTENT)) == 0)
        ++*count;
    CHECK(r == ERR_AUDIT_UNAVAILABLE);
    CHECK(*count > 3 && *count < 10);
    CHECK(scene_record(file, 50, AUTHORITY_INTENT) == ERR_AUDIT_UNAVAILABLE);
    CHECK(scene_record(file, 50, AUTHORITY_DENIED) == ERR_AUDIT_UNAVAILABLE);
    limit.rlim_cur = RLIM_INFINITY;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(scene_record(file, 60, AUTHORITY_INTENT) == 0);
    CHECK(count_outcomes(&config, STR("write"), STR("intent")) == *count + 1);
    CHECK(count_outcomes(&config, STR("write"), STR("denied")) == 0);
    audit_file_close(file);
    return 0;
}

static void half_a_record_counts_for_nothing(void **state)
{
    uint64_t count = 0;
    struct child child = start_child(record_over_the_limit, &count);

    (void)state;
    expect_done(&child);
    {
        cleanup_found struct scene_found found = scene_find_all();

        assert_true(str_ends_with(buf_view(&found.ids), STR(" 60")));
        assert_int_equal(found.skipped, 1);
    }
}

static int find_dropped(void *data, const struct json_value *record)
{
    json_get_int(record, STR("dropped"), data);
    return 0;
}

static void a_gap_in_the_record_is_told(void **state)
{
    struct audit_config config = scene_config();
    struct audit_file *file = scene_open(&config);
    int64_t dropped = 0;

    (void)state;
    assert_int_equal(linkat(scene_fd, "audit.jsonl", scene_fd, "alias", 0), 0);
    assert_int_equal(scene_record(file, 1, AUTHORITY_DENIED), ERR_AUDIT_UNAVAILABLE);
    assert_int_equal(scene_record(file, 2, AUTHORITY_SUCCESS), ERR_AUDIT_UNAVAILABLE);
    assert_int_equal(unlinkat(scene_fd, "alias", 0), 0);
    assert_int_equal(scene_record(file, 3, AUTHORITY_DENIED), 0);
    assert_int_equal(audit_query(&config, &(struct audit_query){.request_id = 3}, find_dropped,
                                 &dropped, NULL, NULL),
                     0);
    assert_int_equal(dropped, 2);
    dropped = 0;
    assert_int_equal(scene_record(file, 4, AUTHORITY_DENIED), 0);
    assert_int_equal(audit_query(&config, &(struct audit_query){.request_id = 4}, find_dropped,
                                 &dropped, NULL, NULL),
                     0);
    assert_int_equal(dropped, 0);
    audit_file_close(file);
}

TEST_MAIN(scene_test(two_processes_lose_and_tear_nothing),
          scene_test(a_search_misses_nothing_while_files_rotate),
          scene_test(intents_that_were_acknowledged_survive_a_kill),
          scene_test(space_of_dead_processes_is_used_again),
          scene_test(intents_have_their_space_beforehand),
          scene_test(a_full_disk_refuses_intents_and_keeps_promises),
          scene_test(an_outcome_finds_room_where_its_intent_was),
          scene_test(rotation_goes_on_when_the_disk_is_full),
          scene_test(half_a_record_counts_for_nothing), scene_test(a_gap_in_the_record_is_told))
