/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that is refused as often as possible, or that begins changes that fail, cannot push its
 * earlier changes out of the audit log; and nothing that it does is missing there.
 */
#include "audit_scene.h"
#include "world.h"

#include "gatehouse/authority.h"

enum {
    FIRST = 32, /* of a kind, among the changes */
    WINDOW_MS = 20 * 60 * 1000,
};

static struct audit_config config;
static struct clock now;

static int start(void **state)
{
    scene_start(state);
    clock_fake_init(&now, 1772366400123);
    config = scene_config();
    config.clock = &now;
    return 0;
}

#define flood_test(function) cmocka_unit_test_setup_teardown(function, start, scene_stop)

static int record_as(struct audit_file *file, uint64_t id, const char *subject_id,
                     enum authority_operation operation, int error)
{
    struct authority_subject subject = {.type = AUTHORITY_EXTENSION, .id = subject_id};
    struct authority_event event =
        scene_event(id, err_category(error) == ERR_POLICY ? AUTHORITY_DENIED : AUTHORITY_FAILED);

    event.wall_ms = now.fake_wall_ms;
    event.subject = &subject;
    event.operation = operation;
    event.error = error;
    return audit_file_record(file, &event);
}

static void refuse(struct audit_file *file, uint64_t id)
{
    assert_int_equal(record_as(file, id, "ext", AUTHORITY_OP_READ, ERR_PATH_OUTSIDE_ROOT), 0);
}

struct counts {
    size_t lines;
    size_t told; /* lines that tell of others */
    uint64_t more;
};

static void count_line(struct str line, struct counts *counts)
{
    cleanup_arena struct arena arena = ARENA_INIT(1 << 20);
    const struct json_value *found;
    int64_t more = 0;

    assert_int_equal(audit_parse(&arena, line, &found), 0);
    counts->lines++;
    counts->told += json_get_int(found, STR("more"), &more);
    counts->more += (uint64_t)more;
}

/* What one file says, read by hand. */
static struct counts count_in(const char *name)
{
    cleanup_fd int fd = openat(scene_fd, name, O_RDONLY | O_CLOEXEC);
    cleanup_buf struct buf text = BUF_INIT(64 << 20);
    struct counts counts = {0};
    struct str rest;
    struct str line;

    assert_true(fd >= 0);
    assert_int_equal(buf_reserve(&text, (size_t)scene_stat(name).st_size), 0);
    text.len = (size_t)scene_stat(name).st_size;
    assert_int_equal(read(fd, text.data, text.len), text.len);
    rest = buf_view(&text);
    while (str_cut(&rest, '\n', &line)) {
        if (line.len > 0)
            count_line(line, &counts);
    }
    return counts;
}

static void only_the_first_of_a_kind_are_among_the_changes(void **state)
{
    struct audit_file *file = scene_open(&config);

    (void)state;
    for (uint64_t id = 1; id <= 1000; id++)
        refuse(file, id);
    assert_int_equal(count_in("audit.jsonl").lines, FIRST);
    assert_int_equal(count_in("audit.jsonl.reads").lines, 1000 - FIRST);
    /* Others have a count of their own: by subject, by operation, by code. */
    assert_int_equal(record_as(file, 1001, "other", AUTHORITY_OP_READ, ERR_PATH_OUTSIDE_ROOT), 0);
    assert_int_equal(record_as(file, 1002, "ext", AUTHORITY_OP_LIST, ERR_PATH_OUTSIDE_ROOT), 0);
    assert_int_equal(record_as(file, 1003, "ext", AUTHORITY_OP_READ, ERR_SYMLINK_REJECTED), 0);
    assert_int_equal(record_as(file, 1004, "ext", AUTHORITY_OP_WRITE, ERR_NOT_FOUND), 0);
    assert_int_equal(count_in("audit.jsonl").lines, FIRST + 4);
    audit_file_close(file);
}

static void the_rest_is_counted_when_the_time_is_over(void **state)
{
    struct audit_file *file = scene_open(&config);
    struct counts counts;

    (void)state;
    for (uint64_t id = 1; id <= 100; id++)
        refuse(file, id);
    audit_file_flush(file);
    assert_int_equal(count_in("audit.jsonl").told, 0);
    clock_fake_advance(&now, WINDOW_MS - 1);
    audit_file_flush(file);
    assert_int_equal(count_in("audit.jsonl").told, 0);
    clock_fake_advance(&now, 1);
    audit_file_flush(file);
    counts = count_in("audit.jsonl");
    assert_int_equal(counts.told, 1);
    assert_int_equal(counts.more, 100 - FIRST);
    /* The time begins again, and the next flood is told of by what comes after it. */
    for (uint64_t id = 101; id <= 200; id++)
        refuse(file, id);
    assert_int_equal(count_in("audit.jsonl").lines, 2 * FIRST + 1);
    clock_fake_advance(&now, WINDOW_MS);
    refuse(file, 201);
    counts = count_in("audit.jsonl");
    assert_int_equal(counts.told, 2);
    assert_int_equal(counts.more, 2 * (100 - FIRST));
    assert_int_equal(counts.lines, 2 * FIRST + 3);
    audit_file_close(file);
}

static int find_more(void *data, const struct json_value *record)
{
    struct buf *out = data;
    struct str words[3] = {STR_EMPTY, STR_EMPTY, STR_EMPTY};
    int64_t more = 0;

    if (!json_get_int(record, STR("more"), &more))
        return 0;
    assert_true(json_get_str(json_get(record, STR("subject")), STR("id"), &words[0]));
    assert_true(json_get_str(record, STR("operation"), &words[1]));
    assert_true(json_get_str(record, STR("error"), &words[2]));
    return buf_printf(out, "%.*s %.*s %.*s %lld;", STR_ARG(words[0]), STR_ARG(words[1]),
                      STR_ARG(words[2]), (long long)more);
}

static void a_search_finds_all_and_what_is_told_at_the_end(void **state)
{
    struct audit_file *file = scene_open(&config);
    cleanup_buf struct buf told = BUF_INIT(1000);
    cleanup_found struct scene_found found = {0};

    (void)state;
    for (uint64_t id = 1; id <= 100; id++)
        refuse(file, id);
    for (uint64_t id = 101; id <= 150; id++)
        assert_int_equal(record_as(file, id, "talk", AUTHORITY_OP_MKDIR, ERR_NOT_FOUND), 0);
    audit_file_close(file);
    found = scene_find_all();
    /* None is missing; the two that tell of others come last. */
    assert_int_equal(found.count, 152);
    assert_true(str_starts_with(buf_view(&found.ids), STR("1 2 3 4 ")));
    assert_int_equal(
        audit_query(&config, &(struct audit_query){.max_records = 0}, find_more, &told, NULL, NULL),
        0);
    assert_str(buf_view(&told), "ext read path_outside_root 68;talk mkdir not_found 18;");
}

/* What finds no place for its kind shares one, and is counted there. */
static void more_kinds_than_places_are_counted_together(void **state)
{
    struct audit_file *file = scene_open(&config);
    struct counts counts;
    char id[32];

    (void)state;
    for (unsigned subject = 0; subject < 1000; subject++) {
        snprintf(id, sizeof(id), "ext-%u", subject);
        assert_int_equal(record_as(file, subject + 1, id, AUTHORITY_OP_READ, ERR_PATH_OUTSIDE_ROOT),
                         0);
    }
    assert_int_equal(count_in("audit.jsonl").lines, 63 + FIRST);
    audit_file_close(file);
    counts = count_in("audit.jsonl");
    assert_int_equal(counts.told, 1);
    assert_int_equal(counts.more, 1000 - 63 - FIRST);
}

static void a_count_that_cannot_be_told_is_told_later(void **state)
{
    struct audit_file *file = scene_open(&config);
    struct counts counts;

    (void)state;
    for (uint64_t id = 1; id <= 100; id++)
        refuse(file, id);
    clock_fake_advance(&now, WINDOW_MS);
    assert_int_equal(linkat(scene_fd, "audit.jsonl", scene_fd, "alias", 0), 0);
    audit_file_flush(file);
    /* It cannot be among the first either while that lasts. */
    refuse(file, 101);
    assert_int_equal(unlinkat(scene_fd, "alias", 0), 0);
    audit_file_close(file);
    counts = count_in("audit.jsonl");
    assert_int_equal(counts.told, 1);
    assert_int_equal(counts.more, 101 - FIRST);
}

/* ---- Changes that fail ---- */

static void change(struct audit_file *file, uint64_t id, enum authority_outcome outcome)
{
    assert_int_equal(scene_record(file, id, AUTHORITY_INTENT), 0);
    assert_int_equal(scene_record(file, id, outcome), 0);
}

static void changes_that_keep_failing_are_recorded_like_reads(void **state)
{
    struct audit_file *file = scene_open(&config);
    size_t reads;

    (void)state;
    for (uint64_t id = 1; id <= FIRST; id++)
        change(file, id, AUTHORITY_FAILED);
    assert_int_equal(count_in("audit.jsonl").lines, 2 * FIRST);
    for (uint64_t id = FIRST + 1; id <= 1000; id++)
        change(file, id, AUTHORITY_FAILED);
    /* Only the failures, as those of a kind of their own. */
    assert_int_equal(count_in("audit.jsonl").lines, 3 * FIRST);
    reads = count_in("audit.jsonl.reads").lines;
    assert_int_equal(reads, 2000 - 3 * FIRST);
    /* What succeeds is among the changes all the same. */
    change(file, 1001, AUTHORITY_SUCCESS);
    assert_int_equal(count_in("audit.jsonl").lines, 3 * FIRST + 1);
    assert_int_equal(count_in("audit.jsonl.reads").lines, reads + 1);
    /* After a while, its intent too. */
    clock_fake_advance(&now, WINDOW_MS);
    change(file, 1002, AUTHORITY_SUCCESS);
    assert_int_equal(count_in("audit.jsonl").lines, 3 * FIRST + 3);
    audit_file_close(file);
}

/* An intent among the changes has its outcome there. */
static void what_was_begun_among_the_changes_ends_there(void **state)
{
    struct audit_file *file = scene_open(&config);

    (void)state;
    for (uint64_t id = 1; id <= 200; id++)
        assert_int_equal(scene_record(file, id, AUTHORITY_INTENT), 0);
    for (uint64_t id = 1; id <= 200; id++)
        assert_int_equal(scene_record(file, id, AUTHORITY_FAILED), 0);
    assert_int_equal(count_in("audit.jsonl").lines, 400);
    assert_int_equal(count_in("audit.jsonl.reads").lines, 0);
    audit_file_close(file);
}

static void without_room_for_reads_intents_stay_among_the_changes(void **state)
{
    struct audit_file *file = scene_open(&config);

    (void)state;
    for (uint64_t id = 1; id <= 100; id++)
        change(file, id, AUTHORITY_FAILED);
    assert_int_equal(scene_record(file, 200, AUTHORITY_INTENT), 0);
    assert_int_equal(linkat(scene_fd, "audit.jsonl.reads", scene_fd, "alias", 0), 0);
    change(file, 201, AUTHORITY_SUCCESS);
    /* And where only the changes are out of order, an outcome goes where its intent is. */
    assert_int_equal(unlinkat(scene_fd, "alias", 0), 0);
    assert_int_equal(linkat(scene_fd, "audit.jsonl", scene_fd, "alias", 0), 0);
    assert_int_equal(scene_record(file, 200, AUTHORITY_SUCCESS), 0);
    assert_int_equal(unlinkat(scene_fd, "alias", 0), 0);
    audit_file_close(file);
    {
        cleanup_found struct scene_found found =
            scene_find(&(struct audit_query){.outcome = STR("success")});

        assert_int_equal(found.count, 2);
    }
}

/* ---- Hours of it ---- */

/*
 * A sixteenth of the usual size is to last for a sixteenth of twelve hours, whatever is refused
 * in whatever way as fast as it can be.
 */
static void hours_of_refusals_do_not_turn_the_ring_over(void **state)
{
    static const int codes[] = {ERR_PATH_OUTSIDE_ROOT, ERR_SYMLINK_REJECTED, ERR_DENIED_BY_POLICY,
                                ERR_HARDLINK_REJECTED, ERR_ACCESS_MISSING,   ERR_INVALID_PATH};
    static char name[PATH_MAX];
    struct audit_file *file;

    (void)state;
    memset(name, 1, sizeof(name));
    config.max_bytes = 1 << 20;
    file = scene_open(&config);
    change(file, 1, AUTHORITY_SUCCESS);
    for (unsigned minute = 0; minute < 12 * 60 / 16; minute += 5) {
        for (unsigned i = 0; i < 40 * array_size(codes) * AUTHORITY_OPERATIONS; i++) {
            struct authority_event event = scene_event(i + 2, AUTHORITY_DENIED);

            event.operation = (enum authority_operation)(i % AUTHORITY_OPERATIONS);
            event.error = codes[i / AUTHORITY_OPERATIONS % array_size(codes)];
            event.name = (struct str){name, sizeof(name)};
            event.destination = event.name;
            assert_int_equal(audit_file_record(file, &event), 0);
        }
        clock_fake_advance(&now, INT64_C(5) * 60 * 1000);
    }
    audit_file_close(file);
    /* Of the reads' ring nothing is left but the last minutes. */
    assert_true(scene_has("audit.jsonl.reads.8"));
    {
        cleanup_found struct scene_found found =
            scene_find(&(struct audit_query){.operation = STR("write"), .outcome = STR("success")});

        assert_str(buf_view(&found.ids), "1");
    }
}

/* ---- The real thing ---- */

static int note_name(void *data, const struct json_value *record)
{
    struct str name = STR_EMPTY;

    json_get_str(record, STR("relativePath"), &name);
    return buf_printf(data, "%.*s ", STR_ARG(name));
}

enum { FLOOD = 1000 };

static void flood_authority(struct world *world)
{
    cleanup_buf struct buf out = BUF_INIT(1 << 20);
    static char missing[PATH_MAX - 100];
    static char outside[PATH_MAX - 100];

    for (size_t i = 0; i < sizeof(missing); i++)
        missing[i] = i % 200 == 199 ? '/' : 'm';
    memcpy(outside, missing, sizeof(missing));
    memcpy(outside, "../", 3);
    for (unsigned i = 0; i < FLOOD; i++) {
        struct str name = {missing, sizeof(missing) - 1};

        assert_int_equal(authority_read_bytes(world->scope, name, NULL, &out, NULL), ERR_NOT_FOUND);
        assert_int_equal(authority_write_bytes(world->scope, name, STR("x"), NULL, NULL),
                         ERR_NOT_FOUND);
        name.ptr = outside;
        assert_int_equal(authority_read_bytes(world->scope, name, NULL, &out, NULL),
                         ERR_PATH_OUTSIDE_ROOT);
        assert_int_equal(authority_write_bytes(world->scope, name, STR("x"), NULL, NULL),
                         ERR_PATH_OUTSIDE_ROOT);
    }
}

static void a_hostile_client_does_not_drive_its_changes_out(void **state)
{
    struct world *world = *state;
    cleanup_fd int dir_fd = open(world->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_buf struct buf names = BUF_INIT(1000);
    struct audit_config mine = {.dir_fd = dir_fd,
                                .name = "audit.jsonl",
                                .max_bytes = 256 << 10,
                                .max_files = 2,
                                .clock = &world->clock};
    struct audit_query changed = {.operation = STR("write"), .outcome = STR("success")};
    struct audit_query refused = {.operation = STR("delete"), .outcome = STR("denied")};
    struct audit_file *audit = NULL;
    struct stat about;

    assert_int_equal(audit_file_open(&mine, &audit, &world->err), 0);
    assert_int_equal(authority_add_listener(world->authority, audit_file_record, audit), 0);
    assert_int_equal(authority_write_bytes(world->scope, STR("mine"), STR("x"), NULL, NULL), 0);
    assert_int_equal(authority_remove(world->scope, STR("../theirs"), NULL, NULL),
                     ERR_PATH_OUTSIDE_ROOT);
    flood_authority(world);
    assert_int_equal(authority_write_bytes(world->scope, STR("after"), STR("x"), NULL, NULL), 0);
    authority_remove_listener(world->authority, audit_file_record, audit);
    audit_file_close(audit);
    assert_int_equal(fstatat(dir_fd, "audit.jsonl.reads.2", &about, 0), 0);
    assert_int_equal(audit_query(&mine, &changed, note_name, &names, NULL, NULL), 0);
    assert_int_equal(audit_query(&mine, &refused, note_name, &names, NULL, NULL), 0);
    assert_str(buf_view(&names), "mine after ../theirs ");
}

TEST_MAIN(flood_test(only_the_first_of_a_kind_are_among_the_changes),
          flood_test(the_rest_is_counted_when_the_time_is_over),
          flood_test(a_search_finds_all_and_what_is_told_at_the_end),
          flood_test(more_kinds_than_places_are_counted_together),
          flood_test(a_count_that_cannot_be_told_is_told_later),
          flood_test(changes_that_keep_failing_are_recorded_like_reads),
          flood_test(what_was_begun_among_the_changes_ends_there),
          flood_test(without_room_for_reads_intents_stay_among_the_changes),
          flood_test(hours_of_refusals_do_not_turn_the_ring_over),
          ON_DISK(a_hostile_client_does_not_drive_its_changes_out))
