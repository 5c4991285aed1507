/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter that changes with the user's rules applies from one moment to the next, for each name
 * when it is met, and distinguishes reading from changing. test_denied.c tests that it denies
 * whatever a glob denies.
 */
#include "attempts.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

static const struct authority_remove_options recursive = {.is_recursive = true};
static const struct authority_move_options may_replace = {.may_replace = true};

/* Denies one name and all below it. */
struct rules {
    atomic_bool is_active;
    struct str name;
    bool only_changes;
    atomic_size_t asked;
};

static bool is_active(void *data)
{
    struct rules *rules = data;

    return atomic_load(&rules->is_active);
}

static bool denies(void *data, struct str name, bool changes)
{
    struct rules *rules = data;

    atomic_fetch_add(&rules->asked, 1);
    return (changes || !rules->only_changes) && path_is_within(name, rules->name);
}

static void tell(void *data, struct str name, bool changes, char out_rule[AUTHORITY_RULE_BYTES])
{
    (void)data;
    snprintf(out_rule, AUTHORITY_RULE_BYTES, "%s:%.*s", changes ? "change" : "look", STR_ARG(name));
}

static struct authority_scope *open_filtered(struct world *world, struct rules *rules,
                                             enum authority_symlinks symlinks)
{
    return world_open_limited(world,
                              &(struct authority_limits){.symlinks = symlinks,
                                                         .filter = {.is_active = is_active,
                                                                    .denies = denies,
                                                                    .tell = tell,
                                                                    .data = rules,
                                                                    .policy_id = "deny-rule"}});
}

static void make_names(struct world *world)
{
    plant(world, WORLD_ROOT, "key", "SECRET");
    plant(world, WORLD_ROOT, "notes", "notes");
    plant_dir(world, WORLD_ROOT, "vault");
    plant(world, WORLD_ROOT, "vault/key", "SECRET");
    plant(world, WORLD_ROOT, "vault/open", "open");
}

static void every_operation_follows_the_rules_of_the_moment(void **state)
{
    struct world *world = *state;

    for (size_t i = 0; i < array_size(attempts); i++) {
        struct rules rules = {.name = str_from(attempts[i].good)};
        struct authority_scope *scope;
        void *other;
        struct world *its;

        if (!attempt_runs_here(world, &attempts[i]))
            continue;
        world_setup_like(world, &other);
        its = other;
        attempts_prepare(its);
        scope = open_filtered(its, &rules, AUTHORITY_SYMLINKS_REJECT);
        atomic_store(&rules.is_active, true);
        freeze(its);
        if (attempt_run(its, scope, &attempts[i], rules.name) != ERR_DENIED_BY_POLICY)
            fail_msg("%s went past the rules", attempts[i].label);
        assert_frozen(its);
        assert_true(rules.asked > 0);
        rules.asked = 0;
        atomic_store(&rules.is_active, false);
        if (attempt_run(its, scope, &attempts[i], rules.name) != 0)
            fail_msg("%s was refused without rules: %s", attempts[i].label, its->err.message);
        /* Who denies nothing is not asked about each name. */
        assert_int_equal(rules.asked, 0);
        authority_scope_free(scope);
        teardown(&other);
    }
}

/* ---- Reading is not changing ---- */

static void what_may_not_be_changed_can_be_read(void **state)
{
    struct world *world = *state;
    struct rules rules = {.is_active = true, .name = STR("vault"), .only_changes = true};
    struct authority_archive_result result;
    struct authority_stat about;
    char name[PATH_MAX];
    size_t len;

    make_names(world);
    plant_link(world, "to-vault", "vault");
    for (int links = 0; links < 2; links++) {
        struct authority_scope *scope = open_filtered(
            world, &rules, links ? AUTHORITY_SYMLINKS_IN_ROOT : AUTHORITY_SYMLINKS_REJECT);
        struct str open = links ? STR("to-vault/open") : STR("vault/open");
        struct str vault = links ? STR("to-vault/.") : STR("vault");
        cleanup_buf struct buf out = BUF_INIT(1000);

        assert_int_equal(authority_read_bytes(scope, open, NULL, &out, NULL), 0);
        assert_str(buf_view(&out), "open");
        assert_ok(world, authority_stat(scope, open, &about, &world->err));
        assert_ok(world, authority_list(scope, vault, NULL, world_note_entry, &out, &world->err));
        assert_ok(world, authority_copy(scope, open, STR("copy"), NULL, &world->err));
        assert_ok(world,
                  authority_copy_in(world->scope, STR("copy2"), scope, open, NULL, &world->err));
        assert_ok(world, authority_create_archive(scope, vault, STR("pack"), AUTHORITY_ZIP, NULL,
                                                  &result, &world->err));
        assert_int_equal(result.files, 2);
        assert_ok(world,
                  authority_resolve(scope, AUTHORITY_OP_READ, open, name, &len, NULL, &world->err));
        freeze(world);
        assert_refused(world, authority_write_bytes(scope, open, STR("x"), NULL, &world->err),
                       ERR_DENIED_BY_POLICY);
        if (!links)
            assert_non_null(strstr(world->err.message, "the path is denied by a rule of the user"));
        assert_refused(world, authority_append(scope, open, STR("x"), NULL, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_refused(world, authority_remove(scope, open, NULL, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_refused(world, authority_move(scope, open, STR("moved"), NULL, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_refused(world, authority_copy(scope, STR("notes"), open, &may_replace, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_refused(
            world,
            authority_copy_in(scope, open, world->scope, STR("notes"), &may_replace, &world->err),
            ERR_DENIED_BY_POLICY);
        assert_refused(
            world, authority_move_in(world->scope, STR("moved"), scope, open, NULL, &world->err),
            ERR_DENIED_BY_POLICY);
        assert_refused(
            world,
            authority_resolve(scope, AUTHORITY_OP_WRITE, open, name, &len, NULL, &world->err),
            ERR_DENIED_BY_POLICY);
        assert_frozen(world);
        assert_ok(world, authority_remove(scope, STR("copy"), NULL, &world->err));
        assert_ok(world, authority_remove(scope, STR("copy2"), NULL, &world->err));
        /* An archive in there may be unpacked elsewhere, and nothing into there. */
        assert_ok(world,
                  authority_move(world->scope, STR("pack"), STR("vault/pack"), NULL, &world->err));
        assert_ok(world, authority_extract_archive(scope, STR("vault/pack"), STR("out"), NULL,
                                                   &result, &world->err));
        assert_refused(world,
                       authority_extract_archive(scope, STR("vault/pack"), STR("vault/new"), NULL,
                                                 &result, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_refused(world,
                       authority_create_archive(scope, STR("out"), STR("vault/a"), AUTHORITY_ZIP,
                                                NULL, &result, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_ok(world, authority_remove(scope, STR("out"), &recursive, &world->err));
        assert_ok(world, authority_remove(world->scope, STR("vault/pack"), NULL, &world->err));
        authority_scope_free(scope);
    }
}

static void what_holds_something_that_may_not_be_changed_stays(void **state)
{
    struct world *world = *state;
    struct rules rules = {.is_active = true, .name = STR("vault/key"), .only_changes = true};
    struct authority_scope *scope = open_filtered(world, &rules, AUTHORITY_SYMLINKS_REJECT);

    make_names(world);
    freeze(world);
    assert_refused(world, authority_remove(scope, STR("vault"), &recursive, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_move(scope, STR("vault"), STR("v"), NULL, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(
        world, authority_move_in(world->scope, STR("v"), scope, STR("vault"), NULL, &world->err),
        ERR_DENIED_BY_POLICY);
    assert_frozen(world);
    atomic_store(&rules.is_active, false);
    assert_ok(world, authority_remove(scope, STR("vault"), &recursive, &world->err));
    assert_false(is_there(world, WORLD_ROOT, "vault"));
    authority_scope_free(scope);
}

/* ---- Each name when it is met ---- */

struct turning {
    struct rules *rules;
    size_t seen;
    size_t denied; /* of those seen later */
};

static int turn_on(void *data, const struct authority_entry *entry)
{
    struct turning *turning = data;

    turning->denied += turning->seen > 0 && path_is_within(entry->name, STR("many"));
    turning->seen++;
    atomic_store(&turning->rules->is_active, true);
    return 0;
}

static void a_rule_that_comes_meanwhile_holds_for_the_rest(void **state)
{
    struct world *world = *state;
    struct rules rules = {.name = STR("many")};
    struct authority_scope *scope = open_filtered(world, &rules, AUTHORITY_SYMLINKS_REJECT);
    struct turning listing = {.rules = &rules};
    struct turning walking = {.rules = &rules};

    plant_dir(world, WORLD_ROOT, "many");
    for (unsigned i = 0; i < 100; i++) {
        char name[32];

        snprintf(name, sizeof(name), "many/%u", i);
        plant(world, WORLD_ROOT, name, "x");
    }
    assert_ok(world, authority_list(scope, STR("many"), NULL, turn_on, &listing, &world->err));
    assert_int_equal(listing.seen, 1);
    atomic_store(&rules.is_active, false);
    assert_ok(world, authority_walk(scope, STR(""), NULL, turn_on, &walking, &world->err));
    assert_int_equal(walking.denied, 0);
    assert_int_equal(walking.seen, 1);
    authority_scope_free(scope);
}

static int turn_on_sifting(void *data, unsigned thread, struct str name)
{
    struct turning *turning = data;

    (void)thread;
    (void)name;
    turning->seen++;
    atomic_store(&turning->rules->is_active, true);
    return 0;
}

static void a_rule_that_comes_meanwhile_holds_for_the_rest_of_a_search(void **state)
{
    struct world *world = *state;
    struct rules rules = {.name = STR("many")};
    struct authority_scope *scope = open_filtered(world, &rules, AUTHORITY_SYMLINKS_REJECT);
    struct turning sifting = {.rules = &rules};
    const struct authority_sift_options one_thread = {.threads = 1};
    const struct authority_sift_visitor visitor = {.file = turn_on_sifting, .data = &sifting};

    plant_dir(world, WORLD_ROOT, "many");
    plant(world, WORLD_ROOT, "many/1", "x");
    plant(world, WORLD_ROOT, "many/2", "x");
    plant(world, WORLD_ROOT, "many/3", "x");
    assert_ok(world, authority_sift(scope, STR("many"), &one_thread, &visitor, &world->err));
    assert_int_equal(sifting.seen, 1);
    authority_scope_free(scope);
}

static void note_change(void *data, enum authority_change change, struct str name)
{
    (void)change;
    buf_append_str(data, name);
    buf_append_char(data, '\n');
}

static void a_watch_hides_what_was_denied_since(void **state)
{
    struct world *world = *state;
    struct rules rules = {.name = STR("dir/hidden")};
    struct authority_scope *scope = open_filtered(world, &rules, AUTHORITY_SYMLINKS_REJECT);
    cleanup_buf struct buf out = BUF_INIT(1000);
    struct authority_watch *watch = NULL;
    int fd = -1;

    plant_dir(world, WORLD_ROOT, "dir");
    assert_ok(world, authority_watch(scope, STR("dir"), &watch, &fd, &world->err));
    atomic_store(&rules.is_active, true);
    plant(world, WORLD_ROOT, "dir/hidden", "x");
    plant(world, WORLD_ROOT, "dir/seen", "x");
    assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, PATIENCE_MS), 1);
    assert_int_equal(authority_watch_read(watch, note_change, &out), 0);
    assert_true(str_find(buf_view(&out), STR("hidden")) == SIZE_MAX);
    assert_true(str_find(buf_view(&out), STR("seen")) != SIZE_MAX);
    authority_watch_free(watch);
    authority_scope_free(scope);
}

static void *flip(void *data)
{
    struct rules *rules = data;

    for (unsigned i = 0; i < 20000; i++)
        atomic_store(&rules->is_active, i % 2 == 0);
    return NULL;
}

/* Under TSan: rules change in one thread while others read. */
static void rules_may_change_in_another_thread(void **state)
{
    struct world *world = *state;
    struct rules rules = {.name = STR("vault/key")};
    struct authority_scope *scope = open_filtered(world, &rules, AUTHORITY_SYMLINKS_IN_ROOT);
    pthread_t thread;

    make_names(world);
    assert_int_equal(pthread_create(&thread, NULL, flip, &rules), 0);
    for (unsigned i = 0; i < 50; i++) {
        cleanup_buf struct buf out = BUF_INIT(1000);
        int r = authority_read_bytes(scope, STR("vault/key"), NULL, &out, NULL);

        assert_true(r == 0 || r == ERR_DENIED_BY_POLICY);
        assert_true(r == 0 || out.len == 0);
        assert_int_equal(authority_walk(scope, STR(""), NULL, world_note_entry, &out, NULL), 0);
    }
    pthread_join(thread, NULL);
    authority_scope_free(scope);
}

/* ---- Who it was ---- */

static int note_source(void *data, const struct authority_event *event)
{
    if (event->outcome != AUTHORITY_INTENT)
        buf_printf(data, "%s ", event->policy_source);
    if (event->policy_rule != NULL)
        buf_printf(data, "(%s) ", event->policy_rule);
    return 0;
}

static void the_record_says_which_rule_it_was(void **state)
{
    struct world *world = *state;
    struct rules rules = {.is_active = true, .name = STR("vault/key")};
    struct authority_scope *scope = open_filtered(world, &rules, AUTHORITY_SYMLINKS_IN_ROOT);
    cleanup_buf struct buf out = BUF_INIT(1000);
    cleanup_buf struct buf content = BUF_INIT(1000);

    make_names(world);
    plant_link(world, "to-key", "vault/key");
    assert_int_equal(authority_add_listener(world->authority, note_source, &out), 0);
    assert_refused(world,
                   authority_read_bytes(scope, STR("vault/key"), NULL, &content, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(
        world, authority_read_bytes(scope, STR("vault/../vault/key"), NULL, &content, &world->err),
        ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_read_bytes(scope, STR("to-key"), NULL, &content, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_remove(scope, STR("vault"), &recursive, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_move(scope, STR("vault"), STR("v"), NULL, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_str(buf_view(&out), "deny-rule (look:vault/key) deny-rule (look:vault/key) "
                               "deny-rule (look:vault/key) deny-rule (change:vault/key) "
                               "deny-rule (change:vault/key) ");
    /* What is nobody's is no rule of the user's. */
    buf_clear(&out);
    assert_refused(world,
                   authority_read_bytes(scope, STR(".gatehouse-x"), NULL, &content, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_str(buf_view(&out), "grant ");
    authority_scope_free(scope);
}

static void the_record_says_which_glob_it_was(void **state)
{
    static const char *const globs[] = {"**/*.pem", "vault/{key,lock}", NULL};
    static const char *const all[] = {"**", NULL};
    struct world *world = *state;
    struct authority_limits limits = {.denied_globs = globs};
    cleanup_buf struct buf out = BUF_INIT(1000);
    cleanup_buf struct buf content = BUF_INIT(1000);
    struct authority_scope *scope;

    make_names(world);
    assert_int_equal(authority_add_listener(world->authority, note_source, &out), 0);
    for (int is_all = 0; is_all < 2; is_all++) {
        scope = world_open_limited(world, &limits);
        buf_clear(&out);
        assert_refused(world,
                       authority_read_bytes(scope, STR("vault/key"), NULL, &content, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_refused(world,
                       authority_write_bytes(scope, STR("a/b.pem"), STR("x"), NULL, &world->err),
                       ERR_DENIED_BY_POLICY);
        if (is_all)
            assert_str(buf_view(&out), "grant (**) grant (**) ");
        else
            assert_str(buf_view(&out), "grant (vault/{key,lock}) grant (**/*.pem) ");
        /* The agent does not hear it. */
        assert_null(strstr(world->err.message, "pem"));
        authority_scope_free(scope);
        limits.denied_globs = all;
    }
    /* What succeeds is nobody's rule. */
    limits.denied_globs = globs;
    scope = world_open_limited(world, &limits);
    buf_clear(&out);
    assert_int_equal(authority_read_bytes(scope, STR("notes"), NULL, &content, &world->err), 0);
    assert_true(str_find(buf_view(&out), STR("(")) == SIZE_MAX);
    authority_scope_free(scope);
}

TEST_MAIN(EVERYWHERE(every_operation_follows_the_rules_of_the_moment),
          EVERYWHERE(what_may_not_be_changed_can_be_read),
          EVERYWHERE(what_holds_something_that_may_not_be_changed_stays),
          EVERYWHERE(a_rule_that_comes_meanwhile_holds_for_the_rest),
          EVERYWHERE(a_rule_that_comes_meanwhile_holds_for_the_rest_of_a_search),
          ON_DISK(a_watch_hides_what_was_denied_since),
          EVERYWHERE(rules_may_change_in_another_thread),
          EVERYWHERE(the_record_says_which_rule_it_was),
          EVERYWHERE(the_record_says_which_glob_it_was))
