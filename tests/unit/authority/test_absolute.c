/* SPDX-License-Identifier: Apache-2.0 */
/* Absolute names inside the root are accepted, and nobody learns where the root is. */
#include "attempts.h"

enum { MAX_GIVEN = 8192 };

struct watcher {
    struct world *world;
    struct str expected; /* of the name or the destination; ignored if empty */
    size_t events;
    size_t contexts;
    size_t expected_seen;
};

static void check_name(struct watcher *watcher, struct str name)
{
    assert_true(str_find(name, str_from(watcher->world->base)) == SIZE_MAX);
    assert_true(name.len == 0 || name.ptr[0] != '/');
    watcher->expected_seen += watcher->expected.len > 0 && str_eq(name, watcher->expected);
}

static int check_event(void *data, const struct authority_event *event)
{
    struct watcher *watcher = data;

    watcher->events++;
    assert_null(event->root->path);
    check_name(watcher, event->name);
    check_name(watcher, event->destination);
    return 0;
}

static void check_context(struct watcher *watcher, const struct authority_context *context)
{
    watcher->contexts++;
    assert_null(context->root->path);
    check_name(watcher, context->name);
    check_name(watcher, context->destination);
}

static void check_before(void *data, const struct authority_context *context,
                         struct authority_decision *decision)
{
    (void)decision;
    check_context(data, context);
}

static void check_after(void *data, const struct authority_context *context, int result)
{
    (void)result;
    check_context(data, context);
}

static void look_over(struct world *world, struct watcher *watcher)
{
    const struct authority_hook hook = {
        .id = "looker", .before = check_before, .after = check_after, .data = watcher};

    watcher->world = world;
    authority_set_policy(world->authority, "rules", check_before, watcher);
    assert_int_equal(authority_add_hook(world->authority, &hook), 0);
    assert_int_equal(authority_add_listener(world->authority, check_event, watcher), 0);
}

static int run(struct world *world, struct authority_scope *scope, const struct attempt *attempt,
               struct str name)
{
    int r = attempt_run(world, scope, attempt, name);

    assert_null(strstr(world->err.message, world->base));
    assert_null(strstr(world->err.field, world->base));
    return r;
}

static void every_operation_takes_them_and_shows_them_from_the_root_on(void **state)
{
    struct world *outer = *state;

    for (size_t i = 0; i < array_size(attempts); i++) {
        const struct attempt *attempt = &attempts[i];
        struct watcher watcher = {0};
        char given[MAX_GIVEN];
        struct world *world;
        void *inner;

        if (!attempt_runs_here(outer, attempt))
            continue;
        world_setup_like(outer, &inner);
        world = inner;
        attempts_prepare(world);
        look_over(world, &watcher);
        watcher.expected = str_from(attempt->good);
        snprintf(given, sizeof(given), "%s/%s", world->paths[WORLD_ROOT], attempt->good);
        if (run(world, world->scope, attempt, str_from(given)) != 0)
            fail_msg("%s: %s", attempt->label, world->err.message);
        assert_true(watcher.events > 0 && watcher.contexts > 0);
        /* Policy, hook before and after, and at least one record. */
        assert_true(watcher.expected_seen >= 4);
        teardown(&inner);
    }
}

/* Whatever is wrong with what follows, or with the scope. */
static void every_operation_that_fails_shows_them_so_too(void **state)
{
    struct world *world = *state;
    static const struct {
        struct str rest;
        struct str shown;
    } cases[] = {
        {STR_LITERAL(""), STR_LITERAL("")},
        {STR_LITERAL("//none/./of//this/"), STR_LITERAL("none/./of//this/")},
        {STR_LITERAL("/../outside/secret"), STR_LITERAL("../outside/secret")},
        {STR_LITERAL("/a\0b"), STR_LITERAL("a\0b")},
        {STR_LITERAL("/.gatehouse-x"), STR_LITERAL(".gatehouse-x")},
    };
    struct authority_request request = world_request(world);
    struct authority_scope *revoked = world_open(world, &request);
    struct watcher watcher = {0};

    attempts_prepare(world);
    assert_true(authority_revoke(world->authority, authority_scope_grant(revoked)));
    look_over(world, &watcher);
    for (size_t n = 0; n < array_size(cases); n++)
        for (size_t i = 0; i < array_size(attempts); i++)
            for (int is_over = 0; is_over < 2; is_over++) {
                char given[MAX_GIVEN];
                int len = snprintf(given, sizeof(given), "/.%s", world->paths[WORLD_ROOT]);
                int r;

                if (!attempt_runs_here(world, &attempts[i]))
                    continue;
                memcpy(given + len, cases[n].rest.ptr, cases[n].rest.len);
                watcher.expected = cases[n].shown;
                watcher.expected_seen = 0;
                watcher.events = 0;
                r = run(world, is_over ? revoked : world->scope, &attempts[i],
                        (struct str){given, (size_t)len + cases[n].rest.len});
                assert_true(!is_over || r == ERR_GRANT_REVOKED);
                assert_true(watcher.events > 0);
                assert_true(watcher.expected_seen > 0 || cases[n].shown.len == 0);
            }
    authority_scope_free(revoked);
}

static void names_that_are_too_long_show_no_root_either(void **state)
{
    struct world *world = *state;
    struct watcher watcher = {0};
    char given[MAX_GIVEN];
    int len = snprintf(given, sizeof(given), "%s/", world->paths[WORLD_ROOT]);

    memset(given + len, 'l', sizeof(given) - (size_t)len);
    attempts_prepare(world);
    look_over(world, &watcher);
    for (size_t i = 0; i < array_size(attempts); i++)
        if (attempt_runs_here(world, &attempts[i]))
            assert_int_equal(
                run(world, world->scope, &attempts[i], (struct str){given, sizeof(given)}),
                ERR_INVALID_PATH);
    assert_true(watcher.events > 0);
}

/* ---- what lies elsewhere ---- */

static int note_name(void *data, const struct authority_event *event)
{
    return buf_append_str(data, event->name) < 0 ? ERR_NO_MEMORY : 0;
}

static void what_is_outside_is_recorded_as_it_was_given(void **state)
{
    struct world *world = *state;
    cleanup_buf struct buf told = BUF_INIT(1 << 16);
    char given[MAX_GIVEN];

    plant(world, WORLD_TWIN, "file", "f");
    assert_int_equal(authority_add_listener(world->authority, note_name, &told), 0);
    snprintf(given, sizeof(given), "%s/file", world->paths[WORLD_TWIN]);
    assert_int_equal(attempt_read_bytes(world, world->scope, str_from(given)),
                     ERR_PATH_OUTSIDE_ROOT);
    assert_true(str_eq_c(buf_view(&told), given));
    assert_int_equal(strncmp(world->err.field, given, strlen(world->err.field)), 0);
    buf_clear(&told);
    assert_int_equal(attempt_read_bytes(world, world->scope, STR("/etc/passwd")),
                     ERR_PATH_OUTSIDE_ROOT);
    assert_str(buf_view(&told), "/etc/passwd");
}

TEST_MAIN(EVERYWHERE(every_operation_takes_them_and_shows_them_from_the_root_on),
          EVERYWHERE(every_operation_that_fails_shows_them_so_too),
          EVERYWHERE(names_that_are_too_long_show_no_root_either),
          EVERYWHERE(what_is_outside_is_recorded_as_it_was_given))
