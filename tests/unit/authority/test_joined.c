/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes that are joined: absolute names reach the others, and each keeps its own boundary. */
#include "attempts.h"
#include "two_scopes.h"

enum { GIVEN_BYTES = 512 };

/* The first is the other tree; joined to it is the root, where the good names of attempts are. */
static struct authority_scope *join(struct world *world, struct authority_scope *joined)
{
    struct authority_scope *first = open_plain_other(world);

    assert_ok(world, authority_scope_join(first, joined, &world->err));
    return first;
}

static struct authority_scope *open_reading(struct world *world)
{
    struct authority_request request = world_request(world);

    request.access = AUTHORITY_READ | AUTHORITY_LIST | AUTHORITY_METADATA | AUTHORITY_WATCH;
    return world_open(world, &request);
}

static struct str in_tree(const struct world *world, enum world_tree tree, const char *name,
                          char out_text[GIVEN_BYTES])
{
    snprintf(out_text, GIVEN_BYTES, "%s/%s", world->paths[tree], name);
    return str_from(out_text);
}

/* What attempts with two names expect beside the given one. */
static void prepare_both(struct world *world, struct authority_scope *first)
{
    attempts_prepare(world);
    plant(world, WORLD_OTHER, "file", "other");
    plant(world, WORLD_OTHER, "spare", "other spare");
    assert_ok(world,
              authority_copy_in(first, STR("pack"), world->scope, STR("pack"), NULL, &world->err));
}

static void every_operation_reaches_the_joined_root(void **state)
{
    struct world *outer = *state;

    for (size_t i = 0; i < array_size(attempts); i++) {
        const struct attempt *attempt = &attempts[i];
        struct authority_scope *first;
        char given[GIVEN_BYTES];
        struct world *world;
        void *inner;

        if (!attempt_runs_here(outer, attempt))
            continue;
        world_setup_like(outer, &inner);
        world = inner;
        first = join(world, world->scope);
        prepare_both(world, first);
        plant_dir(world, WORLD_OTHER, "dir");
        if (attempt_run(world, first, attempt, in_tree(world, WORLD_ROOT, attempt->good, given)) !=
            0)
            fail_msg("%s: %s", attempt->label, world->err.message);
        /* And relative ones stay with the first. */
        assert_reads(world, first, "file", "other");
        authority_scope_free(first);
        teardown(&inner);
    }
}

static void the_grant_of_each_decides_about_its_names(void **state)
{
    struct world *world = *state;
    struct authority_scope *joined = open_reading(world);
    struct authority_scope *first = join(world, joined);
    char given[GIVEN_BYTES];

    prepare_both(world, first);
    freeze(world);
    for (size_t i = 0; i < array_size(attempts); i++) {
        const struct attempt *attempt = &attempts[i];
        /* What only reads the given name succeeds, and would change the first. */
        bool is_reading = !attempt->is_mutation || attempt->run == attempt_copy_from ||
                          attempt->run == attempt_extract_from ||
                          attempt->run == attempt_archive_from;
        int r;

        if (!attempt_runs_here(world, attempt) || is_reading)
            continue;
        r = attempt_run(world, first, attempt, in_tree(world, WORLD_ROOT, attempt->good, given));
        if (r != ERR_ACCESS_MISSING)
            fail_msg("%s gave %s", attempt->label, r < 0 ? err_name(r) : "success");
    }
    assert_frozen(world);
    authority_scope_free(first);
    authority_scope_free(joined);
}

static void no_name_leads_from_one_root_to_another(void **state)
{
    struct world *world = *state;
    struct authority_scope *other =
        open_other(world, (struct authority_limits){.symlinks = AUTHORITY_SYMLINKS_IN_ROOT});
    struct authority_scope *first = world->following;
    char given[GIVEN_BYTES];
    static const char *const outside[] = {"root-evil/secret", "outside/secret", "", "roo",
                                          "root2/x"};

    attempts_prepare(world);
    plant(world, WORLD_OTHER, "file", "other");
    plant(world, WORLD_TWIN, "secret", "no");
    plant(world, WORLD_OUTSIDE, "secret", "no");
    assert_ok(world, authority_scope_join(first, other, &world->err));
    attempt_all(world, first, STR("../other/file"), ERR_PATH_OUTSIDE_ROOT);
    attempt_all(world, first, in_tree(world, WORLD_ROOT, "../other/file", given),
                ERR_PATH_OUTSIDE_ROOT);
    attempt_all(world, first, in_tree(world, WORLD_ROOT, "dir/../../other/file", given),
                ERR_PATH_OUTSIDE_ROOT);
    attempt_all(world, first, in_tree(world, WORLD_OTHER, "../root/file", given),
                ERR_PATH_OUTSIDE_ROOT);
    for (size_t i = 0; i < array_size(outside); i++) {
        snprintf(given, sizeof(given), "%s/%s", world->base, outside[i]);
        freeze(world);
        for (size_t n = 0; n < array_size(attempts); n++)
            if (attempt_runs_here(world, &attempts[n]))
                assert_int_equal(attempt_run(world, first, &attempts[n], str_from(given)),
                                 ERR_PATH_OUTSIDE_ROOT);
        assert_frozen(world);
    }
    /* Links follow the boundary of the root they are in. */
    plant_link(world, "relative", "../other");
    plant_link(world, "absolute", world->paths[WORLD_OTHER]);
    attempt_all(world, first, STR("relative/file"), ERR_PATH_OUTSIDE_ROOT);
    attempt_all(world, first, STR("absolute/file"), ERR_PATH_OUTSIDE_ROOT);
    attempt_all(world, first, in_tree(world, WORLD_ROOT, "absolute/file", given),
                ERR_PATH_OUTSIDE_ROOT);
    assert_int_equal(attempt_read_bytes(world, first, in_tree(world, WORLD_OTHER, "file", given)),
                     0);
    authority_scope_free(other);
}

static void roots_that_overlap_cannot_be_joined(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct authority_scope *inner;
    char path[GIVEN_BYTES];

    plant_dir(world, WORLD_ROOT, "in");
    assert_refused(world, authority_scope_join(world->scope, world->following, &world->err),
                   ERR_INVALID_ARGUMENT);
    request.root.path = path;
    (void)in_tree(world, WORLD_ROOT, "in", path);
    inner = world_open(world, &request);
    assert_refused(world, authority_scope_join(world->scope, inner, &world->err),
                   ERR_INVALID_ARGUMENT);
    assert_refused(world, authority_scope_join(inner, world->scope, &world->err),
                   ERR_INVALID_ARGUMENT);
    authority_scope_free(inner);
}

static void resolved_names_lead_back_to_their_root(void **state)
{
    struct world *world = *state;
    struct authority_scope *first = join(world, world->following);
    char given[GIVEN_BYTES];
    char wanted[GIVEN_BYTES];
    char found[PATH_MAX];
    size_t len;

    attempts_prepare(world);
    plant_link(world, "link", "dir");
    assert_ok(world, authority_resolve(first, AUTHORITY_OP_READ,
                                       in_tree(world, WORLD_ROOT, "link/./below", given), found,
                                       &len, NULL, &world->err));
    assert_true(str_eq((struct str){found, len}, in_tree(world, WORLD_ROOT, "dir/below", wanted)));
    assert_reads(world, first, found, "below");
    assert_ok(world, authority_resolve(first, AUTHORITY_OP_LIST, str_from(world->paths[WORLD_ROOT]),
                                       found, &len, NULL, &world->err));
    assert_string_equal(found, world->paths[WORLD_ROOT]);
    assert_refused(world,
                   authority_resolve(first, AUTHORITY_OP_REMOVE, str_from(world->paths[WORLD_ROOT]),
                                     found, &len, NULL, &world->err),
                   ERR_ROOT_PROTECTED);
    authority_scope_free(first);
}

struct records {
    size_t of_first;
    size_t of_joined;
};

static int count_record(void *data, const struct authority_event *event)
{
    struct records *records = data;

    if (strcmp(event->root->id, "other") == 0)
        records->of_first++;
    else
        records->of_joined++;
    assert_true(event->name.len == 0 || event->name.ptr[0] != '/');
    return 0;
}

static void each_root_is_named_in_the_record(void **state)
{
    struct world *world = *state;
    struct authority_scope *first = join(world, world->scope);
    struct authority_note note = {.operation = AUTHORITY_OP_WRITE,
                                  .outcome = AUTHORITY_DENIED,
                                  .error = ERR_DENIED_BY_POLICY};
    struct records records = {0};
    char given[GIVEN_BYTES];

    prepare_both(world, first);
    assert_int_equal(authority_add_listener(world->authority, count_record, &records), 0);
    assert_int_equal(attempt_read_bytes(world, first, STR("file")), 0);
    assert_true(records.of_first == 1 && records.of_joined == 0);
    assert_int_equal(attempt_read_bytes(world, first, in_tree(world, WORLD_ROOT, "file", given)),
                     0);
    assert_true(records.of_first == 1 && records.of_joined == 1);
    note.name = str_from(given);
    assert_int_equal(authority_note(first, &note), 0);
    assert_true(records.of_first == 1 && records.of_joined == 2);
    authority_scope_free(first);
}

static void files_of_both_are_replaced_together(void **state)
{
    struct world *world = *state;
    struct authority_scope *first = join(world, world->scope);
    struct authority_stat seen[2];
    struct authority_replacement files[2] = {{.name = STR("a"), .content = STR("new a")},
                                             {.content = STR("new b")}};
    char given[GIVEN_BYTES];
    size_t at;

    plant(world, WORLD_OTHER, "a", "old a");
    plant(world, WORLD_ROOT, "b", "old b");
    files[1].name = in_tree(world, WORLD_ROOT, "b", given);
    for (size_t i = 0; i < 2; i++) {
        assert_ok(world, authority_stat(first, files[i].name, &seen[i], &world->err));
        files[i].exchange.expected = &seen[i];
    }
    assert_ok(world, authority_replace_all(first, files, 2, NULL, &at, &world->err));
    assert_content(world, WORLD_OTHER, "a", "new a");
    assert_content(world, WORLD_ROOT, "b", "new b");
    /* Now the second is not what is expected: neither changes. */
    assert_ok(world, authority_stat(first, files[0].name, &seen[0], &world->err));
    assert_refused(world, authority_replace_all(first, files, 2, NULL, &at, &world->err), ERR_BUSY);
    assert_content(world, WORLD_OTHER, "a", "new a");
    assert_content(world, WORLD_ROOT, "b", "new b");
    authority_scope_free(first);
}

static void a_tree_is_moved_between_them_as_it_is(void **state)
{
    struct world *world = *state;
    struct authority_scope *first = join(world, world->scope);
    char given[GIVEN_BYTES];
    uint64_t inode;

    plant_dir(world, WORLD_OTHER, "t");
    plant(world, WORLD_OTHER, "t/x", "x");
    set_mode(world, WORLD_OTHER, "t/x", 0640);
    inode = about(world, WORLD_OTHER, "t/x").inode;
    assert_ok(world, authority_move(first, STR("t"), in_tree(world, WORLD_ROOT, "t2", given), NULL,
                                    &world->err));
    assert_false(is_there(world, WORLD_OTHER, "t"));
    assert_content(world, WORLD_ROOT, "t2/x", "x");
    assert_int_equal(mode_of(world, WORLD_ROOT, "t2/x"), 0640);
    assert_true(about(world, WORLD_ROOT, "t2/x").inode == inode);
    assert_ok(world, authority_move(first, str_from(given), STR("t"), NULL, &world->err));
    assert_content(world, WORLD_OTHER, "t/x", "x");
    authority_scope_free(first);
}

/* Of the joined root only what its globs show, as if the archive were in the same root. */
static void an_archive_of_one_in_the_other_has_what_its_globs_show(void **state)
{
    static const char *const allowed[] = {"**/*.txt", "**/*.key", NULL};
    static const char *const denied[] = {"**/*.key", NULL};
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct authority_archive_result result = {0};
    struct authority_scope *joined;
    struct authority_scope *first;
    char given[GIVEN_BYTES];

    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_ROOT, "d/a.txt", "a");
    plant(world, WORLD_ROOT, "d/secret.key", "no");
    plant(world, WORLD_ROOT, "d/other", "no");
    request.access = AUTHORITY_READ;
    request.limits.allowed_globs = allowed;
    request.limits.denied_globs = denied;
    joined = world_open(world, &request);
    first = join(world, joined);
    assert_ok(world,
              authority_create_archive(first, in_tree(world, WORLD_ROOT, "d", given), STR("d.zip"),
                                       AUTHORITY_ZIP, NULL, &result, &world->err));
    assert_int_equal(result.files, 1);
    assert_ok(world, authority_extract_archive(first, STR("d.zip"), STR("out"), NULL, &result,
                                               &world->err));
    assert_content(world, WORLD_OTHER, "out/a.txt", "a");
    assert_false(is_there(world, WORLD_OTHER, "out/secret.key"));
    assert_refused(world,
                   authority_create_archive(first, STR("out"),
                                            in_tree(world, WORLD_ROOT, "back.zip", given),
                                            AUTHORITY_ZIP, NULL, &result, &world->err),
                   ERR_ACCESS_MISSING);
    assert_false(is_there(world, WORLD_ROOT, "back.zip"));
    authority_scope_free(first);
    authority_scope_free(joined);
}

TEST_MAIN(EVERYWHERE(every_operation_reaches_the_joined_root),
          EVERYWHERE(the_grant_of_each_decides_about_its_names),
          EVERYWHERE(no_name_leads_from_one_root_to_another),
          EVERYWHERE(roots_that_overlap_cannot_be_joined),
          EVERYWHERE(resolved_names_lead_back_to_their_root),
          EVERYWHERE(each_root_is_named_in_the_record),
          EVERYWHERE(files_of_both_are_replaced_together),
          EVERYWHERE(a_tree_is_moved_between_them_as_it_is),
          EVERYWHERE(an_archive_of_one_in_the_other_has_what_its_globs_show))
