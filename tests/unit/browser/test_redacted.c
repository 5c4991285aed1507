/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <string.h>

#include "browser/redacted.h"

enum { TEXT_BYTES = 64 << 10 };

#define ONE "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
#define TWO "ghp_9876543210abcdefghijklmnopqrstuvwxyz"

struct world {
    struct browser_redacted *redacted;
    struct buf text;
    struct err err;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof(*world));

    assert_non_null(world);
    assert_int_equal(browser_redacted_new(&world->redacted), 0);
    buf_init(&world->text, TEXT_BYTES);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    browser_redacted_free(world->redacted);
    buf_done(&world->text);
    free(world);
    return 0;
}

static void assert_written(struct world *world, const char *host, const char *text,
                           const char *wanted)
{
    buf_clear(&world->text);
    assert_int_equal(
        browser_redacted_write(world->redacted, str_from(host), str_from(text), &world->text), 0);
    assert_true(str_eq_c(buf_view(&world->text), wanted));
}

static int find(struct world *world, const char *host, const char *mark, struct str *out_key)
{
    world->err = (struct err)ERR_INIT;
    return browser_redacted_find(world->redacted, str_from(host), str_from(mark), out_key,
                                 &world->err);
}

static void assert_key(struct world *world, const char *host, const char *mark, const char *wanted)
{
    struct str key;

    assert_int_equal(find(world, host, mark, &key), 0);
    assert_true(str_eq_c(key, wanted));
}

static void marks_lead_to_their_keys(void **state)
{
    struct world *world = *state;

    assert_written(world, "a.test", "[\"" ONE "\",\"" TWO "\",\"" ONE "\"]",
                   "[\"[REDACTED:github-token:1]\",\"[REDACTED:github-token:2]\","
                   "\"[REDACTED:github-token:1]\"]");
    /* The same in a later result, and others do not take their numbers. */
    assert_written(world, "a.test", "\"AKIAABCDEFGHIJKLMNOP " TWO "\"",
                   "\"[REDACTED:aws-key:3] [REDACTED:github-token:2]\"");
    assert_key(world, "a.test", "[REDACTED:github-token:1]", ONE);
    assert_key(world, "a.test", "[REDACTED:github-token:2]", TWO);
    assert_key(world, "a.test", "[REDACTED:aws-key:3]", "AKIAABCDEFGHIJKLMNOP");
}

static void a_private_key_has_its_lines_again(void **state)
{
    struct world *world = *state;

    assert_written(
        world, "a.test",
        "\"-----BEGIN PRIVATE KEY-----\\nMIIE\\r\\nabc\\\\n=\\n-----END PRIVATE KEY-----\"",
        "\"[REDACTED:private-key:1]\"");
    assert_key(world, "a.test", "[REDACTED:private-key:1]",
               "-----BEGIN PRIVATE KEY-----\nMIIE\r\nabc\n=\n-----END PRIVATE KEY-----");
}

static void only_for_the_site_that_showed_it(void **state)
{
    struct world *world = *state;
    struct str key;

    assert_written(world, "a.test", "\"" ONE "\"", "\"[REDACTED:github-token:1]\"");
    assert_written(world, "b.test", "\"" ONE "\"", "\"[REDACTED:github-token:2]\"");
    assert_written(world, "", "\"" ONE "\"", "\"[REDACTED:github-token:3]\"");
    assert_int_equal(find(world, "b.test", "[REDACTED:github-token:1]", &key),
                     ERR_DENIED_BY_POLICY);
    assert_key(world, "b.test", "[REDACTED:github-token:2]", ONE);
    assert_int_equal(find(world, "", "[REDACTED:github-token:3]", &key), ERR_DENIED_BY_POLICY);
    assert_non_null(strstr(world->err.message, "another site"));
}

static void other_marks_lead_nowhere(void **state)
{
    static const char *const marks[] = {"",
                                        "1",
                                        "github-token:1",
                                        "[REDACTED:github-token:1",
                                        "[REDACTED:github-token:01]",
                                        "[REDACTED:aws-key:1]",
                                        "[REDACTED:github-token:2]"};
    struct world *world = *state;
    struct str key;

    assert_written(world, "a.test", "\"" ONE "\"", "\"[REDACTED:github-token:1]\"");
    for (size_t i = 0; i < array_size(marks); i++)
        assert_int_equal(find(world, "a.test", marks[i], &key), ERR_NOT_FOUND);
    assert_non_null(strstr(world->err.message, "Secret capturing failed"));
}

static void the_oldest_give_way(void **state)
{
    struct world *world = *state;
    char text[64];
    char wanted[64];
    struct str key;

    for (int i = 1; i <= BROWSER_REDACTED_MAX + 1; i++) {
        snprintf(text, sizeof(text), "\"ghp_%036d\"", i);
        snprintf(wanted, sizeof(wanted), "\"[REDACTED:github-token:%d]\"", i);
        assert_written(world, "a.test", text, wanted);
    }
    assert_int_equal(find(world, "a.test", "[REDACTED:github-token:1]", &key), ERR_NOT_FOUND);
    assert_int_equal(find(world, "a.test", "[REDACTED:github-token:2]", &key), 0);
    assert_int_equal(find(world, "a.test", "[REDACTED:github-token:257]", &key), 0);
    browser_redacted_clear(world->redacted);
    assert_int_equal(find(world, "a.test", "[REDACTED:github-token:257]", &key), ERR_NOT_FOUND);
    /* An old mark never means a new key. */
    assert_written(world, "a.test", text, "\"[REDACTED:github-token:258]\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(marks_lead_to_their_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_private_key_has_its_lines_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_for_the_site_that_showed_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_marks_lead_nowhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_oldest_give_way, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
