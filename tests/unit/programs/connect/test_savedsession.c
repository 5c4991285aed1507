/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <sys/stat.h>

#include "../../authority/scene.h"
#include "programs/connect/savedsession.h"

enum { PATH_BYTES = 160, NAME_BYTES = 128 };

#define TERMS "0123456789abcdef"

struct world {
    struct scene scene;
    char state[PATH_BYTES];
    struct authority *authority;
    struct httpurl url;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    struct authority_config config = {.backend = AUTHORITY_LINUX};

    assert_non_null(world);
    scene_make(&world->scene);
    snprintf(world->state, sizeof(world->state), "%s/state", world->scene.path);
    config.state_dir = world->state;
    assert_int_equal(authority_new(&config, &world->authority, NULL), 0);
    assert_int_equal(httpurl_parse(STR("https://n8n.example"), &world->url, NULL), 0);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    authority_free(world->authority);
    scene_drop(&world->scene);
    free(world);
    return 0;
}

static struct saved_session sample(void)
{
    struct saved_session kept = {
        .terms = TERMS, .root_path = "/home/user/work", .others = "abc", .dialect = GATEWAY_SEED};

    assert_int_equal(secret_set(&kept.key, STR("sess_x")), 0);
    return kept;
}

static void write_sample(struct world *world)
{
    struct saved_session kept = sample();

    assert_int_equal(saved_session_write(world->authority, world->state, &world->url, &kept, NULL),
                     0);
}

static int read_with(struct world *world, const char *terms, struct saved_session *out_saved)
{
    return saved_session_read(world->authority, world->state, &world->url, terms, out_saved);
}

/* The one file that is there; false: none. */
static bool find_file(const struct world *world, char out_name[NAME_BYTES])
{
    DIR *dir = opendir(world->state);
    struct dirent *entry;
    bool is_there = false;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, "session-", 8) != 0)
            continue;
        assert_false(is_there);
        is_there = true;
        assert_true(snprintf(out_name, NAME_BYTES, "state/%s", entry->d_name) < NAME_BYTES);
    }
    closedir(dir);
    return is_there;
}

static void what_was_kept_is_found_again(void **state)
{
    struct saved_session kept = {.dialect = GATEWAY_N8N};

    write_sample(*state);
    assert_int_equal(read_with(*state, TERMS, &kept), 0);
    assert_string_equal(kept.terms, TERMS);
    assert_string_equal(kept.root_path, "/home/user/work");
    assert_string_equal(kept.others, "abc");
    assert_int_equal(kept.dialect, GATEWAY_SEED);
    assert_true(secret_eq(&kept.key, STR("sess_x")));
}

static void with_other_terms_there_is_none(void **state)
{
    struct saved_session kept = {.dialect = GATEWAY_N8N};

    write_sample(*state);
    assert_int_equal(read_with(*state, "fedcba9876543210", &kept), ERR_NOT_FOUND);
    assert_int_equal(read_with(*state, "", &kept), ERR_NOT_FOUND);
    assert_int_equal(kept.key.len, 0);
}

static void each_server_has_its_own(void **state)
{
    struct world *world = *state;
    struct saved_session kept = {.dialect = GATEWAY_N8N};

    write_sample(world);
    for (size_t i = 0; i < 3; i++) {
        static const char *const others[] = {"http://n8n.example", "https://n8n.example:8443",
                                             "https://n8n.example/below"};

        assert_int_equal(httpurl_parse(str_from(others[i]), &world->url, NULL), 0);
        assert_int_equal(read_with(world, TERMS, &kept), ERR_NOT_FOUND);
    }
}

static void the_file_is_for_its_user_alone_whatever_was_there(void **state)
{
    struct world *world = *state;
    char name[NAME_BYTES];
    struct stat info;

    write_sample(world);
    assert_true(find_file(world, name));
    assert_int_equal(fchmodat(world->scene.fd, name, 0666, 0), 0);
    write_sample(world);
    assert_int_equal(fstatat(world->scene.fd, name, &info, 0), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

static void one_that_is_removed_is_gone(void **state)
{
    struct world *world = *state;
    struct saved_session kept = {.dialect = GATEWAY_N8N};
    char name[NAME_BYTES];

    saved_session_remove(world->authority, world->state, &world->url);
    write_sample(world);
    saved_session_remove(world->authority, world->state, &world->url);
    assert_false(find_file(world, name));
    assert_int_equal(read_with(world, TERMS, &kept), ERR_NOT_FOUND);
}

static void one_at_a_time_has_the_session_of_a_server(void **state)
{
    struct world *world = *state;
    int state_fd = open(world->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct err err = ERR_INIT;
    struct httpurl other;
    int other_fd = -1;
    int fd = -1;
    int none = -1;

    assert_true(state_fd >= 0);
    assert_int_equal(httpurl_parse(STR("https://other.example"), &other, NULL), 0);
    assert_int_equal(saved_session_lock(state_fd, &world->url, &fd, NULL), 0);
    assert_int_equal(saved_session_lock(state_fd, &world->url, &none, &err), ERR_BUSY);
    assert_non_null(strstr(err.message, "another daemon"));
    assert_int_equal(none, -1);
    assert_int_equal(saved_session_lock(state_fd, &other, &other_fd, NULL), 0);
    close(fd);
    assert_int_equal(saved_session_lock(state_fd, &world->url, &fd, NULL), 0);
    close(fd);
    close(other_fd);
    close(state_fd);
}

static void what_cannot_be_read_is_none(void **state)
{
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"terms\":\"" TERMS "\",\"root\":\"/\",\"dialect\":\"n8n\"}",
        "{\"terms\":\"" TERMS "\",\"root\":\"/\",\"dialect\":\"n8n\",\"key\":\"\"}",
        "{\"terms\":\"" TERMS "\",\"root\":\"/\",\"dialect\":\"n8n\",\"key\":\"a\\r\\nX: y\"}",
        "{\"terms\":\"" TERMS "\",\"root\":\"/\",\"dialect\":\"other\",\"key\":\"k\"}",
        "{\"terms\":\"" TERMS "\\u0000\",\"root\":\"/\",\"dialect\":\"n8n\",\"key\":\"k\"}",
        "{\"terms\":\"" TERMS "\",\"root\":\"/\",\"others\":3,\"dialect\":\"n8n\",\"key\":\"k\"}",
        "{\"terms\":\"" TERMS "\",\"root\":3,\"dialect\":\"n8n\",\"key\":\"k\"}",
    };
    struct world *world = *state;
    struct saved_session kept = {.dialect = GATEWAY_N8N};
    char name[NAME_BYTES];

    write_sample(world);
    assert_true(find_file(world, name));
    for (size_t i = 0; i < array_size(texts); i++) {
        make_file(world->scene.fd, name, texts[i]);
        assert_int_equal(read_with(world, TERMS, &kept), ERR_NOT_FOUND);
    }
    assert_int_equal(kept.key.len, 0);
}

static void whatever_is_agreed_to_is_in_the_digest(void **state)
{
    static const char *const writable[] = {"/srv", NULL};
    static const char *const env[] = {"NAME=value", NULL};
    static const char *const globs[] = {"*.key", "*.pem", NULL};
    static const char *const same_name[] = {"NAME", NULL};
    struct world *world = *state;
    struct connect_choices *choices = calloc(1, sizeof(*choices));
    struct saved_session_terms terms = {.url = &world->url, .choices = choices};
    char digests[22][SAVED_SESSION_TERMS_BYTES];
    size_t count = 0;

    assert_non_null(choices);
    saved_session_digest(&terms, digests[count++]);
    snprintf(choices->dir, sizeof(choices->dir), "/home/user");
    saved_session_digest(&terms, digests[count++]);
    choices->has_write_access = true;
    saved_session_digest(&terms, digests[count++]);
    choices->modes.of[CATALOG_SHELL] = PERMISSION_ALLOW;
    saved_session_digest(&terms, digests[count++]);
    terms.shell_is_open = true;
    saved_session_digest(&terms, digests[count++]);
    terms.shell_has_network = true;
    saved_session_digest(&terms, digests[count++]);
    terms.shell_writable = writable;
    saved_session_digest(&terms, digests[count++]);
    terms.shell_timeout_ms = 1000;
    saved_session_digest(&terms, digests[count++]);
    terms.asks_here = true;
    saved_session_digest(&terms, digests[count++]);
    terms.max_file_bytes = 4096;
    saved_session_digest(&terms, digests[count++]);
    terms.max_lines = 100;
    saved_session_digest(&terms, digests[count++]);
    choices->others[choices->other_count++] = (struct connect_folder){.path = "/srv/a"};
    saved_session_digest(&terms, digests[count++]);
    choices->others[0].may_write = true;
    saved_session_digest(&terms, digests[count++]);
    choices->only_reads_dir = true;
    saved_session_digest(&terms, digests[count++]);
    choices->others[choices->other_count++] = (struct connect_folder){.path = "/srv/b"};
    saved_session_digest(&terms, digests[count++]);
    terms.reads_hardlinks = true;
    saved_session_digest(&terms, digests[count++]);
    terms.shell_env = env;
    saved_session_digest(&terms, digests[count++]);
    terms.denied = globs;
    saved_session_digest(&terms, digests[count++]);
    terms.denied = NULL;
    terms.allowed = globs;
    saved_session_digest(&terms, digests[count++]);
    terms.denied = globs + 1;
    saved_session_digest(&terms, digests[count++]);
    assert_int_equal(httpurl_parse(STR("https://other.example"), &world->url, NULL), 0);
    saved_session_digest(&terms, digests[count++]);
    terms.shell_env = same_name; /* the value may be a secret, and leaves no trace */
    saved_session_digest(&terms, digests[count]);
    assert_string_equal(digests[count], digests[count - 1]);
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            assert_string_not_equal(digests[i], digests[j]);
    free(choices);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_MAIN(CASE(what_was_kept_is_found_again), CASE(with_other_terms_there_is_none),
          CASE(each_server_has_its_own), CASE(the_file_is_for_its_user_alone_whatever_was_there),
          CASE(one_that_is_removed_is_gone), CASE(one_at_a_time_has_the_session_of_a_server),
          CASE(what_cannot_be_read_is_none), CASE(whatever_is_agreed_to_is_in_the_digest))
