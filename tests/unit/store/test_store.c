/* SPDX-License-Identifier: Apache-2.0 */
/* The server's state: what was written is there after the store was opened again. */
#include "store/store.h"

#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>

#define LOOP_UNTIL_OTHERS
#include "loop_until.h"
#include "store/password.h"
#include "test.h"

enum { CALLS = 8 };

struct scene {
    char directory[64];
    struct loop *loop;
    struct store *store;
    int results[CALLS];
    size_t count;
};

static void open_store(struct scene *scene)
{
    assert_int_equal(store_open(scene->directory, &scene->store, NULL), 0);
    assert_int_equal(loop_new(&clock_system, &scene->loop), 0);
    assert_int_equal(store_start(scene->store, scene->loop), 0);
}

static void close_store(struct scene *scene)
{
    loop_until(scene->loop, store_is_idle(scene->store));
    store_close(scene->store);
    loop_free(scene->loop);
    scene->store = NULL;
}

static void set_up(struct scene *scene)
{
    snprintf(scene->directory, sizeof(scene->directory), "%s/gatehouse-store-XXXXXX",
             test_quick_directory());
    assert_non_null(mkdtemp(scene->directory));
    open_store(scene);
}

static void tear_down(struct scene *scene)
{
    static const char *const names[] = {"server.db", "server.db-wal", "server.db-shm"};
    char path[128];

    if (scene->store != NULL)
        close_store(scene);
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

    scene->results[scene->count++] = result;
}

struct seen {
    unsigned count;
    bool has_key;
    char init[64];
    unsigned char digest[SHA256_BYTES];
};

static void take_machine(void *data, const struct store_machine *machine)
{
    struct seen *seen = data;

    seen->count++;
    seen->has_key = machine->has_key;
    memcpy(seen->digest, machine->key_digest, SHA256_BYTES);
    snprintf(seen->init, sizeof(seen->init), "%.*s", STR_ARG(machine->init));
}

static struct seen machines(struct scene *scene)
{
    struct seen seen = {.count = 0};

    assert_int_equal(store_each_machine(scene->store, take_machine, &seen), 0);
    return seen;
}

static void save(struct scene *scene, const char *init, bool has_key)
{
    struct store_machine machine = {
        .user = STORE_OWNER, .has_key = has_key, .connected_ms = 5, .init = str_from(init)};

    memset(machine.key_digest, 7, SHA256_BYTES);
    store_save_machine(scene->store, &machine, on_done, scene);
}

static void machines_are_saved_in_order(void **state)
{
    cleanup_scene struct scene scene = {.count = 0};
    struct seen seen;

    (void)state;
    set_up(&scene);
    save(&scene, "one", true);
    store_remove_machine(scene.store, STORE_OWNER);
    save(&scene, "two", true);
    loop_until(scene.loop, scene.count == 2);
    assert_int_equal(scene.results[0], 0);
    assert_int_equal(scene.results[1], 0);
    close_store(&scene);
    open_store(&scene);
    seen = machines(&scene);
    assert_int_equal(seen.count, 1);
    assert_true(seen.has_key);
    assert_int_equal(seen.digest[31], 7);
    assert_string_equal(seen.init, "two");
    save(&scene, "three", false);
    store_remove_machine(scene.store, STORE_OWNER);
    close_store(&scene);
    open_store(&scene);
    assert_int_equal(machines(&scene).count, 0);
}

static void a_machine_of_an_unknown_user_is_refused(void **state)
{
    cleanup_scene struct scene scene = {.count = 0};
    const struct store_machine machine = {.user = 77, .init = STR("x")};

    (void)state;
    set_up(&scene);
    store_save_machine(scene.store, &machine, on_done, &scene);
    loop_until(scene.loop, scene.count == 1);
    assert_true(scene.results[0] < 0);
}

static const unsigned char digest_one[SHA256_BYTES] = {1};
static const unsigned char digest_two[SHA256_BYTES] = {2};

static void log_in(struct scene *scene, const unsigned char *digest, int64_t user, int64_t now_ms,
                   const char *password)
{
    const struct store_login login = {
        .user = user, .created_ms = now_ms, .address = "192.0.2.7", .browser = "curl"};
    size_t before = scene->count;

    store_add_login(scene->store, digest, &login, password, on_done, scene);
    loop_until(scene->loop, scene->count == before + 1);
}

static void logins_end_after_a_time_and_without_use(void **state)
{
    const int64_t day_ms = 24 * 60 * 60 * 1000;
    cleanup_scene struct scene scene = {.count = 0};
    struct store_login login;

    (void)state;
    set_up(&scene);
    log_in(&scene, digest_one, STORE_OWNER, 1000, NULL);
    assert_int_equal(scene.results[0], 0);
    assert_int_equal(store_find_login(scene.store, digest_one, 1000 + 7 * day_ms - 1, &login), 0);
    assert_int_equal(login.user, STORE_OWNER);
    assert_string_equal(login.address, "192.0.2.7");
    assert_int_equal(store_find_login(scene.store, digest_one, 1000 + 7 * day_ms, &login),
                     ERR_UNAUTHORIZED);
    assert_int_equal(store_find_login(scene.store, digest_two, 1000, &login), ERR_UNAUTHORIZED);
    /* Use keeps it alive, but not beyond its time. */
    for (int64_t day = 1; day < 30; day++) {
        store_touch_login(scene.store, login.id, 1000 + day * day_ms);
        loop_until(scene.loop, store_is_idle(scene.store));
    }
    assert_int_equal(store_find_login(scene.store, digest_one, 1000 + 30 * day_ms - 1, &login), 0);
    assert_int_equal(store_get_login(scene.store, login.id, 1000 + 30 * day_ms, &login),
                     ERR_UNAUTHORIZED);
    /* Only its own user ends it. */
    store_end_login(scene.store, STORE_OWNER + 1, login.id, on_done, &scene);
    store_end_login(scene.store, STORE_OWNER, login.id, on_done, &scene);
    close_store(&scene);
    assert_int_equal(scene.results[1], ERR_NOT_FOUND);
    assert_int_equal(scene.results[2], 0);
    open_store(&scene);
    assert_int_equal(store_find_login(scene.store, digest_one, 1000, &login), ERR_UNAUTHORIZED);
}

static void count_login(void *data, const struct store_login *login)
{
    (void)login;
    ++*(unsigned *)data;
}

static void one_user_cannot_push_out_the_logins_of_another(void **state)
{
    cleanup_scene struct scene scene = {.count = 0};
    unsigned char digest[SHA256_BYTES] = {9};
    const struct store_login login = {.created_ms = 5};
    struct store_login found;
    unsigned count = 0;
    int64_t anna;

    (void)state;
    set_up(&scene);
    assert_int_equal(store_add_user(scene.store, STR("anna"), "hash", 1, &anna, NULL), 0);
    log_in(&scene, digest_one, STORE_OWNER, 1, NULL);
    for (int i = 0; i <= STORE_MAX_LOGINS; i++) {
        struct store_login mine = login;

        mine.user = anna;
        digest[1] = (unsigned char)i;
        store_add_login(scene.store, digest, &mine, NULL, NULL, NULL);
    }
    loop_until(scene.loop, store_is_idle(scene.store));
    assert_int_equal(store_each_login(scene.store, anna, 6, count_login, &count), 0);
    assert_int_equal(count, STORE_MAX_LOGINS);
    assert_int_equal(store_find_login(scene.store, digest_one, 6, &found), 0);
}

static void a_link_works_once_and_in_time(void **state)
{
    cleanup_scene struct scene scene = {.count = 0};
    int64_t user = 0;

    (void)state;
    set_up(&scene);
    assert_int_equal(store_add_link(scene.store, digest_one, STORE_OWNER, 1000), 0);
    assert_int_equal(store_find_link(scene.store, digest_one, 1000 + STORE_LINK_MS, &user),
                     ERR_UNAUTHORIZED);
    assert_int_equal(store_find_link(scene.store, digest_two, 1000, &user), ERR_UNAUTHORIZED);
    assert_int_equal(store_find_link(scene.store, digest_one, 1000, &user), 0);
    assert_int_equal(user, STORE_OWNER);
    /* Two who come at once have both found it. */
    store_use_link(scene.store, digest_one, on_done, &scene);
    store_use_link(scene.store, digest_one, on_done, &scene);
    loop_until(scene.loop, scene.count == 2);
    assert_int_equal(scene.results[0], 0);
    assert_int_equal(scene.results[1], ERR_UNAUTHORIZED);
    assert_int_equal(store_find_link(scene.store, digest_one, 1000, &user), ERR_UNAUTHORIZED);
}

static void a_new_password_ends_logins_and_stops_those_under_way(void **state)
{
    cleanup_scene struct scene scene = {.count = 0};
    struct store_login login;
    struct store_user user;
    int64_t anna;

    (void)state;
    set_up(&scene);
    assert_false(store_has_passwords(scene.store));
    assert_int_equal(store_add_user(scene.store, STR("anna"), "old", 1, &anna, NULL), 0);
    assert_true(store_has_passwords(scene.store));
    log_in(&scene, digest_one, anna, 5, "old");
    assert_int_equal(scene.results[0], 0);
    assert_int_equal(store_set_password(scene.store, anna, "new", NULL), 0);
    assert_int_equal(store_find_login(scene.store, digest_one, 6, &login), ERR_UNAUTHORIZED);
    log_in(&scene, digest_two, anna, 5, "old");
    assert_int_equal(scene.results[1], ERR_UNAUTHORIZED);
    assert_int_equal(store_find_user(scene.store, STR("anna"), &user), 0);
    assert_string_equal(user.password, "new");
}

static void a_removed_user_takes_everything_along(void **state)
{
    cleanup_scene struct scene scene = {.count = 0};
    struct store_agent agent = {.groups = 5, .name = "ci"};
    struct store_login login;
    struct store_user user;
    int64_t anna;
    int64_t again;

    (void)state;
    set_up(&scene);
    assert_int_equal(store_add_user(scene.store, STR("anna"), NULL, 1, &anna, NULL), 0);
    assert_int_equal(store_add_user(scene.store, STR("anna"), NULL, 1, &again, NULL),
                     ERR_ALREADY_EXISTS);
    assert_int_equal(store_add_user(scene.store, STR("a b"), NULL, 1, &again, NULL),
                     ERR_INVALID_ARGUMENT);
    agent.user = anna;
    assert_int_equal(store_add_agent(scene.store, &agent, digest_one, NULL), 0);
    assert_int_equal(store_add_link(scene.store, digest_one, anna, 1), 0);
    log_in(&scene, digest_one, anna, 5, NULL);
    assert_int_equal(store_remove_user(scene.store, anna, NULL), 0);
    assert_int_equal(store_remove_user(scene.store, anna, NULL), ERR_NOT_FOUND);
    assert_int_equal(store_get_user(scene.store, anna, &user), ERR_NOT_FOUND);
    assert_int_equal(store_find_agent(scene.store, digest_one, &agent), ERR_UNAUTHORIZED);
    assert_int_equal(store_find_link(scene.store, digest_one, 1, &again), ERR_UNAUTHORIZED);
    assert_int_equal(store_find_login(scene.store, digest_one, 6, &login), ERR_UNAUTHORIZED);
    log_in(&scene, digest_two, anna, 5, NULL);
    assert_int_equal(scene.results[1], ERR_UNAUTHORIZED);
    assert_int_equal(store_add_user(scene.store, STR("anna"), NULL, 1, &again, NULL), 0);
    assert_true(again != anna);
}

static void passwords_are_hashed_and_compared(void **state)
{
    cleanup_secret struct secret right = SECRET_INIT;
    cleanup_secret struct secret wrong = SECRET_INIT;
    char hash[STORE_MAX_PASSWORD_BYTES + 1];
    char again[STORE_MAX_PASSWORD_BYTES + 1];

    (void)state;
    assert_int_equal(secret_set(&right, STR("correct horse")), 0);
    assert_int_equal(secret_set(&wrong, STR("correct hors")), 0);
    assert_int_equal(password_hash(&right, hash), 0);
    assert_int_equal(password_hash(&right, again), 0);
    assert_true(str_starts_with(str_from(hash), STR("$argon2id$")));
    assert_string_not_equal(hash, again);
    assert_int_equal(password_verify(hash, &right), 0);
    assert_int_equal(password_verify(hash, &wrong), ERR_UNAUTHORIZED);
    assert_int_equal(password_verify(NULL, &right), ERR_UNAUTHORIZED);
    assert_int_equal(password_verify("nonsense", &right), ERR_UNAUTHORIZED);
    assert_int_equal(secret_set(&wrong, STR("short")), 0);
    assert_int_equal(password_check_new(&wrong, NULL), ERR_INVALID_ARGUMENT);
    assert_int_equal(password_check_new(&right, NULL), 0);
}

static void another_process_sees_agents_at_once(void **state)
{
    static const unsigned char digest[SHA256_BYTES] = {1};
    static const unsigned char second[SHA256_BYTES] = {2};
    cleanup_scene struct scene scene = {.count = 0};
    const struct store_agent agent = {.user = STORE_OWNER, .groups = 5, .name = "ci"};
    struct store_agent found;
    struct store *command;
    struct err err = ERR_INIT;

    (void)state;
    set_up(&scene);
    assert_int_equal(store_open(scene.directory, &command, NULL), 0);
    assert_int_equal(store_find_agent(scene.store, digest, &found), ERR_UNAUTHORIZED);
    assert_int_equal(store_add_agent(command, &agent, digest, &err), 0);
    assert_int_equal(store_add_agent(command, &agent, second, &err), ERR_ALREADY_EXISTS);
    assert_int_equal(store_find_agent(scene.store, digest, &found), 0);
    assert_string_equal(found.name, "ci");
    assert_int_equal(found.groups, 5);
    assert_int_equal(store_remove_agent(command, STORE_OWNER, "ci", &err), 0);
    assert_int_equal(store_remove_agent(command, STORE_OWNER, "ci", &err), ERR_NOT_FOUND);
    assert_int_equal(store_find_agent(scene.store, digest, &found), ERR_UNAUTHORIZED);
    assert_int_equal(store_get_agent(scene.store, found.id, &found), ERR_NOT_FOUND);
    store_close(command);
}

static void an_agent_may_have_a_workspace(void **state)
{
    cleanup_scene struct scene scene = {.count = 0};
    const struct store_agent agent = {
        .user = STORE_OWNER, .groups = 7, .asks = 4, .name = "ci", .workspace = "n8n-sandbox"};
    struct store_agent found;

    (void)state;
    set_up(&scene);
    assert_int_equal(store_add_agent(scene.store, &agent, digest_one, NULL), 0);
    close_store(&scene);
    open_store(&scene);
    assert_int_equal(store_find_agent(scene.store, digest_one, &found), 0);
    assert_string_equal(found.workspace, "n8n-sandbox");
    assert_int_equal(found.asks, 4);
    assert_int_equal(found.groups, 7);
}

/* As version 4 left it; version 3 had no apps. */
static void make_older(const struct scene *scene, bool has_apps)
{
    char path[128];
    sqlite3 *database;

    snprintf(path, sizeof(path), "%s/server.db", scene->directory);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database,
                                  "ALTER TABLE agents DROP COLUMN workspace;"
                                  "ALTER TABLE agents DROP COLUMN asks;"
                                  "ALTER TABLE oauth_grants DROP COLUMN workspace;"
                                  "ALTER TABLE oauth_grants DROP COLUMN asks;"
                                  "PRAGMA user_version=4",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    if (!has_apps)
        assert_int_equal(sqlite3_exec(database,
                                      "DROP TABLE oauth_tokens; DROP TABLE oauth_grants;"
                                      "DROP TABLE oauth_clients; PRAGMA user_version=3",
                                      NULL, NULL, NULL),
                         SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static void agents_of_an_older_store_have_the_machine(void **state)
{
    cleanup_scene struct scene scene = {.count = 0};
    const struct store_agent agent = {.user = STORE_OWNER, .groups = 5, .name = "ci"};
    struct store_agent found;

    (void)state;
    set_up(&scene);
    assert_int_equal(store_add_agent(scene.store, &agent, digest_one, NULL), 0);
    for (int has_apps = 0; has_apps < 2; has_apps++) {
        close_store(&scene);
        make_older(&scene, has_apps != 0);
        open_store(&scene); /* it also reads apps */
        assert_int_equal(store_find_agent(scene.store, digest_one, &found), 0);
        assert_string_equal(found.name, "ci");
        assert_string_equal(found.workspace, "");
        assert_int_equal(found.groups, 5);
        assert_int_equal(found.asks, 0);
    }
}

static void a_view_changes_with_every_write_of_any_process(void **state)
{
    static const unsigned char digest[SHA256_BYTES] = {1};
    cleanup_scene struct scene scene = {.count = 0};
    const struct store_agent agent = {.user = STORE_OWNER, .groups = 5, .name = "ci"};
    struct store_view view = {.header = NULL};
    struct store_agent found;
    struct store *command;

    (void)state;
    set_up(&scene);
    assert_int_equal(store_open(scene.directory, &command, NULL), 0);
    assert_true(store_has_changed(scene.store, &view)); /* never seen before */
    assert_int_equal(store_find_agent(scene.store, digest, &found), ERR_UNAUTHORIZED);
    assert_false(store_has_changed(scene.store, &view));
    assert_int_equal(store_add_agent(command, &agent, digest, NULL), 0);
    assert_true(store_has_changed(scene.store, &view));
    assert_int_equal(store_find_agent(scene.store, digest, &found), 0);
    assert_false(store_has_changed(scene.store, &view));
    assert_int_equal(store_remove_agent(command, STORE_OWNER, "ci", NULL), 0);
    assert_true(store_has_changed(scene.store, &view));
    assert_false(store_has_changed(scene.store, &view));
    store_close(command);
    assert_false(store_has_changed(scene.store, &view));
}

static void only_what_was_taken_back_counts_as_revoked(void **state)
{
    static const unsigned char digest[SHA256_BYTES] = {1};
    cleanup_scene struct scene scene = {.count = 0};
    struct store_agent agent = {.user = STORE_OWNER, .groups = 5, .name = "ci"};
    struct store_view view = {.header = NULL};
    struct store *command;

    (void)state;
    set_up(&scene);
    assert_int_equal(store_open(scene.directory, &command, NULL), 0);
    (void)store_has_revoked(scene.store, &view);
    assert_int_equal(store_add_user(command, STR("bea"), NULL, 0, &agent.user, NULL), 0);
    assert_int_equal(store_add_agent(command, &agent, digest, NULL), 0);
    assert_false(store_has_revoked(scene.store, &view)); /* nobody knows less than before */
    assert_int_equal(store_remove_agent(command, agent.user, "ci", NULL), 0);
    assert_true(store_has_revoked(scene.store, &view));
    assert_false(store_has_revoked(scene.store, &view));
    assert_int_equal(store_add_agent(command, &agent, digest, NULL), 0);
    assert_false(store_has_revoked(scene.store, &view));
    assert_int_equal(store_remove_user(command, agent.user, NULL), 0); /* with the keys */
    assert_true(store_has_revoked(scene.store, &view));
    store_close(command);
}

TEST_MAIN(cmocka_unit_test(machines_are_saved_in_order),
          cmocka_unit_test(only_what_was_taken_back_counts_as_revoked),
          cmocka_unit_test(a_machine_of_an_unknown_user_is_refused),
          cmocka_unit_test(logins_end_after_a_time_and_without_use),
          cmocka_unit_test(one_user_cannot_push_out_the_logins_of_another),
          cmocka_unit_test(a_link_works_once_and_in_time),
          cmocka_unit_test(a_new_password_ends_logins_and_stops_those_under_way),
          cmocka_unit_test(a_removed_user_takes_everything_along),
          cmocka_unit_test(passwords_are_hashed_and_compared),
          cmocka_unit_test(another_process_sees_agents_at_once),
          cmocka_unit_test(an_agent_may_have_a_workspace),
          cmocka_unit_test(agents_of_an_older_store_have_the_machine),
          cmocka_unit_test(a_view_changes_with_every_write_of_any_process))
