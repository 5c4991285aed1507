/* SPDX-License-Identifier: Apache-2.0 */
/* Intents are matched with their own outcomes, not with those of others. */
#include "test.h"

#include "gatehouse/audit.h"
#include "programs/audit/pairs.h"

static struct arena arena = ARENA_INIT(1 << 20);
static struct pairs pairs;

static int reset(void **state)
{
    (void)state;
    arena_done(&arena);
    memset(&pairs, 0, sizeof(pairs));
    return 0;
}

#define pairs_test(function) cmocka_unit_test_setup_teardown(function, reset, reset)

static struct authority_event usual(void)
{
    static const struct authority_subject subject = {
        .type = AUTHORITY_AGENT_RUN, .id = "talk", .run_id = "run"};
    static const struct authority_root root = {.kind = AUTHORITY_WORKSPACE, .id = "main"};

    return (struct authority_event){.request_id = 7,
                                    .subject = &subject,
                                    .root = &root,
                                    .operation = AUTHORITY_OP_WRITE,
                                    .name = STR("a"),
                                    .outcome = AUTHORITY_INTENT};
}

/* As it is after it was written and read. */
static uint64_t key_of(const struct authority_event *event)
{
    cleanup_buf struct buf line = BUF_INIT(AUDIT_MAX_RECORD_BYTES);
    const struct json_value *record = NULL;
    uint64_t key;

    assert_int_equal(audit_format(event, &line), 0);
    assert_int_equal(audit_parse(&arena, buf_view(&line), &record), 0);
    key = pairs_key(record);
    assert_true(key != 0);
    return key;
}

static void both_halves_have_one_key(void **state)
{
    static char name[PATH_MAX - 1];
    struct authority_event intent = usual();
    struct authority_event outcome = usual();

    (void)state;
    memset(name, 'n', sizeof(name));
    outcome.outcome = AUTHORITY_FAILED;
    outcome.error = ERR_NO_SPACE;
    outcome.policy_source = "audit";
    outcome.wall_ms = 99;
    assert_true(key_of(&intent) == key_of(&outcome));
    /* What the outcome keeps of a long name, and of one with bytes that are no text. */
    for (size_t len = 240; len < 300; len++) {
        intent.name = (struct str){name, len};
        outcome.name = intent.name;
        assert_true(key_of(&intent) == key_of(&outcome));
    }
    name[280] = '\n';
    intent.name = (struct str){name, sizeof(name)};
    outcome.name = intent.name;
    assert_true(key_of(&intent) == key_of(&outcome));
}

static void others_have_others(void **state)
{
    static const struct authority_subject subject = {
        .type = AUTHORITY_AGENT_RUN, .id = "talk", .run_id = "another"};
    static const struct authority_root root = {.kind = AUTHORITY_WORKSPACE, .id = "other"};
    struct authority_event first = usual();
    struct authority_event others[6];
    uint64_t key = key_of(&first);

    (void)state;
    for (size_t i = 0; i < array_size(others); i++)
        others[i] = usual();
    others[0].request_id = 8;
    others[1].subject = &subject;
    others[2].root = &root;
    others[3].operation = AUTHORITY_OP_APPEND;
    others[4].name = STR("b");
    others[5].destination = STR("b");
    for (size_t i = 0; i < array_size(others); i++)
        assert_true(key_of(&others[i]) != key);
}

static void each_is_taken_once(void **state)
{
    (void)state;
    assert_false(pairs_take(&pairs, 5));
    pairs_add(&pairs, 5);
    pairs_add(&pairs, 7);
    pairs_add(&pairs, 5);
    assert_true(pairs_take(&pairs, 5));
    assert_true(pairs_take(&pairs, 5));
    assert_false(pairs_take(&pairs, 5));
    assert_true(pairs_take(&pairs, 7));
    assert_false(pairs_take(&pairs, 7));
}

static void the_oldest_are_forgotten(void **state)
{
    (void)state;
    for (uint64_t key = 1; key <= PAIRS_MAX + 10; key++)
        pairs_add(&pairs, key);
    assert_false(pairs_take(&pairs, 10));
    assert_true(pairs_take(&pairs, 11));
    assert_true(pairs_take(&pairs, PAIRS_MAX + 10));
    assert_true(pairs_take(&pairs, 12));
    pairs_add(&pairs, 3);
    assert_true(pairs_take(&pairs, 3));
    assert_true(pairs_take(&pairs, PAIRS_MAX + 9));
}

static void what_was_added_last_is_found_and_stays(void **state)
{
    (void)state;
    assert_false(pairs_has(&pairs, 5));
    pairs_add(&pairs, 5);
    assert_true(pairs_has(&pairs, 5));
    for (uint64_t key = 6; key < 5 + PAIRS_NEAR; key++)
        pairs_add(&pairs, key);
    assert_true(pairs_has(&pairs, 5));
    pairs_add(&pairs, 3);
    assert_false(pairs_has(&pairs, 5));
    assert_true(pairs_take(&pairs, 5));
}

TEST_MAIN(pairs_test(both_halves_have_one_key), pairs_test(others_have_others),
          pairs_test(each_is_taken_once), pairs_test(the_oldest_are_forgotten),
          pairs_test(what_was_added_last_is_found_and_stays))
