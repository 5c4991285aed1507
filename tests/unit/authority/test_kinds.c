/* SPDX-License-Identifier: Apache-2.0 */
/* What each kind of root allows by default, tested by its effect. */
#include "attempts.h"

static void a_manifest_alone_does_not_write_to_a_workspace(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);

    request.subject = (struct authority_subject){.type = AUTHORITY_EXTENSION, .id = "ext"};
    request.source = AUTHORITY_FROM_MANIFEST;
    refuse_request(world, &request, ERR_DENIED_BY_POLICY);
    request.access = AUTHORITY_READ | AUTHORITY_LIST | AUTHORITY_METADATA | AUTHORITY_WATCH;
    accept_request(world, &request);
    request.access = AUTHORITY_READ | AUTHORITY_WRITE;
    refuse_request(world, &request, ERR_DENIED_BY_POLICY);
    request.source = AUTHORITY_FROM_CONVERSATION;
    accept_request(world, &request);
}

static void an_extensions_storage_is_its_own(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct authority_scope *scope;

    request.root.kind = AUTHORITY_EXTENSION_STORAGE;
    request.root.id = "notes";
    request.source = AUTHORITY_FROM_MANIFEST;
    request.subject = (struct authority_subject){.type = AUTHORITY_EXTENSION, .id = "note"};
    refuse_request(world, &request, ERR_DENIED_BY_POLICY);
    request.subject.id = "notes2";
    refuse_request(world, &request, ERR_DENIED_BY_POLICY);
    request.subject = (struct authority_subject){.type = AUTHORITY_AGENT_RUN, .id = "notes"};
    refuse_request(world, &request, ERR_DENIED_BY_POLICY);
    request.subject.type = AUTHORITY_AUTOMATION;
    refuse_request(world, &request, ERR_DENIED_BY_POLICY);
    /* Even with an approval it is not for others. */
    request.source = AUTHORITY_FROM_USER_APPROVAL;
    refuse_request(world, &request, ERR_DENIED_BY_POLICY);
    request.source = AUTHORITY_FROM_MANIFEST;
    request.subject = (struct authority_subject){.type = AUTHORITY_EXTENSION, .id = "notes"};
    scope = world_open(world, &request);
    assert_ok(world, authority_write_bytes(scope, STR("a"), STR("mine"), NULL, &world->err));
    assert_content(world, WORLD_ROOT, "a", "mine");
    authority_scope_free(scope);
}

static void artifacts_are_changed_by_their_own_calls_alone(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct authority_scope *scope;

    attempts_prepare(world);
    request.root.kind = AUTHORITY_ARTIFACT;
    scope = world_open(world, &request);
    freeze(world);
    for (size_t i = 0; i < array_size(attempts); i++) {
        if (!attempt_runs_here(world, &attempts[i]) || !attempts[i].is_mutation ||
            attempts[i].operation == AUTHORITY_OP_COPY_IN)
            continue;
        assert_int_equal(attempt_run(world, scope, &attempts[i], str_from(attempts[i].good)),
                         ERR_DENIED_BY_POLICY);
        assert_frozen(world);
    }
    assert_reads(world, scope, "spare", "spare");
    assert_ok(world, authority_write_artifact(scope, STR("page"), STR("<p>"), NULL, &world->err));
    assert_content(world, WORLD_ROOT, "page", "<p>");
    plant(world, WORLD_OTHER, "picture", "png");
    request = world_request(world);
    request.root.path = world->paths[WORLD_OTHER];
    {
        struct authority_scope *other = world_open(world, &request);

        assert_ok(world, authority_copy_in(scope, STR("picture"), other, STR("picture"), NULL,
                                           &world->err));
        authority_scope_free(other);
    }
    assert_content(world, WORLD_ROOT, "picture", "png");
    authority_scope_free(scope);
}

static void knowledge_is_never_ambient(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    static const enum authority_subject_type types[] = {AUTHORITY_AGENT_RUN, AUTHORITY_EXTENSION,
                                                        AUTHORITY_AUTOMATION};

    request.root.kind = AUTHORITY_KNOWLEDGE;
    request.access = AUTHORITY_READ;
    for (size_t i = 0; i < array_size(types); i++) {
        request.subject = (struct authority_subject){.type = types[i], .id = "x"};
        request.source = AUTHORITY_FROM_MANIFEST;
        refuse_request(world, &request, ERR_DENIED_BY_POLICY);
        request.source = AUTHORITY_FROM_CONVERSATION;
        refuse_request(world, &request, ERR_DENIED_BY_POLICY);
        request.source = AUTHORITY_FROM_USER_APPROVAL;
        accept_request(world, &request);
    }
}

static void downloads_are_copied_out_and_not_moved(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct authority_scope *downloads;

    request.root = (struct authority_root){
        .kind = AUTHORITY_DOWNLOADS, .id = "downloads", .path = world->paths[WORLD_OTHER]};
    refuse_request(world, &request, ERR_DENIED_BY_POLICY);
    request.access = AUTHORITY_ALL_ACCESS & ~(unsigned)AUTHORITY_MOVE;
    downloads = world_open(world, &request);
    assert_ok(world, authority_write_bytes(downloads, STR("got"), STR("bytes"), NULL, &world->err));
    freeze(world);
    assert_refused(
        world,
        authority_move_in(world->scope, STR("got"), downloads, STR("got"), NULL, &world->err),
        ERR_ACCESS_MISSING);
    assert_refused(world, authority_move(downloads, STR("got"), STR("x"), NULL, &world->err),
                   ERR_ACCESS_MISSING);
    assert_frozen(world);
    assert_ok(world, authority_copy_in(world->scope, STR("kept"), downloads, STR("got"), NULL,
                                       &world->err));
    assert_content(world, WORLD_ROOT, "kept", "bytes");
    assert_content(world, WORLD_OTHER, "got", "bytes");
    authority_scope_free(downloads);
}

static void secrets_are_strict(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    const unsigned access = AUTHORITY_READ | AUTHORITY_WRITE | AUTHORITY_METADATA;
    const struct authority_write_options wide = {.mode = 0666};
    static const unsigned names[] = {AUTHORITY_LIST, AUTHORITY_WATCH, AUTHORITY_ARCHIVE};
    static const unsigned loose[] = {0755, 0710, 0701, 0770, 0750, 0707};
    struct authority_scope *scope;

    request.root.kind = AUTHORITY_SECRET;
    request.access = access;
    for (size_t i = 0; i < array_size(loose); i++) {
        set_mode(world, WORLD_ROOT, "", loose[i]);
        refuse_request(world, &request, ERR_DENIED_BY_POLICY);
    }
    set_mode(world, WORLD_ROOT, "", 0700);
    request.source = AUTHORITY_FROM_CONVERSATION;
    refuse_request(world, &request, ERR_DENIED_BY_POLICY);
    request.source = AUTHORITY_FROM_USER_APPROVAL;
    for (size_t i = 0; i < array_size(names); i++) {
        request.access = access | names[i];
        refuse_request(world, &request, ERR_DENIED_BY_POLICY);
    }
    request.access = access;
    scope = world_open(world, &request);
    assert_ok(world, authority_write_bytes(scope, STR("key"), STR("k"), NULL, &world->err));
    assert_int_equal(mode_of(world, WORLD_ROOT, "key"), 0600);
    assert_ok(world, authority_write_bytes(scope, STR("wide"), STR("k"), &wide, &world->err));
    assert_int_equal(mode_of(world, WORLD_ROOT, "wide"), 0600);
    assert_ok(world, authority_append(scope, STR("more"), STR("k"), &wide, &world->err));
    assert_int_equal(mode_of(world, WORLD_ROOT, "more"), 0600);
    assert_ok(world, authority_mkdir(scope, STR("dir"), NULL, &world->err));
    assert_int_equal(mode_of(world, WORLD_ROOT, "dir"), 0700);
    assert_ok(world, authority_copy(scope, STR("key"), STR("copy"), NULL, &world->err));
    assert_int_equal(mode_of(world, WORLD_ROOT, "copy"), 0600);
    assert_int_equal(attempt_list(world, scope, STR_EMPTY), ERR_ACCESS_MISSING);
    assert_int_equal(attempt_walk(world, scope, STR_EMPTY), ERR_ACCESS_MISSING);
    authority_scope_free(scope);
}

/* Whatever the state directory calls them: directories in a journal's own below temp/. */
static size_t count_workspaces(struct world *world)
{
    char *const paths[] = {world->state, NULL};
    FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    size_t count = 0;

    assert_non_null(fts);
    for (const FTSENT *entry; (entry = fts_read(fts)) != NULL;) {
        if (entry->fts_info != FTS_D || entry->fts_level != 3)
            continue;
        assert_int_equal(entry->fts_statp->st_mode & 07777, 0700);
        count++;
    }
    fts_close(fts);
    return count;
}

static void temporary_workspaces_are_made_and_not_asked_for(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    const struct authority_subject nobody = {.type = AUTHORITY_CORE};
    const struct authority_subject subject = {.type = AUTHORITY_EXTENSION, .id = "ext"};
    struct authority_scope *one = NULL;
    struct authority_scope *two = NULL;

    request.root.kind = AUTHORITY_TEMP;
    refuse_request(world, &request, ERR_DENIED_BY_POLICY);
    assert_refused(world,
                   authority_create_temp(world->authority, &nobody, "work", &one, &world->err),
                   ERR_INVALID_ARGUMENT);
    assert_refused(world, authority_create_temp(world->authority, &subject, "", &one, &world->err),
                   ERR_INVALID_ARGUMENT);
    assert_refused(world,
                   authority_create_temp(world->authority, &subject, NULL, &one, &world->err),
                   ERR_INVALID_ARGUMENT);
    assert_null(one);
    assert_ok(world, authority_create_temp(world->authority, &subject, "work", &one, &world->err));
    assert_ok(world, authority_create_temp(world->authority, &subject, "work", &two, &world->err));
    assert_ok(world, authority_write_bytes(one, STR("a"), STR("1"), NULL, &world->err));
    assert_int_equal(attempt_read_bytes(world, two, STR("a")), ERR_NOT_FOUND);
    if (!world->is_memory)
        assert_int_equal(count_workspaces(world), 2);
    authority_scope_free(one);
    if (!world->is_memory)
        assert_int_equal(count_workspaces(world), 1);
    /* The other goes with the authority. */
    authority_scope_free(world->scope);
    authority_scope_free(world->following);
    for (int i = 0; i < WORLD_TREES; i++)
        if (world->trees[i] != NULL)
            world->authority->backend->ops->root_close(world->trees[i]);
    memset(world->trees, 0, sizeof(world->trees));
    authority_free(world->authority);
    world->authority = NULL;
    world->scope = NULL;
    world->following = NULL;
    if (!world->is_memory)
        assert_int_equal(count_workspaces(world), 0);
}

static void without_a_state_directory_there_is_no_temporary_work(void **state)
{
    struct world *world = *state;
    const struct authority_config config = {.backend = AUTHORITY_LINUX, .clock = &world->clock};
    struct authority_request request = world_request(world);
    struct authority *authority = NULL;
    struct authority_scope *scope = NULL;

    assert_ok(world, authority_new(&config, &authority, &world->err));
    assert_refused(world,
                   authority_create_temp(authority, &request.subject, "work", &scope, &world->err),
                   ERR_UNSUPPORTED);
    assert_null(scope);
    /* The rest works, replacing included. */
    assert_ok(world, authority_request_root(authority, &request, &scope, &world->err));
    assert_ok(world, attempt_write(world, scope, STR("x")));
    assert_ok(world, attempt_write(world, scope, STR("x")));
    assert_content(world, WORLD_ROOT, "x", "written");
    /* Files do not travel between authorities. */
    assert_refused(world,
                   authority_copy_in(world->scope, STR("y"), scope, STR("x"), NULL, &world->err),
                   ERR_INVALID_ARGUMENT);
    assert_false(is_there(world, WORLD_ROOT, "y"));
    authority_scope_free(scope);
    authority_free(authority);
}

TEST_MAIN(EVERYWHERE(a_manifest_alone_does_not_write_to_a_workspace),
          EVERYWHERE(an_extensions_storage_is_its_own),
          EVERYWHERE(artifacts_are_changed_by_their_own_calls_alone),
          EVERYWHERE(knowledge_is_never_ambient),
          EVERYWHERE(downloads_are_copied_out_and_not_moved), EVERYWHERE(secrets_are_strict),
          EVERYWHERE(temporary_workspaces_are_made_and_not_asked_for),
          ON_DISK(without_a_state_directory_there_is_no_temporary_work))
