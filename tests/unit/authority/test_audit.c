/* SPDX-License-Identifier: Apache-2.0 */
/* What the audit log contains, and how a search finds it. */
#include "audit_scene.h"

#include "base/utf8.h"

enum { ARENA_BYTES = 4 << 20 };

static struct arena arena = ARENA_INIT(ARENA_BYTES);
static struct buf line = BUF_INIT(AUDIT_MAX_RECORD_BYTES);

static int reset(void **state)
{
    (void)state;
    arena_done(&arena);
    buf_done(&line);
    return 0;
}

#define plain_test(function) cmocka_unit_test_teardown(function, reset)

static struct str format(const struct authority_event *event)
{
    buf_clear(&line);
    assert_int_equal(audit_format(event, &line), 0);
    return buf_view(&line);
}

static const struct json_value *parse(struct str text)
{
    const struct json_value *record = NULL;

    assert_int_equal(audit_parse(&arena, text, &record), 0);
    return record;
}

static void a_record_has_all_its_fields(void **state)
{
    static const struct authority_call call = {
        .tool = "file_move", .decision = "user", .id = UINT64_MAX, .client = "editor"};
    static const struct authority_root root = {
        .kind = AUTHORITY_EXTENSION_STORAGE, .id = "ext-9", .display_name = "Caf\xc3\xa9"};
    struct authority_event event = scene_event(UINT64_MAX, AUTHORITY_DENIED);

    (void)state;
    event.root = &root;
    event.operation = AUTHORITY_OP_MOVE;
    event.destination = STR("b \"c\"");
    event.error = ERR_DENIED_BY_POLICY;
    event.policy_source = "house-rules";
    event.policy_rule = "**/*.pem";
    event.wrapper_ids[0] = "guard";
    event.wrapper_ids[1] = "second";
    event.wrapper_count = 2;
    event.reason = "tidy\nup";
    event.call = &call;
    assert_str(format(&event),
               "{\"timestamp\":\"2026-03-01T12:00:00.123Z\",\"requestId\":\"18446744073709551615\","
               "\"subject\":{\"type\":\"agent-run\",\"id\":\"talk-1\",\"runId\":\"run-1\"},"
               "\"root\":{\"kind\":\"extension-storage\",\"id\":\"ext-9\","
               "\"displayName\":\"Caf\xc3\xa9\"},\"tool\":\"file_move\",\"decision\":\"user\","
               "\"callId\":\"18446744073709551615\",\"client\":\"editor\","
               "\"operation\":\"move\","
               "\"relativePath\":\"notes/today.md\",\"destinationPath\":\"b \\\"c\\\"\","
               "\"outcome\":\"denied\",\"error\":\"denied_by_policy\",\"category\":\"policy\","
               "\"policySource\":\"house-rules\",\"policyRule\":\"**/"
               "*.pem\",\"wrapperIds\":[\"guard\",\"second\"],"
               "\"reason\":\"tidy\\nup\"}");
    parse(buf_view(&line));
}

static void what_is_not_there_is_left_out(void **state)
{
    static const struct authority_subject subject = {.type = AUTHORITY_CORE, .id = "cli"};
    struct authority_event event = scene_event(1, AUTHORITY_SUCCESS);

    (void)state;
    event.subject = &subject;
    event.operation = AUTHORITY_OP_REQUEST_ROOT;
    event.name = STR_EMPTY;
    event.policy_source = NULL;
    assert_str(format(&event), "{\"timestamp\":\"2026-03-01T12:00:00.123Z\",\"requestId\":\"1\","
                               "\"subject\":{\"type\":\"core\",\"id\":\"cli\"},"
                               "\"root\":{\"kind\":\"workspace\",\"id\":\"ws-1\"},"
                               "\"operation\":\"request-root\",\"outcome\":\"success\"}");
    parse(buf_view(&line));
}

static void the_roots_path_is_never_written(void **state)
{
    static const struct authority_label labels[] = {{"where", "/srv/private"}};
    static const struct authority_root root = {.kind = AUTHORITY_SECRET,
                                               .id = "keys",
                                               .path = "/srv/private",
                                               .labels = labels,
                                               .label_count = 1};
    struct authority_event event = scene_event(1, AUTHORITY_INTENT);

    (void)state;
    event.root = &root;
    assert_true(str_find(format(&event), STR("srv")) == SIZE_MAX);
}

static void times_are_those_of_the_calendar(void **state)
{
    char expected[CLOCK_ISO_BYTES];
    struct str text;

    (void)state;
    /* Steps that meet every day of several leap years and both ends of centuries. */
    for (int64_t ms = 0; ms < 253402300800000; ms += ms < 4200000000000 ? 43199999 : 8639999989) {
        struct authority_event event = scene_event(1, AUTHORITY_INTENT);

        event.wall_ms = ms;
        clock_format_iso(ms, expected);
        text = str_slice(format(&event), sizeof("{\"timestamp\":\"") - 1, strlen(expected));
        if (!str_eq_c(text, expected))
            fail_msg("%.*s is not %s", STR_ARG(text), expected);
    }
}

static void times_outside_the_calendar_still_make_a_record(void **state)
{
    static const int64_t times[] = {INT64_MIN, -1, 253402300800000, INT64_MAX};

    (void)state;
    for (size_t i = 0; i < array_size(times); i++) {
        struct authority_event event = scene_event(1, AUTHORITY_INTENT);
        struct str text;

        event.wall_ms = times[i];
        assert_true(json_get_str(parse(format(&event)), STR("timestamp"), &text));
        assert_true(str_starts_with(text, times[i] < 0 ? STR("1970-01-01T00") : STR("9999-12-31")));
    }
}

static void check_words(const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_string_not_equal(words[i], "unknown");
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(words[i], words[j]);
    }
}

static void every_value_has_a_word_of_its_own(void **state)
{
    const char *words[32];
    size_t count = 0;

    (void)state;
    for (int i = 0; i < AUTHORITY_OPERATIONS; i++)
        words[count++] = authority_operation_name((enum authority_operation)i);
    check_words(words, count);
    count = 0;
    for (int i = AUTHORITY_WORKSPACE; i <= AUTHORITY_SECRET; i++)
        words[count++] = authority_root_kind_name((enum authority_root_kind)i);
    check_words(words, count);
    count = 0;
    for (int i = AUTHORITY_CORE; i <= AUTHORITY_AUTOMATION; i++)
        words[count++] = authority_subject_type_name((enum authority_subject_type)i);
    check_words(words, count);
    count = 0;
    for (int i = AUTHORITY_INTENT; i <= AUTHORITY_FAILED; i++)
        words[count++] = authority_outcome_name((enum authority_outcome)i);
    check_words(words, count);
    count = 0;
    for (int i = AUTHORITY_FROM_MANIFEST; i <= AUTHORITY_FROM_CORE; i++)
        words[count++] = authority_source_name((enum authority_source)i);
    check_words(words, count);
    count = 0;
    for (unsigned bit = 1; bit <= AUTHORITY_METADATA; bit <<= 1)
        words[count++] = authority_access_name((enum authority_access)bit);
    check_words(words, count);
}

/* Format and read back, as source and as destination. */
static void check_name(struct str name)
{
    struct authority_event event = scene_event(1, AUTHORITY_INTENT);
    const struct json_value *record;
    char bytes[PATH_MAX];
    struct str text;
    size_t len;

    event.name = name;
    event.destination = name;
    text = format(&event);
    assert_true(utf8_is_valid(text));
    for (size_t i = 0; i < text.len; i++)
        assert_true((unsigned char)text.ptr[i] >= 0x20 && text.ptr[i] != 0x7f);
    record = parse(text);
    assert_true(audit_record_name(record, STR("relativePath"), bytes, &len));
    assert_true(str_eq(name, (struct str){bytes, len}));
    assert_true(audit_record_name(record, STR("destinationPath"), bytes, &len));
    assert_true(str_eq(name, (struct str){bytes, len}));
}

static void hostile_names_stay_one_line_and_lose_nothing(void **state)
{
    static const struct str names[] = {
        STR_LITERAL("a\nb"),         STR_LITERAL("{\"outcome\":\"success\"}\n{}"),
        STR_LITERAL("\"\\\"\\"),     STR_LITERAL("nul\0inside"),
        STR_LITERAL("\x1b[2J\x7f"),  STR_LITERAL("\xff\xfe"),
        STR_LITERAL("caf\xe9/\xc3"), STR_LITERAL("caf\xc3\xa9 \xf0\x9f\x98\x80"),
        STR_LITERAL("\xed\xa0\x80"), STR_LITERAL("../../etc/passwd"),
        STR_LITERAL("616263"),
    };
    static char longest[PATH_MAX];

    (void)state;
    for (size_t i = 0; i < array_size(names); i++)
        check_name(names[i]);
    for (int c = 0; c < 256; c++) {
        memset(longest, c, sizeof(longest));
        check_name((struct str){longest, sizeof(longest)});
    }
}

static void bytes_that_are_no_text_are_written_in_hex(void **state)
{
    struct authority_event event = scene_event(1, AUTHORITY_INTENT);

    (void)state;
    event.name = STR("a\xff\n");
    assert_true(str_find(format(&event), STR("\"relativePathHex\":\"61ff0a\",")) != SIZE_MAX);
    assert_true(str_find(buf_view(&line), STR("\"relativePath\"")) == SIZE_MAX);
    event.name = STR("61ff0a");
    assert_true(str_find(format(&event), STR("\"relativePath\":\"61ff0a\",")) != SIZE_MAX);
}

static void what_is_too_long_is_cut_and_says_so(void **state)
{
    static char text[100001];
    struct authority_event event = scene_event(1, AUTHORITY_DENIED);
    const struct json_value *record;
    struct str found;
    int64_t bytes = 0;
    bool is_cut = false;

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    event.name = (struct str){text, sizeof(text) - 1};
    event.reason = text;
    record = parse(format(&event));
    assert_true(json_get_str(record, STR("relativePath"), &found));
    assert_int_equal(found.len, 256);
    assert_true(json_get_int(record, STR("relativePathBytes"), &bytes));
    assert_int_equal(bytes, sizeof(text) - 1);
    assert_true(json_get_str(record, STR("reason"), &found));
    assert_int_equal(found.len, 512);
    assert_true(json_get_bool(record, STR("truncated"), &is_cut) && is_cut);
}

static void a_long_command_keeps_its_end(void **state)
{
    static char text[10000];
    struct authority_event event = scene_event(1, AUTHORITY_INTENT);
    const struct json_value *record;
    char bytes[PATH_MAX];
    size_t len = 0;

    (void)state;
    memset(text, ' ', sizeof(text));
    memcpy(text, "echo hi", 7);
    memcpy(text + sizeof(text) - 6, "; rm x", 6);
    event.operation = AUTHORITY_OP_EXECUTE;
    event.name = (struct str){text, sizeof(text)};
    record = parse(format(&event));
    assert_true(audit_record_name(record, STR("relativePath"), bytes, &len));
    assert_int_equal(len, PATH_MAX);
    assert_true(audit_record_name(record, STR("relativePathEnd"), bytes, &len));
    assert_int_equal(len, 256);
    assert_memory_equal(bytes + 250, "; rm x", 6);
    /* No byte twice, and none of a character that is not there whole. */
    event.name.len = PATH_MAX + 7;
    memcpy(text + PATH_MAX, "\n\xff; id", 7);
    record = parse(format(&event));
    assert_true(audit_record_name(record, STR("relativePathEnd"), bytes, &len));
    assert_int_equal(len, 7);
    assert_memory_equal(bytes, "\n\xff; id", 7);
    assert_non_null(json_get(record, STR("relativePathEndHex")));
    event.name.len = sizeof(text);
    memcpy(text + sizeof(text) - 257, "\xc3\xa9", 2);
    record = parse(format(&event));
    assert_true(audit_record_name(record, STR("relativePathEnd"), bytes, &len));
    assert_int_equal(len, 255);
    /* What is whole has no end, and neither has what is no command. */
    event.name.len = PATH_MAX;
    assert_null(json_get(parse(format(&event)), STR("relativePathEnd")));
    event.name.len = sizeof(text);
    event.operation = AUTHORITY_OP_WRITE;
    assert_null(json_get(parse(format(&event)), STR("relativePathEnd")));
}

/* The bytes that a record keeps of a name, and whether it says that it is not all. */
static size_t kept_bytes(const struct authority_event *event, bool *out_is_cut)
{
    const struct json_value *record = parse(format(event));
    char bytes[PATH_MAX];
    size_t len = 0;

    assert_true(audit_record_name(record, STR("relativePath"), bytes, &len));
    assert_memory_equal(bytes, event->name.ptr, len);
    *out_is_cut = json_get(record, STR("relativePathHash")) != NULL;
    assert_int_equal(json_get(record, STR("truncated")) != NULL, *out_is_cut);
    return len;
}

static void only_changes_keep_long_names(void **state)
{
    static const struct {
        enum authority_operation operation;
        enum authority_outcome outcome;
        bool is_whole;
    } cases[] = {
        {AUTHORITY_OP_WRITE, AUTHORITY_INTENT, true},
        {AUTHORITY_OP_WRITE, AUTHORITY_SUCCESS, true},
        {AUTHORITY_OP_WRITE, AUTHORITY_FAILED, false},
        {AUTHORITY_OP_WRITE, AUTHORITY_DENIED, false},
        {AUTHORITY_OP_READ, AUTHORITY_SUCCESS, false},
        {AUTHORITY_OP_READ, AUTHORITY_FAILED, false},
        {AUTHORITY_OP_WATCH, AUTHORITY_NOTICED, true},
    };
    static char name[PATH_MAX];

    (void)state;
    memset(name, 'x', sizeof(name));
    for (size_t i = 0; i < array_size(cases); i++) {
        struct authority_event event = scene_event(1, cases[i].outcome);
        bool is_cut;

        event.operation = cases[i].operation;
        event.name = (struct str){name, sizeof(name)};
        assert_int_equal(kept_bytes(&event, &is_cut), cases[i].is_whole ? PATH_MAX : 256);
        assert_int_equal(is_cut, !cases[i].is_whole);
        event.name.len = 256;
        assert_int_equal(kept_bytes(&event, &is_cut), 256);
        assert_false(is_cut);
    }
}

static void cut_names_are_told_apart(void **state)
{
    static char names[3][1000];
    struct authority_event event = scene_event(1, AUTHORITY_DENIED);
    struct str hashes[3];
    char texts[3][16];

    (void)state;
    memset(names, 'x', sizeof(names));
    names[1][999] = 'y';
    for (size_t i = 0; i < 3; i++) {
        event.name = STR("short");
        event.destination = (struct str){names[i], sizeof(names[i])};
        assert_true(json_get_str(parse(format(&event)), STR("destinationPathHash"), &hashes[i]));
        assert_int_equal(hashes[i].len, sizeof(texts[i]));
        memcpy(texts[i], hashes[i].ptr, sizeof(texts[i]));
    }
    assert_memory_not_equal(texts[0], texts[1], sizeof(texts[0]));
    assert_memory_equal(texts[0], texts[2], sizeof(texts[0]));
}

/* No character is halved, and what is no text keeps its bytes all the same. */
static void a_cut_name_stays_what_it_was(void **state)
{
    static char name[1000];
    struct authority_event event = scene_event(1, AUTHORITY_DENIED);
    bool is_cut;

    (void)state;
    event.name = (struct str){name, sizeof(name)};
    for (size_t i = 0; i < sizeof(name); i++)
        name[i] = i == 0 ? 'x' : i % 2 == 1 ? '\xc3' : '\xa9';
    assert_int_equal(kept_bytes(&event, &is_cut), 255);
    assert_true(str_find(buf_view(&line), STR("\"relativePath\":\"x\xc3\xa9")) != SIZE_MAX);
    memset(name, '\n', sizeof(name));
    assert_int_equal(kept_bytes(&event, &is_cut), 256);
    assert_true(str_find(buf_view(&line), STR("\"relativePathHex\":\"0a0a")) != SIZE_MAX);
}

static void the_longest_record_keeps_the_ceiling(void **state)
{
    static char text[1001];
    static char name[PATH_MAX];
    struct authority_subject subject = {.type = AUTHORITY_AUTOMATION, .id = text, .run_id = text};
    struct authority_root root = {
        .kind = AUTHORITY_EXTENSION_STORAGE, .id = text, .display_name = text};
    struct authority_call call = {.tool = text, .decision = text, .id = UINT64_MAX};
    struct authority_event event = scene_event(UINT64_MAX, AUTHORITY_DENIED);

    (void)state;
    memset(text, 1, sizeof(text) - 1);
    memset(name, '"', sizeof(name));
    event.call = &call;
    event.subject = &subject;
    event.root = &root;
    event.operation = AUTHORITY_OP_EXTRACT;
    event.name = (struct str){name, sizeof(name)};
    event.destination = event.name;
    event.outcome = AUTHORITY_INTENT;
    event.error = ERR_ARCHIVE_ENTRIES;
    event.policy_source = text;
    event.reason = text;
    event.wrapper_count = AUTHORITY_MAX_HOOKS;
    for (size_t i = 0; i < AUTHORITY_MAX_HOOKS; i++)
        event.wrapper_ids[i] = text;
    parse(format(&event));
    assert_true(line.len > AUDIT_MAX_RECORD_BYTES * 3 / 4);
}

#define HEAD "{\"timestamp\":\"2026-03-01T12:00:00.123Z\",\"requestId\":\"1\","
#define WHO                                                                                        \
    "\"subject\":{\"type\":\"core\",\"id\":\"c\"},\"root\":{\"kind\":\"temp\",\"id\":\"t\"},"
#define WHAT "\"operation\":\"read\",\"outcome\":\"success\""

static void only_records_are_records(void **state)
{
    static const struct str others[] = {
        STR_LITERAL(""),
        STR_LITERAL("{}"),
        STR_LITERAL("[]"),
        STR_LITERAL("null"),
        STR_LITERAL("hello"),
        STR_LITERAL(HEAD WHO WHAT),
        STR_LITERAL(HEAD WHO WHAT "}{"),
        STR_LITERAL(HEAD WHO WHAT "}" HEAD WHO WHAT "}"),
        STR_LITERAL(HEAD WHAT "}"),
        STR_LITERAL(HEAD WHO "\"operation\":\"read\"}"),
        STR_LITERAL(HEAD WHO "\"operation\":\"read\",\"outcome\":\"maybe\"}"),
        STR_LITERAL(HEAD WHO WHAT ",\"outcome\":\"denied\"}"),
        STR_LITERAL(HEAD WHO WHAT ",\"relativePath\":7}"),
        STR_LITERAL(HEAD WHO WHAT ",\"relativePath\":\"a\",\"relativePathHex\":\"61\"}"),
        STR_LITERAL(HEAD WHO WHAT ",\"relativePathHex\":\"6\"}"),
        STR_LITERAL(HEAD WHO WHAT ",\"relativePathHex\":\"6G\"}"),
        STR_LITERAL("{\"timestamp\":\"yesterday\",\"requestId\":\"1\"," WHO WHAT "}"),
        STR_LITERAL("{\"timestamp\":\"2026-03-01T12:00:00.123Z\",\"requestId\":1," WHO WHAT "}"),
        STR_LITERAL(HEAD WHO WHAT ",\"x\":[[[[[]]]]]}"),
    };

    (void)state;
    parse(STR(HEAD WHO WHAT "}"));
    parse(STR(HEAD WHO WHAT ",\"laterVersion\":{\"a\":[1]}}"));
    for (size_t i = 0; i < array_size(others); i++) {
        const struct json_value *record = NULL;

        assert_int_equal(audit_parse(&arena, others[i], &record), ERR_INVALID_JSON);
        assert_null(record);
    }
}

/* ---- Searching ---- */

static void put_records(void)
{
    static const struct authority_subject extension = {.type = AUTHORITY_EXTENSION, .id = "ext"};
    static const struct authority_root other_root = {.kind = AUTHORITY_ARTIFACT, .id = "art"};
    struct audit_config config = scene_config();
    struct audit_file *file = scene_open(&config);

    for (uint64_t id = 1; id <= 6; id++) {
        struct authority_event event = scene_event(id, AUTHORITY_SUCCESS);

        event.wall_ms += (int64_t)id * 1000;
        if (id == 2)
            event.subject = &extension;
        if (id == 3)
            event.root = &other_root;
        if (id == 4) {
            event.operation = AUTHORITY_OP_MOVE;
            event.name = STR("src/a.c");
            event.destination = STR("notes-old/a.c");
        }
        if (id == 5) {
            event.outcome = AUTHORITY_DENIED;
            event.name = STR("./src//caf\xe9/x");
        }
        if (id == 6)
            event.name = STR("srcs");
        assert_int_equal(audit_file_record(file, &event), 0);
    }
    audit_file_close(file);
}

static void a_search_finds_what_fits_and_nothing_else(void **state)
{
    static const struct {
        struct audit_query query;
        const char *ids;
    } cases[] = {
        {{.max_records = 0}, "1 2 3 4 5 6"},
        {{.max_records = 2}, "1 2"},
        {{.subject_id = STR_LITERAL("ext")}, "2"},
        {{.subject_id = STR_LITERAL("ex")}, ""},
        {{.root_id = STR_LITERAL("art")}, "3"},
        {{.operation = STR_LITERAL("move")}, "4"},
        {{.outcome = STR_LITERAL("denied")}, "5"},
        {{.request_id = 6}, "6"},
        {{.request_id = 7}, ""},
        {{.since_ms = 1772366400123 + 3000}, "3 4 5 6"},
        {{.until_ms = 1772366400123 + 3000}, "1 2"},
        {{.since_ms = 1772366400123 + 2001, .until_ms = 1772366400123 + 4001}, "3 4"},
        {{.name_prefix = STR_LITERAL("src")}, "4 5"},
        {{.name_prefix = STR_LITERAL("/src/")}, "4 5"},
        {{.name_prefix = STR_LITERAL("src/caf\xe9")}, "5"},
        {{.name_prefix = STR_LITERAL("src/caf")}, ""},
        {{.name_prefix = STR_LITERAL("/home/alice/ws/src")}, "4 5"},
        {{.name_prefix = STR_LITERAL("/ws/src/caf\xe9/")}, "5"},
        {{.name_prefix = STR_LITERAL("/src/ws")}, ""},
        {{.name_prefix = STR_LITERAL("ws/src")}, ""},
        {{.name_prefix = STR_LITERAL("notes")}, "1 2 3"},
        {{.name_prefix = STR_LITERAL("notes-old")}, "4"},
        {{.name_prefix = STR_LITERAL("src"), .outcome = STR_LITERAL("success")}, "4"},
    };

    (void)state;
    put_records();
    for (size_t i = 0; i < array_size(cases); i++) {
        cleanup_found struct scene_found found = scene_find(&cases[i].query);

        if (!str_eq_c(buf_view(&found.ids), cases[i].ids))
            fail_msg("case %zu found %.*s", i, STR_ARG(buf_view(&found.ids)));
        assert_int_equal(found.skipped, 0);
    }
}

static int stop_at_third(void *data, const struct json_value *record)
{
    unsigned *seen = data;

    (void)record;
    return ++*seen == 3 ? ERR_CANCELLED : 0;
}

static void the_visitor_may_stop_a_search(void **state)
{
    struct audit_config config = scene_config();
    unsigned seen = 0;

    (void)state;
    put_records();
    assert_int_equal(audit_query(&config, &(struct audit_query){.max_records = 0}, stop_at_third,
                                 &seen, NULL, NULL),
                     ERR_CANCELLED);
    assert_int_equal(seen, 3);
}

static void torn_foreign_and_endless_lines_are_skipped_and_counted(void **state)
{
    static char endless[5 * AUDIT_MAX_RECORD_BYTES];

    (void)state;
    put_records();
    memset(endless, 'x', sizeof(endless));
    scene_put("audit.jsonl", STR("not a record\n"));
    scene_put("audit.jsonl", (struct str){endless, sizeof(endless)});
    scene_put("audit.jsonl", STR("\n\n\n"));
    scene_put("audit.jsonl", (struct str){endless, AUDIT_MAX_RECORD_BYTES + 1});
    scene_put("audit.jsonl", STR("\n" HEAD WHO WHAT "}\n"));
    scene_put("audit.jsonl", STR(HEAD WHO WHAT "}"));
    {
        cleanup_found struct scene_found found = scene_find_all();

        assert_str(buf_view(&found.ids), "1 2 3 4 5 6 1");
        assert_int_equal(found.skipped, 4);
    }
}

/* As when it is rotated while the files are being opened. */
static void a_file_that_is_met_twice_is_read_once(void **state)
{
    (void)state;
    put_records();
    assert_int_equal(linkat(scene_fd, "audit.jsonl", scene_fd, "audit.jsonl.1", 0), 0);
    {
        cleanup_found struct scene_found found = scene_find_all();

        assert_str(buf_view(&found.ids), "1 2 3 4 5 6");
    }
}

static int put_another(void *data, const struct json_value *record)
{
    unsigned *seen = data;

    (void)record;
    scene_put("audit.jsonl", STR(HEAD WHO WHAT "}\n"));
    return ++*seen == 100 ? ERR_INTERNAL : 0;
}

static void a_search_ends_while_others_write(void **state)
{
    struct audit_config config = scene_config();
    unsigned seen = 0;

    (void)state;
    put_records();
    assert_int_equal(audit_query(&config, &(struct audit_query){.max_records = 0}, put_another,
                                 &seen, NULL, NULL),
                     0);
    assert_int_equal(seen, 6);
}

/* What comes behind the last record that was wanted is nobody's concern. */
static void a_search_that_has_enough_skips_nothing(void **state)
{
    static char endless[3 * AUDIT_MAX_RECORD_BYTES];

    (void)state;
    put_records();
    memset(endless, '\n', sizeof(endless));
    scene_put("audit.jsonl", (struct str){endless, sizeof(endless)});
    {
        cleanup_found struct scene_found found =
            scene_find(&(struct audit_query){.max_records = 1});

        assert_str(buf_view(&found.ids), "1");
        assert_int_equal(found.skipped, 0);
    }
}

static void a_search_where_nothing_is_finds_nothing(void **state)
{
    cleanup_found struct scene_found found = scene_find_all();

    (void)state;
    assert_int_equal(found.count, 0);
    assert_int_equal(found.skipped, 0);
    assert_false(scene_has("audit.jsonl"));
    assert_false(scene_has("audit.jsonl.lock"));
}

static void a_search_follows_no_link_and_waits_for_no_fifo(void **state)
{
    (void)state;
    put_records();
    scene_put("elsewhere", STR(HEAD WHO WHAT "}\n"));
    assert_int_equal(symlinkat("elsewhere", scene_fd, "audit.jsonl.1"), 0);
    assert_int_equal(mkfifoat(scene_fd, "audit.jsonl.2", 0600), 0);
    {
        cleanup_found struct scene_found found = scene_find_all();

        assert_str(buf_view(&found.ids), "1 2 3 4 5 6");
        assert_int_equal(found.skipped, 2);
    }
}

TEST_MAIN(plain_test(a_record_has_all_its_fields), plain_test(what_is_not_there_is_left_out),
          plain_test(the_roots_path_is_never_written), plain_test(times_are_those_of_the_calendar),
          plain_test(times_outside_the_calendar_still_make_a_record),
          plain_test(every_value_has_a_word_of_its_own),
          plain_test(hostile_names_stay_one_line_and_lose_nothing),
          plain_test(bytes_that_are_no_text_are_written_in_hex),
          plain_test(what_is_too_long_is_cut_and_says_so), plain_test(a_long_command_keeps_its_end),
          plain_test(only_changes_keep_long_names), plain_test(cut_names_are_told_apart),
          plain_test(a_cut_name_stays_what_it_was),
          plain_test(the_longest_record_keeps_the_ceiling), plain_test(only_records_are_records),
          scene_test(a_search_finds_what_fits_and_nothing_else),
          scene_test(the_visitor_may_stop_a_search),
          scene_test(torn_foreign_and_endless_lines_are_skipped_and_counted),
          scene_test(a_file_that_is_met_twice_is_read_once),
          scene_test(a_search_ends_while_others_write),
          scene_test(a_search_that_has_enough_skips_nothing),
          scene_test(a_search_where_nothing_is_finds_nothing),
          scene_test(a_search_follows_no_link_and_waits_for_no_fifo))
