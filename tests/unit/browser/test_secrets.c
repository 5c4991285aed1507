/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <string.h>

#include "base/arena.h"
#include "browser/secrets.h"

enum { TEXT_BYTES = 64 << 10, ARENA_BYTES = 1 << 20 };

struct world {
    struct browser_secrets *secrets;
    struct arena arena;
    struct buf text;
    struct err err;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof(*world));

    assert_non_null(world);
    assert_int_equal(browser_secrets_new(&world->secrets), 0);
    arena_init(&world->arena, ARENA_BYTES);
    buf_init(&world->text, TEXT_BYTES);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    browser_secrets_free(world->secrets);
    arena_done(&world->arena);
    buf_done(&world->text);
    free(world);
    return 0;
}

static const struct json_value *parse(struct world *world, const char *text)
{
    const struct json_value *value = NULL;

    if (text != NULL)
        assert_int_equal(
            json_parse(&world->arena, str_from(text), JSON_LIMITS_DEFAULT, &value, NULL), 0);
    return value;
}

static int put(struct world *world, const char *key, const char *field, const char *value)
{
    return browser_secrets_put(world->secrets, str_from(key), str_from(field), str_from(value),
                               &world->err);
}

static int data(struct world *world, const char *key, const char *plain, const char *resolved)
{
    buf_clear(&world->text);
    world->err = (struct err)ERR_INIT;
    return browser_secrets_write_data(world->secrets, str_from(key), parse(world, plain),
                                      parse(world, resolved), &world->text, &world->err);
}

static void assert_data(struct world *world, const char *key, const char *plain,
                        const char *resolved, const char *wanted)
{
    assert_int_equal(data(world, key, plain, resolved), 0);
    assert_true(str_eq_c(buf_view(&world->text), wanted));
}

static void secrets_become_the_data_of_a_credential(void **state)
{
    struct world *world = *state;

    assert_int_equal(put(world, "k", "apiKey", "s\"1"), 0);
    assert_int_equal(put(world, "other", "apiKey", "no"), 0);
    assert_data(world, "k", NULL, NULL, "{\"apiKey\":\"s\\\"1\"}");
    assert_int_equal(put(world, "k", "apiKey", "new"), 0);
    assert_int_equal(put(world, "k", "id", "7"), 0);
    assert_data(world, "k", "{\"host\":\"h\",\"port\":5}", NULL,
                "{\"host\":\"h\",\"port\":5,\"apiKey\":\"new\",\"id\":\"7\"}");
    assert_data(world, "k", "{\"host\":\"h\"}", "{\"value\":\"apiKey\",\"in\":{\"er\":\"id\"}}",
                "{\"host\":\"h\",\"value\":\"new\",\"in\":{\"er\":\"7\"}}");
    assert_data(world, "k", NULL, "{}", "{}");
}

static void what_is_missing_or_twice_is_told(void **state)
{
    struct world *world = *state;

    assert_int_equal(data(world, "k", NULL, NULL), ERR_NOT_FOUND);
    assert_non_null(strstr(world->err.message, "No captured fields found"));
    assert_int_equal(put(world, "k", "apiKey", "s"), 0);
    assert_int_equal(data(world, "k", NULL, "{\"value\":\"nothing\"}"), ERR_NOT_FOUND);
    assert_non_null(strstr(world->err.message, "resolveData"));
    assert_non_null(strstr(world->err.message, "was not found"));
    assert_int_equal(data(world, "k", NULL, "{\"value\":5}"), ERR_INVALID_ARGUMENT);
    assert_int_equal(data(world, "k", "{\"apiKey\":1}", NULL), ERR_INVALID_ARGUMENT);
    assert_int_equal(data(world, "k", "{\"v\":1}", "{\"v\":\"apiKey\"}"), ERR_INVALID_ARGUMENT);
    assert_int_equal(put(world, "k", "empty", ""), ERR_INVALID_ARGUMENT);
    assert_non_null(strstr(world->err.message, "Secret capturing failed"));
}

static void they_can_be_forgotten(void **state)
{
    struct world *world = *state;

    assert_int_equal(put(world, "a", "x", "1"), 0);
    assert_int_equal(put(world, "a", "y", "2"), 0);
    assert_int_equal(put(world, "b", "x", "3"), 0);
    assert_int_equal(browser_secrets_write_names(world->secrets, STR("a"), &world->text), 0);
    assert_true(str_eq(buf_view(&world->text), STR("[\"x\",\"y\"]")));
    browser_secrets_drop(world->secrets, STR("a"));
    assert_int_equal(data(world, "a", NULL, NULL), ERR_NOT_FOUND);
    assert_data(world, "b", NULL, NULL, "{\"x\":\"3\"}");
    browser_secrets_clear(world->secrets);
    assert_int_equal(data(world, "b", NULL, NULL), ERR_NOT_FOUND);
}

static void there_is_a_limit(void **state)
{
    struct world *world = *state;
    char field[16];

    for (int i = 0; i < BROWSER_SECRETS_MAX; i++) {
        snprintf(field, sizeof(field), "f%d", i);
        assert_int_equal(put(world, "k", field, "s"), 0);
    }
    assert_int_equal(put(world, "k", "one more", "s"), ERR_BUSY);
    assert_int_equal(put(world, "k", "f3", "again"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(secrets_become_the_data_of_a_credential, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_missing_or_twice_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(they_can_be_forgotten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(there_is_a_limit, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
