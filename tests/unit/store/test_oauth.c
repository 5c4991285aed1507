/* SPDX-License-Identifier: Apache-2.0 */
/* Apps that act for a user: what was written is found, used once, and goes together. */
#include "store/oauth.h"

#include <stdio.h>
#include <sys/stat.h>

#define LOOP_UNTIL_OTHERS
#include "loop_until.h"
#include "test.h"

enum { RESULTS = 4096, NOW_MS = 1000000 };

#define EXPIRES_MS ((int64_t)NOW_MS + 60000)

struct scene {
    char directory[64];
    struct loop *loop;
    struct store *store;
    int results[RESULTS];
    size_t count;
};

static void set_up(struct scene *scene)
{
    snprintf(scene->directory, sizeof(scene->directory), "%s/gatehouse-oauth-XXXXXX",
             test_quick_directory());
    assert_non_null(mkdtemp(scene->directory));
    assert_int_equal(store_open(scene->directory, &scene->store, NULL), 0);
    assert_int_equal(loop_new(&clock_system, &scene->loop), 0);
    assert_int_equal(store_start(scene->store, scene->loop), 0);
}

static void tear_down(struct scene *scene)
{
    static const char *const names[] = {"server.db", "server.db-wal", "server.db-shm"};
    char path[128];

    loop_until(scene->loop, store_is_idle(scene->store));
    store_close(scene->store);
    loop_free(scene->loop);
    for (size_t i = 0; i < array_size(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", scene->directory, names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(scene->directory), 0);
}

#define cleanup_scene cleanup_with(tear_down)

static void on_done(void *context, int result)
{
    struct scene *scene = context;

    scene->results[scene->count++ % RESULTS] = result;
}

/* What the last write returned. */
static int settled(struct scene *scene)
{
    loop_until(scene->loop, store_is_idle(scene->store));
    return scene->results[(scene->count - 1) % RESULTS];
}

static const unsigned char *digest_of(unsigned char byte)
{
    static unsigned char digests[256][SHA256_BYTES];

    memset(digests[byte], byte, SHA256_BYTES);
    return digests[byte];
}

static void add_client(struct scene *scene, const char *id, int64_t created_ms)
{
    struct store_client client = {.created_ms = created_ms};

    snprintf(client.id, sizeof(client.id), "%s", id);
    snprintf(client.name, sizeof(client.name), "The app %s", id);
    snprintf(client.redirects, sizeof(client.redirects), "https://app.example/back\n");
    store_add_client(scene->store, &client, on_done, scene);
    assert_int_equal(settled(scene), 0);
}

/* The code's digest is all `code`. */
static int add_grant(struct scene *scene, const char *client, int64_t created_ms,
                     unsigned char code)
{
    struct store_grant grant = {.user = STORE_OWNER,
                                .groups = 5,
                                .asks = 4,
                                .created_ms = created_ms,
                                .workspace = "isolated"};

    snprintf(grant.client, sizeof(grant.client), "%s", client);
    snprintf(grant.redirect, sizeof(grant.redirect), "https://app.example/back");
    snprintf(grant.challenge, sizeof(grant.challenge), "challenge");
    store_add_grant(scene->store, &grant, digest_of(code), EXPIRES_MS, on_done, scene);
    return settled(scene);
}

static int exchange(struct scene *scene, unsigned char used, unsigned char access,
                    unsigned char refresh, int64_t now_ms)
{
    const struct store_exchange change = {.used = digest_of(used),
                                          .access = digest_of(access),
                                          .refresh = digest_of(refresh),
                                          .now_ms = now_ms,
                                          .access_expires_ms = EXPIRES_MS + 1000,
                                          .refresh_expires_ms = EXPIRES_MS + 5000};

    store_exchange_token(scene->store, &change, on_done, scene);
    return settled(scene);
}

static int find(struct scene *scene, enum store_token_kind kind, unsigned char byte,
                struct store_token *out_token)
{
    return store_find_token(scene->store, kind, digest_of(byte), NOW_MS, out_token);
}

static void count_grant(void *data, const struct store_grant *grant)
{
    assert_int_equal(grant->user, STORE_OWNER);
    ++*(size_t *)data;
}

static size_t grants(struct scene *scene, int64_t user, int64_t now_ms)
{
    size_t count = 0;

    assert_int_equal(store_each_grant(scene->store, user, now_ms, count_grant, &count), 0);
    return count;
}

static void a_code_becomes_tokens_once(void **state)
{
    cleanup_scene struct scene scene = {.count = 0};
    struct store_client client;
    struct store_token token;

    (void)state;
    set_up(&scene);
    add_client(&scene, "one", NOW_MS);
    assert_int_equal(store_find_client(scene.store, STR("one"), &client), 0);
    assert_string_equal(client.name, "The app one");
    assert_int_equal(store_find_client(scene.store, STR("two"), &client), ERR_NOT_FOUND);
    assert_int_equal(add_grant(&scene, "two", NOW_MS, 1), ERR_NOT_FOUND);
    assert_int_equal(add_grant(&scene, "one", NOW_MS, 1), 0);
    assert_int_equal(grants(&scene, STORE_OWNER, NOW_MS), 0); /* nobody has a token */
    assert_int_equal(find(&scene, STORE_ACCESS, 1, &token), ERR_UNAUTHORIZED);
    assert_int_equal(find(&scene, STORE_CODE, 1, &token), 0);
    assert_false(token.is_used);
    assert_int_equal(token.expires_ms, EXPIRES_MS);
    assert_string_equal(token.grant.challenge, "challenge");
    assert_int_equal(token.grant.groups, 5);
    assert_string_equal(token.grant.workspace, "isolated");
    assert_int_equal(token.grant.asks, 4);
    assert_int_equal(exchange(&scene, 1, 2, 3, EXPIRES_MS), ERR_UNAUTHORIZED); /* too late */
    assert_int_equal(exchange(&scene, 1, 2, 3, NOW_MS), 0);
    assert_int_equal(exchange(&scene, 1, 4, 5, NOW_MS), ERR_UNAUTHORIZED);
    assert_int_equal(find(&scene, STORE_ACCESS, 4, &token), ERR_UNAUTHORIZED);
    assert_int_equal(find(&scene, STORE_CODE, 1, &token), 0);
    assert_true(token.is_used);
    assert_int_equal(find(&scene, STORE_ACCESS, 2, &token), 0);
    assert_string_equal(token.grant.name, "The app one");
    assert_int_equal(find(&scene, STORE_REFRESH, 2, &token), ERR_UNAUTHORIZED);
    assert_int_equal(grants(&scene, STORE_OWNER, NOW_MS), 1);
    assert_int_equal(grants(&scene, 77, NOW_MS), 0);
}

static void refreshed_tokens_are_remembered_and_all_end_together(void **state)
{
    cleanup_scene struct scene scene = {.count = 0};
    struct store_token token;
    int64_t id;

    (void)state;
    set_up(&scene);
    add_client(&scene, "one", NOW_MS);
    assert_int_equal(add_grant(&scene, "one", NOW_MS, 1), 0);
    assert_int_equal(exchange(&scene, 1, 2, 3, NOW_MS), 0);
    assert_int_equal(exchange(&scene, 3, 4, 5, NOW_MS), 0);
    assert_int_equal(find(&scene, STORE_REFRESH, 3, &token), 0);
    assert_true(token.is_used);
    id = token.grant.id;
    /* Used ones stay until they expire; an access token that has expired goes. */
    store_touch_grant(scene.store, id, EXPIRES_MS + 1000);
    loop_until(scene.loop, store_is_idle(scene.store));
    assert_int_equal(find(&scene, STORE_REFRESH, 3, &token), 0);
    assert_int_equal(find(&scene, STORE_CODE, 1, &token), 0);
    assert_int_equal(find(&scene, STORE_ACCESS, 4, &token), ERR_UNAUTHORIZED);
    assert_true(store_is_granted(scene.store, id, EXPIRES_MS + 1000));
    assert_false(store_is_granted(scene.store, id, EXPIRES_MS + 5000));
    store_end_grant(scene.store, 77, id, on_done, &scene);
    assert_int_equal(settled(&scene), ERR_NOT_FOUND); /* another user's */
    store_end_grant(scene.store, STORE_OWNER, id, on_done, &scene);
    assert_int_equal(settled(&scene), 0);
    assert_int_equal(find(&scene, STORE_REFRESH, 5, &token), ERR_UNAUTHORIZED);
    assert_int_equal(find(&scene, STORE_CODE, 1, &token), ERR_UNAUTHORIZED);
    assert_false(store_is_granted(scene.store, id, NOW_MS));
}

static void a_grant_ends_by_itself(void **state)
{
    cleanup_scene struct scene scene = {.count = 0};
    const int64_t now_ms = NOW_MS;
    struct store_token token;

    (void)state;
    set_up(&scene);
    add_client(&scene, "one", NOW_MS);
    assert_int_equal(add_grant(&scene, "one", now_ms - STORE_GRANT_MS, 1), 0);
    assert_int_equal(find(&scene, STORE_CODE, 1, &token), ERR_UNAUTHORIZED);
    assert_int_equal(add_grant(&scene, "one", now_ms - STORE_GRANT_MS + 1, 2), 0);
    assert_int_equal(find(&scene, STORE_CODE, 2, &token), 0);
}

static void clients_without_a_grant_make_room(void **state)
{
    cleanup_scene struct scene scene = {.count = 0};
    struct store_client client = {.created_ms = NOW_MS};

    (void)state;
    set_up(&scene);
    add_client(&scene, "allowed", 1);
    assert_int_equal(add_grant(&scene, "allowed", NOW_MS, 1), 0);
    add_client(&scene, "oldest", 2);
    for (int i = 0; i < STORE_MAX_CLIENTS; i++) {
        snprintf(client.id, sizeof(client.id), "flood-%d", i);
        client.created_ms = NOW_MS + i;
        store_add_client(scene.store, &client, on_done, &scene);
    }
    assert_int_equal(settled(&scene), 0);
    assert_int_equal(store_find_client(scene.store, STR("allowed"), &client), 0);
    assert_int_equal(store_find_client(scene.store, STR("oldest"), &client), ERR_NOT_FOUND);
    assert_int_equal(store_find_client(scene.store, STR("flood-0"), &client), 0);
    assert_int_equal(store_find_client(scene.store, STR("flood-999"), &client), 0);
}

static void a_user_has_so_many_grants(void **state)
{
    cleanup_scene struct scene scene = {.count = 0};
    struct store_token token;

    (void)state;
    set_up(&scene);
    add_client(&scene, "one", NOW_MS);
    for (int i = 0; i < STORE_MAX_GRANTS + 1; i++)
        assert_int_equal(add_grant(&scene, "one", NOW_MS + i, (unsigned char)i), 0);
    assert_int_equal(find(&scene, STORE_CODE, 0, &token), ERR_UNAUTHORIZED);
    assert_int_equal(find(&scene, STORE_CODE, 1, &token), 0);
    assert_int_equal(find(&scene, STORE_CODE, STORE_MAX_GRANTS, &token), 0);
}

TEST_MAIN(cmocka_unit_test(a_code_becomes_tokens_once),
          cmocka_unit_test(refreshed_tokens_are_remembered_and_all_end_together),
          cmocka_unit_test(a_grant_ends_by_itself),
          cmocka_unit_test(clients_without_a_grant_make_room),
          cmocka_unit_test(a_user_has_so_many_grants))
