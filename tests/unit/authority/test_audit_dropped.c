/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No record is lost silently: whatever a disk does, the records in the files plus those that some
 * record there reports as dropped are all that were attempted.
 */
#include "audit_scene.h"
#include "small_disk.h"

#include <sys/syscall.h>

enum {
    SEQUENCES = 300,
    SEQUENCES_ON_A_DISK = 20,
    STEPS = 250,
    MAX_IDS = 2 * STEPS + 8,
    LONG_REASON = 512,
};

/* The same numbers every time, so that what failed once can be looked at. */
static uint32_t state_of_chance;

static uint32_t chance(uint32_t below)
{
    state_of_chance = state_of_chance * 1664525U + 1013904223U;
    return (state_of_chance >> 8) % below;
}

/* ---- In the place of the C library's: a disk that is full, for a moment or longer ---- */

static bool is_faulty; /* the disk is played here; else it is a real one */
static bool is_full;
static uint64_t missing_ends; /* of lines that were cut short */

static ssize_t write_really(int fd, const void *bytes, size_t len)
{
    return syscall(SYS_write, fd, bytes, len);
}

/* Another process, between our last look at the file and our write. */
static void let_another_write(int fd)
{
    static const struct str texts[] = {STR_LITERAL("{\"torn"), STR_LITERAL("whole\n")};
    const struct str *text = &texts[chance(2)];

    if (chance(8) == 0)
        (void)!write_really(fd, text->ptr, text->len);
}

ssize_t write(int fd, const void *buf, size_t n)
{
    if (is_faulty && n > 1)
        let_another_write(fd);
    if (!is_faulty || !is_full || chance(3) == 0)
        return write_really(fd, buf, n);
    if (n > 1 && chance(2) == 0)
        return write_really(fd, buf, 1 + chance((uint32_t)n - 1));
    missing_ends += n == 1;
    errno = ENOSPC;
    return -1;
}

int fallocate(int fd, int mode, off_t offset, off_t len)
{
    if (!is_faulty)
        return (int)syscall(SYS_fallocate, fd, mode, offset, len);
    errno = is_full && chance(2) == 0 ? ENOSPC : EOPNOTSUPP;
    return -1;
}

/* ---- One sequence ---- */

struct sequence {
    struct audit_config config;
    struct audit_file *file;
    int (*set_full)(const struct sequence *sequence, bool is_full);
    uint64_t last_id;
    uint64_t attempted; /* refused intents aside: without one, nothing happens */
    char reason[LONG_REASON + 1];
};

struct tally {
    uint64_t records;
    uint64_t dropped;
    uint64_t repeated;
    bool seen[MAX_IDS][2];
    bool is_refused[MAX_IDS]; /* an intent, which may be found all the same */
};

static struct tally tally;

static int attempt_any(struct sequence *sequence, uint64_t id, enum authority_operation operation,
                       enum authority_outcome outcome)
{
    struct authority_event event = scene_event(id, outcome);
    int r;

    event.operation = operation;
    /* Each needs six bytes: an outcome like that does not fit into what it was promised. */
    if (outcome != AUTHORITY_INTENT && chance(3) == 0) {
        memset(sequence->reason, 1, LONG_REASON);
        event.reason = sequence->reason;
    }
    /* With hooks, even more than what may wait at once. */
    if (outcome != AUTHORITY_INTENT && chance(6) == 0) {
        event.wrapper_count = chance(AUTHORITY_MAX_HOOKS + 1);
        for (size_t i = 0; i < event.wrapper_count; i++)
            event.wrapper_ids[i] = sequence->reason;
    }
    r = audit_file_record(sequence->file, &event);
    if (r == 0 || outcome != AUTHORITY_INTENT)
        sequence->attempted++;
    else
        tally.is_refused[id] = true;
    return r;
}

static int attempt(struct sequence *sequence, uint64_t id, enum authority_outcome outcome)
{
    return attempt_any(sequence, id, AUTHORITY_OP_WRITE, outcome);
}

static int step(struct sequence *sequence)
{
    uint64_t id = ++sequence->last_id;

    switch (chance(10)) {
    case 0:
        return sequence->set_full(sequence, chance(2) == 0);
    case 1:
        audit_file_flush(sequence->file);
        return 0;
    case 2:
        (void)attempt(sequence, id, AUTHORITY_DENIED);
        return 0;
    case 3:
    case 4:
        if (attempt(sequence, id, AUTHORITY_INTENT) == 0)
            (void)attempt(sequence, id, AUTHORITY_SUCCESS);
        else
            (void)attempt(sequence, id, AUTHORITY_FAILED);
        return 0;
    case 5:
        (void)attempt_any(sequence, id, AUTHORITY_OP_READ, AUTHORITY_FAILED);
        return 0;
    default:
        (void)attempt_any(sequence, id, AUTHORITY_OP_READ, AUTHORITY_SUCCESS);
        return 0;
    }
}

static int count_record(void *data, const struct json_value *record)
{
    struct str text = STR_EMPTY;
    int64_t dropped = 0;
    int64_t id = 0;
    bool is_intent;

    (void)data;
    if (json_get_int(record, STR("dropped"), &dropped))
        tally.dropped += (uint64_t)dropped;
    /* Tells of others, which are there themselves. */
    if (json_get(record, STR("more")) != NULL)
        return 0;
    if (!json_get_str(record, STR("requestId"), &text) || !str_to_int64(text, &id) || id < 0 ||
        id >= MAX_IDS || !json_get_str(record, STR("outcome"), &text))
        return ERR_INTERNAL;
    is_intent = str_eq(text, STR("intent"));
    tally.repeated += tally.seen[id][is_intent];
    tally.seen[id][is_intent] = true;
    tally.records += !is_intent || !tally.is_refused[id];
    return 0;
}

/* Also in a child: it answers with a line, 0 for success. */
static int run_sequence(struct sequence *sequence, uint32_t seed)
{
    uint64_t told;

    state_of_chance = seed;
    missing_ends = 0;
    sequence->config.gathers_reads = chance(2) == 0;
    sequence->config.sync = AUDIT_SYNC_NEVER;
    sequence->config.max_files = AUDIT_MAX_FILES;
    sequence->config.max_bytes = chance(2) == 0 ? 0 : 100 << 10;
    memset(&tally, 0, sizeof(tally));
    CHECK(sequence->set_full(sequence, false) == 0);
    CHECK(audit_file_open(&sequence->config, &sequence->file, NULL) == 0);
    for (unsigned i = 0; i < STEPS; i++)
        CHECK(step(sequence) == 0);
    CHECK(sequence->set_full(sequence, false) == 0);
    audit_file_flush(sequence->file);
    CHECK(attempt(sequence, ++sequence->last_id, AUTHORITY_DENIED) == 0);
    audit_file_close(sequence->file);
    CHECK(audit_query(&sequence->config, &(struct audit_query){.max_records = 0}, count_record,
                      NULL, NULL, NULL) == 0);
    told = tally.records + tally.dropped;
    if (told < sequence->attempted || told > sequence->attempted + missing_ends ||
        tally.repeated > missing_ends)
        print_message("sequence %u: %llu attempted, %llu recorded, %llu dropped, %llu repeated\n",
                      seed, (unsigned long long)sequence->attempted,
                      (unsigned long long)tally.records, (unsigned long long)tally.dropped,
                      (unsigned long long)tally.repeated);
    CHECK(told >= sequence->attempted);
    /* Lost and told of, or made again; and yet whole if it lacked its end only, from the next. */
    CHECK(told <= sequence->attempted + missing_ends);
    CHECK(tally.repeated <= missing_ends);
    return 0;
}

static int remove_ring(int dir_fd, const char *stem)
{
    char name[64];

    for (unsigned number = 1; number <= AUDIT_MAX_FILES; number++) {
        snprintf(name, sizeof(name), "%s.%u", stem, number);
        unlinkat(dir_fd, name, 0);
    }
    snprintf(name, sizeof(name), "%s.new", stem);
    unlinkat(dir_fd, name, 0);
    snprintf(name, sizeof(name), "%s.lock", stem);
    unlinkat(dir_fd, name, 0);
    return unlinkat(dir_fd, stem, 0);
}

static int remove_files(int dir_fd)
{
    return remove_ring(dir_fd, "audit.jsonl") | remove_ring(dir_fd, "audit.jsonl.reads");
}

/* ---- The tests ---- */

static int play_full(const struct sequence *sequence, bool wanted)
{
    (void)sequence;
    is_full = wanted;
    return 0;
}

static int start(void **state)
{
    is_faulty = false;
    is_full = false;
    memset(&tally, 0, sizeof(tally));
    return scene_start(state);
}

#define dropped_test(function) cmocka_unit_test_setup_teardown(function, start, scene_stop)

static void what_is_not_recorded_is_told_of(void **state)
{
    (void)state;
    is_faulty = true;
    for (uint32_t seed = 1; seed <= SEQUENCES; seed++) {
        struct sequence sequence = {.config = scene_config(), .set_full = play_full};
        int line = run_sequence(&sequence, seed);

        if (line != 0)
            fail_msg("sequence %u stopped at line %d", seed, line);
        assert_int_equal(remove_files(scene_fd), 0);
    }
}

static int fill_really(const struct sequence *sequence, bool wanted)
{
    if (wanted)
        return fill_disk(sequence->config.dir_fd);
    return unlinkat(sequence->config.dir_fd, "filler", 0) == 0 || errno == ENOENT ? 0 : __LINE__;
}

static int run_on_a_small_disk(void *data)
{
    int r = mount_small_disk(scene_path);
    cleanup_fd int dir_fd = -1;

    (void)data;
    if (r != 0)
        return r;
    dir_fd = open(scene_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(dir_fd >= 0);
    for (uint32_t seed = 1; seed <= SEQUENCES_ON_A_DISK; seed++) {
        struct sequence sequence = {.config = scene_config(), .set_full = fill_really};
        int line;

        sequence.config.dir_fd = dir_fd;
        line = run_sequence(&sequence, seed);
        if (line != 0)
            return line;
        CHECK(remove_files(dir_fd) == 0);
    }
    return 0;
}

static void what_a_full_disk_drops_is_told_of(void **state)
{
    struct child child = start_child(run_on_a_small_disk, NULL);
    int line = end_child(&child);

    (void)state;
    if (line == CHILD_SKIPS)
        skip_because("a small file system cannot be mounted here");
    if (line != 0)
        fail_msg("the child stopped at line %d", line);
}

/* ---- One case each, in so many words ---- */

static int note_dropped(void *data, const struct json_value *record)
{
    struct str id = STR_EMPTY;
    int64_t dropped = 0;

    assert_true(json_get_str(record, STR("requestId"), &id));
    json_get_int(record, STR("dropped"), &dropped);
    return buf_printf(data, "%.*s:%lld ", STR_ARG(id), (long long)dropped);
}

static void expect_told(const char *expected)
{
    cleanup_buf struct buf told = BUF_INIT(10000);
    struct audit_config config = scene_config();

    assert_int_equal(audit_query(&config, &(struct audit_query){.max_records = 0}, note_dropped,
                                 &told, NULL, NULL),
                     0);
    if (!str_eq_c(buf_view(&told), expected))
        fail_msg("told %.*s", STR_ARG(buf_view(&told)));
}

/* A second name of its files stops the audit, and ends that again. */
static void stop_audit(void)
{
    assert_int_equal(linkat(scene_fd, "audit.jsonl", scene_fd, "alias", 0), 0);
    assert_int_equal(linkat(scene_fd, "audit.jsonl.reads", scene_fd, "reads-alias", 0), 0);
}

static void let_audit_go_on(void)
{
    assert_int_equal(unlinkat(scene_fd, "alias", 0), 0);
    assert_int_equal(unlinkat(scene_fd, "reads-alias", 0), 0);
}

static void a_count_that_waited_and_was_lost_comes_back(void **state)
{
    struct audit_config config = scene_config();
    struct audit_file *file;

    (void)state;
    config.gathers_reads = true;
    file = scene_open(&config);
    stop_audit();
    assert_int_equal(scene_record(file, 1, AUTHORITY_DENIED), ERR_AUDIT_UNAVAILABLE);
    assert_int_equal(scene_record(file, 2, AUTHORITY_DENIED), ERR_AUDIT_UNAVAILABLE);
    /* These would tell of the two, and are lost with what they would tell. */
    assert_int_equal(scene_record_read(file, 3, AUTHORITY_SUCCESS), 0);
    assert_int_equal(scene_record_read(file, 4, AUTHORITY_SUCCESS), 0);
    audit_file_flush(file);
    let_audit_go_on();
    assert_int_equal(scene_record(file, 5, AUTHORITY_DENIED), 0);
    assert_int_equal(scene_record(file, 6, AUTHORITY_DENIED), 0);
    audit_file_close(file);
    expect_told("5:4 6:0 ");
}

static int record_briefly(void *data)
{
    struct audit_config config = {.name = "audit.jsonl"};
    struct audit_file *file = NULL;
    struct authority_event outcome = scene_event(1, AUTHORITY_SUCCESS);
    char reason[LONG_REASON + 1] = "";
    uint64_t attempted = 1; /* the intent */
    int r = mount_small_disk(scene_path);

    (void)data;
    if (r != 0)
        return r;
    config.dir_fd = open(scene_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(config.dir_fd >= 0);
    CHECK(audit_file_open(&config, &file, NULL) == 0);
    CHECK(scene_record(file, 1, AUTHORITY_INTENT) == 0);
    CHECK(fill_disk(config.dir_fd) == 0);
    do
        attempted++;
    while (scene_record_grant(file, attempted) == 0 && attempted < MAX_IDS - 2);
    CHECK(scene_record_grant(file, attempted + 1) == ERR_NO_SPACE);
    attempted++;
    memset(reason, 1, LONG_REASON);
    outcome.reason = reason;
    CHECK(audit_file_record(file, &outcome) == 0);
    attempted++;
    CHECK(unlinkat(config.dir_fd, "filler", 0) == 0);
    CHECK(scene_record(file, MAX_IDS - 1, AUTHORITY_DENIED) == 0);
    attempted++;
    audit_file_close(file);
    CHECK(audit_query(&config, &(struct audit_query){.max_records = 0}, count_record, NULL, NULL,
                      NULL) == 0);
    CHECK(tally.seen[1][0] && tally.seen[1][1]);
    CHECK(tally.dropped == 2);
    CHECK(tally.records + tally.dropped == attempted);
    return 0;
}

static void a_brief_outcome_does_not_forget_the_count(void **state)
{
    struct child child = start_child(record_briefly, NULL);
    int line = end_child(&child);

    (void)state;
    if (line == CHILD_SKIPS)
        skip_because("a small file system cannot be mounted here");
    if (line != 0)
        fail_msg("the child stopped at line %d", line);
}

/* One that is too long to wait stays behind those that do. */
static void a_long_record_does_not_overtake_waiting_ones(void **state)
{
    struct audit_config config = scene_config();
    struct authority_event event = scene_event(2, AUTHORITY_SUCCESS);
    char text[LONG_REASON + 1] = "";
    struct authority_subject subject = {.id = text, .run_id = text};
    struct authority_root root = {.id = text, .display_name = text};
    struct audit_file *file;

    (void)state;
    memset(text, 1, sizeof(text) - 1);
    event.operation = AUTHORITY_OP_READ;
    event.subject = &subject;
    event.root = &root;
    event.policy_source = text;
    event.reason = text;
    event.wrapper_count = AUTHORITY_MAX_HOOKS;
    for (size_t i = 0; i < AUTHORITY_MAX_HOOKS; i++)
        event.wrapper_ids[i] = text;
    config.gathers_reads = true;
    file = scene_open(&config);
    assert_int_equal(scene_record_read(file, 1, AUTHORITY_SUCCESS), 0);
    assert_int_equal(audit_file_record(file, &event), 0);
    assert_int_equal(scene_record_read(file, 3, AUTHORITY_SUCCESS), 0);
    audit_file_close(file);
    assert_true(scene_stat("audit.jsonl.reads").st_size > 32 << 10);
    expect_told("1:0 2:0 3:0 ");
}

TEST_MAIN(dropped_test(what_is_not_recorded_is_told_of),
          dropped_test(what_a_full_disk_drops_is_told_of),
          dropped_test(a_count_that_waited_and_was_lost_comes_back),
          dropped_test(a_brief_outcome_does_not_forget_the_count),
          dropped_test(a_long_record_does_not_overtake_waiting_ones))
