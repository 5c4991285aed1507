/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searching many records, in either direction, finds what a reader finds who looks at every record;
 * later records are found once.
 */
#include "audit_scene.h"
#include "draw.h"

#include <poll.h>

enum { RECORDS = 4000, RING_BYTES = 300 << 10 };
#define START_MS INT64_C(1772366400123)

static const char *const tools[] = {"file_read", "file_write", "shell \"quoted\"", NULL};
static const char *const decisions[] = {"mode", "user", "allow-rule", NULL};
static const char *const subjects[] = {"talk-1", "talk-2", "caf\xc3\xa9"};
static const struct str names[] = {
    STR_LITERAL("src/a.c"),        STR_LITERAL("./src//b\n.c"),   STR_LITERAL("notes/today.md"),
    STR_LITERAL("notes/\"x\"/y"),  STR_LITERAL("caf\xe9/menu"),   STR_LITERAL("srcs"),
    STR_LITERAL("vault/key/deep"), STR_LITERAL("\x1b[31m/vault"), STR_LITERAL(""),
};

static const enum authority_operation operations[] = {AUTHORITY_OP_READ, AUTHORITY_OP_WRITE,
                                                      AUTHORITY_OP_MOVE, AUTHORITY_OP_EXECUTE};
static const enum authority_outcome outcomes[] = {AUTHORITY_SUCCESS, AUTHORITY_DENIED,
                                                  AUTHORITY_FAILED, AUTHORITY_INTENT};

static void put_record(struct audit_file *file, uint64_t id)
{
    struct authority_call call = {
        .tool = tools[draw(4)], .decision = decisions[draw(4)], .id = id / 3};
    struct authority_subject subject = {
        .type = AUTHORITY_AGENT_RUN, .id = subjects[draw(3)], .run_id = draw(2) ? "run-7" : NULL};
    struct authority_event event = scene_event(id, outcomes[draw(4)]);

    event.wall_ms = START_MS + (int64_t)id * 1000;
    event.subject = &subject;
    event.call = draw(5) > 0 ? &call : NULL;
    event.operation = operations[draw(4)];
    event.name = names[draw(array_size(names))];
    event.destination = draw(3) == 0 ? names[draw(array_size(names))] : STR_EMPTY;
    if (event.outcome == AUTHORITY_DENIED || event.outcome == AUTHORITY_FAILED)
        event.error = event.outcome == AUTHORITY_DENIED ? ERR_DENIED_BY_POLICY : ERR_IO;
    event.policy_source = draw(4) == 0 ? "deny-rule" : "grant";
    assert_int_equal(audit_file_record(file, &event), 0);
}

static struct audit_config small_config(void)
{
    struct audit_config config = scene_config();

    config.max_bytes = RING_BYTES;
    config.max_files = 20;
    return config;
}

static void put_records(void)
{
    struct audit_config config = small_config();
    struct audit_file *file = scene_open(&config);

    draw_seed = 7;
    for (uint64_t id = 1; id <= RECORDS; id++)
        put_record(file, id);
    audit_file_close(file);
    assert_true(scene_has("audit.jsonl.2") && scene_has("audit.jsonl.reads.1"));
}

/* ---- the slow way ---- */

struct slow {
    const struct audit_query *query;
    struct buf ids;
};

static bool has_word(const struct json_value *holder, struct str field, struct str wanted)
{
    struct str text;

    return wanted.len == 0 || (json_get_str(holder, field, &text) && str_eq(text, wanted));
}

static bool is_under(const struct json_value *record, struct str field, struct str prefix)
{
    char bytes[PATH_MAX];
    struct str rest;
    struct str part;
    struct str wanted;
    size_t len;

    if (!audit_record_name(record, field, bytes, &len))
        return false;
    rest = (struct str){bytes, len};
    while (str_cut(&prefix, '/', &wanted)) {
        do {
            if (!str_cut(&rest, '/', &part))
                return false;
        } while (part.len == 0 || str_eq(part, STR(".")));
        if (!str_eq(part, wanted))
            return false;
    }
    return true;
}

static bool fits(const struct audit_query *query, const struct json_value *record)
{
    const struct json_value *subject = json_get(record, STR("subject"));
    char since[CLOCK_ISO_BYTES];
    char until[CLOCK_ISO_BYTES];
    struct str time = STR_EMPTY;

    clock_format_iso(query->since_ms, since);
    clock_format_iso(query->until_ms, until);
    json_get_str(record, STR("timestamp"), &time);
    return (query->since_ms == 0 || str_compare(time, str_from(since)) >= 0) &&
           (query->until_ms == 0 || str_compare(time, str_from(until)) < 0) &&
           has_word(record, STR("tool"), query->tool) &&
           has_word(record, STR("operation"), query->operation) &&
           has_word(record, STR("outcome"), query->outcome) &&
           (has_word(record, STR("decision"), query->decision) ||
            has_word(record, STR("policySource"), query->decision)) &&
           (has_word(subject, STR("id"), query->subject_id) ||
            has_word(subject, STR("runId"), query->subject_id)) &&
           (query->name_prefix.len == 0 ||
            is_under(record, STR("relativePath"), query->name_prefix) ||
            is_under(record, STR("destinationPath"), query->name_prefix));
}

static int note_slowly(void *data, const struct json_value *record)
{
    struct slow *slow = data;
    struct str id;

    assert_true(json_get_str(record, STR("requestId"), &id));
    return fits(slow->query, record) ? buf_printf(&slow->ids, " %.*s", STR_ARG(id)) : 0;
}

/* ---- the reader ---- */

static int note_id(void *data, struct str line, const struct json_value *record)
{
    struct str id;

    assert_true(line.len > 2 && line.ptr[0] == '{' && line.ptr[line.len - 1] == '}');
    assert_true(json_get_str(record, STR("requestId"), &id));
    return buf_printf(data, " %.*s", STR_ARG(id));
}

static int note_id_before(void *data, struct str line, const struct json_value *record)
{
    cleanup_buf struct buf rest = BUF_INIT(1 << 20);
    struct buf *ids = data;
    int r = buf_append_str(&rest, buf_view(ids));

    buf_clear(ids);
    if (r == 0)
        r = note_id(data, line, record);
    return r == 0 ? buf_append_str(ids, buf_view(&rest)) : r;
}

static void check_query(struct audit_reader *reader, const struct audit_query *query)
{
    const struct audit_query all = {.max_records = 0};
    struct audit_config config = small_config();
    cleanup_buf struct buf forward = BUF_INIT(1 << 20);
    cleanup_buf struct buf backward = BUF_INIT(1 << 20);
    struct slow slow = {.query = query, .ids = BUF_INIT(1 << 20)};
    struct audit_query reverse = *query;
    uint64_t skipped = 99;

    reverse.newest_first = true;
    assert_int_equal(audit_query(&config, &all, note_slowly, &slow, NULL, NULL), 0);
    assert_int_equal(audit_reader_query(reader, query, note_id, &forward, &skipped, NULL), 0);
    assert_int_equal(skipped, 0);
    assert_int_equal(
        audit_reader_query(reader, &reverse, note_id_before, &backward, &skipped, NULL), 0);
    assert_int_equal(skipped, 0);
    if (!str_eq(buf_view(&forward), buf_view(&slow.ids)))
        fail_msg("found %.*s, and there is %.*s", STR_ARG(buf_view(&forward)),
                 STR_ARG(buf_view(&slow.ids)));
    if (!str_eq(buf_view(&backward), buf_view(&slow.ids)))
        fail_msg("found backward %.*s, and there is %.*s", STR_ARG(buf_view(&backward)),
                 STR_ARG(buf_view(&slow.ids)));
    buf_done(&slow.ids);
}

static struct audit_reader *open_reader(bool follows)
{
    struct audit_config config = small_config();
    struct audit_reader *reader = NULL;
    struct err err = ERR_INIT;

    if (audit_reader_open(&config, follows, &reader, &err) < 0)
        fail_msg("%s", err.message);
    return reader;
}

static void every_query_finds_what_is_there(void **state)
{
    static const struct str prefixes[] = {
        STR_LITERAL("src"),     STR_LITERAL("src/b\n.c"), STR_LITERAL("notes/\"x\""),
        STR_LITERAL("caf\xe9"), STR_LITERAL("vault"),     STR_LITERAL("\x1b[31m"),
        STR_LITERAL("nothing"),
    };
    const struct audit_query simple[] = {
        {.tool = STR("file_read")},
        {.tool = STR("shell \"quoted\"")},
        {.tool = STR("file")},
        {.decision = STR("deny-rule")},
        {.decision = STR("user")},
        {.subject_id = STR("caf\xc3\xa9")},
        {.subject_id = STR("run-7")},
        {.operation = STR("execute")},
        {.outcome = STR("denied")},
        {.since_ms = START_MS + INT64_C(3990) * 1000},
        {.until_ms = START_MS + INT64_C(12) * 1000},
        {.since_ms = START_MS + INT64_C(2000) * 1000, .until_ms = START_MS + INT64_C(2050) * 1000},
        {.tool = STR("file_write"),
         .operation = STR("move"),
         .outcome = STR("intent"),
         .decision = STR("mode"),
         .since_ms = START_MS + INT64_C(1000) * 1000},
    };
    struct audit_reader *reader;

    (void)state;
    put_records();
    reader = open_reader(false);
    for (size_t i = 0; i < array_size(simple); i++)
        check_query(reader, &simple[i]);
    for (size_t i = 0; i < array_size(prefixes); i++)
        check_query(reader, &(struct audit_query){.name_prefix = prefixes[i]});
    check_query(reader,
                &(struct audit_query){.name_prefix = STR("vault"), .outcome = STR("success")});
    audit_reader_close(reader);
}

static void the_newest_come_first_when_asked_for(void **state)
{
    /* Behind those stand some that tell how much was refused, from the day of the test. */
    const struct audit_query query = {
        .newest_first = true, .max_records = 5, .until_ms = START_MS + INT64_C(5000) * 1000};
    cleanup_buf struct buf ids = BUF_INIT(1000);
    struct audit_reader *reader;

    (void)state;
    put_records();
    reader = open_reader(false);
    assert_int_equal(audit_reader_query(reader, &query, note_id, &ids, NULL, NULL), 0);
    assert_str(buf_view(&ids), " 4000 3999 3998 3997 3996");
    audit_reader_close(reader);
}

/* ---- what is no record ---- */

#define LINE(id)                                                                                   \
    "{\"timestamp\":\"2026-03-01T12:00:00.123Z\",\"requestId\":\"" id                              \
    "\",\"subject\":{\"type\":\"core\",\"id\":\"c\"},\"root\":{\"kind\":\"temp\",\"id\":\"t\"},"   \
    "\"operation\":\"read\",\"outcome\":\"success\"}"

static void what_is_no_record_is_passed_over_in_both_directions(void **state)
{
    static char endless[300 << 10];

    (void)state;
    memset(endless, 'x', sizeof(endless));
    /* Lengths around those of blocks and records, each between records. */
    for (size_t len = 1; len < sizeof(endless); len = len * 2 + len % 3) {
        cleanup_buf struct buf forward = BUF_INIT(1000);
        cleanup_buf struct buf backward = BUF_INIT(1000);
        struct audit_query query = {.max_records = 0};
        struct audit_reader *reader;
        uint64_t skipped = 0;

        unlinkat(scene_fd, "audit.jsonl", 0);
        scene_put("audit.jsonl", STR(LINE("1") "\n" LINE("2") "\n\n"));
        scene_put("audit.jsonl", (struct str){endless, len});
        scene_put("audit.jsonl", STR("\n" LINE("3") "\n"));
        scene_put("audit.jsonl", (struct str){endless, 2 * len < sizeof(endless) ? 2 * len : len});
        scene_put("audit.jsonl", STR("\n" LINE("4") "\n" LINE("5")));
        reader = open_reader(false);
        assert_int_equal(audit_reader_query(reader, &query, note_id, &forward, &skipped, NULL), 0);
        assert_str(buf_view(&forward), " 1 2 3 4");
        assert_int_equal(skipped, 3);
        query.newest_first = true;
        assert_int_equal(audit_reader_query(reader, &query, note_id, &backward, &skipped, NULL), 0);
        assert_str(buf_view(&backward), " 4 3 2 1");
        assert_int_equal(skipped, 3);
        audit_reader_close(reader);
    }
}

/* A line that only looks like it holds what is looked for is read as what it is. */
static void a_text_in_another_place_is_no_match(void **state)
{
    struct audit_config config = scene_config();
    struct audit_file *file = scene_open(&config);
    struct authority_event event = scene_event(1, AUTHORITY_SUCCESS);

    (void)state;
    event.name = STR("\"tool\":\"file_read\"");
    event.reason = "\"tool\":\"file_read\",\"outcome\":\"denied\"";
    assert_int_equal(audit_file_record(file, &event), 0);
    audit_file_close(file);
    {
        cleanup_found struct scene_found by_tool =
            scene_find(&(struct audit_query){.tool = STR("file_read")});
        cleanup_found struct scene_found by_outcome =
            scene_find(&(struct audit_query){.outcome = STR("denied")});

        assert_int_equal(by_tool.count + by_outcome.count, 0);
    }
}

/* ---- what comes later ---- */

static void follow(struct audit_reader *reader, struct buf *ids)
{
    const struct audit_query query = {.max_records = 0};

    buf_clear(ids);
    assert_int_equal(audit_reader_follow(reader, &query, note_id, ids, NULL, NULL), 0);
}

static void what_comes_is_told_once_and_in_order(void **state)
{
    struct audit_config config = small_config();
    cleanup_buf struct buf ids = BUF_INIT(1 << 20);
    struct audit_file *file = scene_open(&config);
    struct audit_reader *reader;

    (void)state;
    scene_record(file, 1, AUTHORITY_SUCCESS);
    reader = open_reader(true);
    follow(reader, &ids);
    assert_int_equal(ids.len, 0);
    scene_record(file, 2, AUTHORITY_SUCCESS);
    scene_record_read(file, 3, AUTHORITY_SUCCESS);
    scene_record(file, 4, AUTHORITY_SUCCESS);
    assert_int_equal(
        poll(&(struct pollfd){.fd = audit_reader_fd(reader), .events = POLLIN}, 1, PATIENCE_MS), 1);
    follow(reader, &ids);
    assert_str(buf_view(&ids), " 2 3 4");
    /* What was read is not told again, and nothing is left to be woken for. */
    assert_int_equal(poll(&(struct pollfd){.fd = audit_reader_fd(reader), .events = POLLIN}, 1, 0),
                     0);
    follow(reader, &ids);
    assert_int_equal(ids.len, 0);
    audit_reader_close(reader);
    audit_file_close(file);
}

static void rotation_loses_and_repeats_nothing(void **state)
{
    struct audit_config config = small_config();
    cleanup_buf struct buf ids = BUF_INIT(1 << 20);
    cleanup_buf struct buf all = BUF_INIT(1 << 20);
    cleanup_buf struct buf wanted = BUF_INIT(1 << 20);
    struct audit_file *file;
    struct audit_reader *reader;

    (void)state;
    config.max_bytes = 64 << 10;
    file = scene_open(&config);
    scene_record(file, 1, AUTHORITY_SUCCESS);
    reader = open_reader(true);
    /* Sometimes one file, sometimes several between two looks. */
    for (uint64_t id = 2; id <= 6000; id++) {
        assert_int_equal(scene_record_grant(file, id), 0);
        assert_int_equal(buf_printf(&wanted, " %ju", (uintmax_t)id), 0);
        if (id % 50 == 0 && (id < 2000 || id > 4000)) {
            follow(reader, &ids);
            assert_int_equal(buf_append_str(&all, buf_view(&ids)), 0);
        }
    }
    follow(reader, &ids);
    assert_int_equal(buf_append_str(&all, buf_view(&ids)), 0);
    assert_true(scene_has("audit.jsonl.10"));
    assert_true(str_eq(buf_view(&all), buf_view(&wanted)));
    audit_reader_close(reader);
    audit_file_close(file);
}

static void half_a_line_waits_for_its_other_half(void **state)
{
    cleanup_buf struct buf ids = BUF_INIT(1000);
    struct str line = STR(LINE("7") "\n");
    struct audit_reader *reader;

    (void)state;
    scene_put("audit.jsonl", STR(LINE("1") "\n"));
    reader = open_reader(true);
    scene_put("audit.jsonl", str_slice(line, 0, 50));
    follow(reader, &ids);
    assert_int_equal(ids.len, 0);
    scene_put("audit.jsonl", str_slice(line, 50, line.len));
    follow(reader, &ids);
    assert_str(buf_view(&ids), " 7");
    /* A file of the other ring that was not there. */
    scene_put("audit.jsonl.reads", STR(LINE("8") "\n"));
    follow(reader, &ids);
    assert_str(buf_view(&ids), " 8");
    audit_reader_close(reader);
}

static void a_directory_that_is_missing_is_not_made(void **state)
{
    struct err err = ERR_INIT;
    char path[128];
    int fd = -1;

    (void)state;
    snprintf(path, sizeof(path), "%s/none", scene_path);
    assert_int_equal(audit_dir_find(path, &fd, &err), ERR_NOT_FOUND);
    assert_int_equal(fd, -1);
    assert_false(scene_has("none"));
    assert_int_equal(audit_dir_find(scene_path, &fd, &err), 0);
    close(fd);
    if (geteuid() != 0) {
        assert_int_equal(chmod(scene_path, 0755), 0);
        assert_int_equal(audit_dir_find(scene_path, &fd, &err), ERR_PERMISSION_DENIED);
    }
}

TEST_MAIN(scene_test(every_query_finds_what_is_there),
          scene_test(the_newest_come_first_when_asked_for),
          scene_test(what_is_no_record_is_passed_over_in_both_directions),
          scene_test(a_text_in_another_place_is_no_match),
          scene_test(what_comes_is_told_once_and_in_order),
          scene_test(rotation_loses_and_repeats_nothing),
          scene_test(half_a_line_waits_for_its_other_half),
          scene_test(a_directory_that_is_missing_is_not_made))
