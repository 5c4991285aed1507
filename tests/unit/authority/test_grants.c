/* SPDX-License-Identifier: Apache-2.0 */
/* Who gets which root, with which access, for how long, and how that is recorded. */
#include "attempts.h"

#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>

/* ---- requests ---- */

static void count_grant(void *data, const struct authority_grant *grant)
{
    (void)grant;
    ++*(size_t *)data;
}

static size_t count_grants(struct world *world)
{
    size_t count = 0;

    authority_grants(world->authority, count_grant, &count);
    return count;
}

static void requests_are_checked(void **state)
{
    struct world *world = *state;
    static const char *const bad_glob[] = {"[z", NULL};
    struct authority_label labels[65];
    size_t grants = count_grants(world);
    struct authority_request request;

#define BAD(change, code)                                                                          \
    do {                                                                                           \
        request = world_request(world);                                                            \
        change;                                                                                    \
        refuse_request(world, &request, code);                                                     \
    } while (0)
    BAD(request.subject.id = NULL, ERR_INVALID_ARGUMENT);
    BAD(request.root.id = NULL, ERR_INVALID_ARGUMENT);
    BAD(request.root.path = NULL, ERR_INVALID_ARGUMENT);
    BAD(request.root.path = "relative", ERR_INVALID_ARGUMENT);
    BAD(request.root.path = "", ERR_INVALID_ARGUMENT);
    BAD(request.reason = NULL, ERR_INVALID_ARGUMENT);
    BAD(request.reason = "", ERR_INVALID_ARGUMENT);
    BAD(request.access = 0, ERR_INVALID_ARGUMENT);
    BAD(request.access = AUTHORITY_READ | 1 << 8, ERR_INVALID_ARGUMENT);
    BAD(request.root.kind = (enum authority_root_kind)99, ERR_DENIED_BY_POLICY);
    BAD(request.limits.denied_globs = bad_glob, ERR_INVALID_ARGUMENT);
    BAD(request.limits.allowed_globs = bad_glob, ERR_INVALID_ARGUMENT);
    for (size_t i = 0; i < array_size(labels); i++)
        labels[i] = (struct authority_label){"key", "value"};
    BAD((request.root.labels = labels, request.root.label_count = 65), ERR_TOO_LARGE);
#undef BAD
    assert_int_equal(count_grants(world), grants);
}

static void hard_links_are_not_allowed_where_something_is_written(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);

    request.limits.hardlinks = AUTHORITY_HARDLINKS_ALLOW;
    refuse_request(world, &request, ERR_DENIED_BY_POLICY);
    for (unsigned bit = 1; bit < AUTHORITY_ALL_ACCESS; bit <<= 1) {
        request.access = AUTHORITY_READ | bit;
        if (bit == AUTHORITY_WRITE || bit == AUTHORITY_DELETE || bit == AUTHORITY_MOVE)
            refuse_request(world, &request, ERR_DENIED_BY_POLICY);
        else
            accept_request(world, &request);
    }
    request.access = AUTHORITY_READ;
    request.root.kind = AUTHORITY_KNOWLEDGE;
    refuse_request(world, &request, ERR_DENIED_BY_POLICY);
    request.limits.hardlinks = AUTHORITY_HARDLINKS_READ;
    refuse_request(world, &request, ERR_DENIED_BY_POLICY);
    request.root.kind = AUTHORITY_WORKSPACE;
    request.access = AUTHORITY_ALL_ACCESS;
    accept_request(world, &request);
}

/* ---- access ---- */

static void every_operation_needs_its_access(void **state)
{
    struct world *world = *state;

    attempts_prepare(world);
    freeze(world);
    for (size_t i = 0; i < array_size(attempts); i++) {
        const struct attempt *attempt = &attempts[i];

        if (!attempt_runs_here(world, attempt))
            continue;
        for (unsigned bit = 1; bit < AUTHORITY_ALL_ACCESS; bit <<= 1) {
            struct authority_request request = world_request(world);
            struct authority_scope *scope;
            int r;

            if ((attempt->access & bit) == 0)
                continue;
            request.access = AUTHORITY_ALL_ACCESS & ~bit;
            scope = world_open(world, &request);
            r = attempt_run(world, scope, attempt, str_from(attempt->good));
            if (r != ERR_ACCESS_MISSING)
                fail_msg("%s without %s gave %s", attempt->label,
                         authority_access_name((enum authority_access)bit),
                         r < 0 ? err_name(r) : "success");
            assert_frozen(world);
            authority_scope_free(scope);
        }
    }
}

static void every_operation_needs_no_more_than_its_access(void **state)
{
    struct world *outer = *state;

    for (size_t i = 0; i < array_size(attempts); i++) {
        const struct attempt *attempt = &attempts[i];
        struct authority_request request;
        struct authority_scope *scope;
        struct world *world;
        void *inner;

        if (!attempt_runs_here(outer, attempt))
            continue;
        world_setup_like(outer, &inner);
        world = inner;
        attempts_prepare(world);
        request = world_request(world);
        request.access = attempt->access;
        scope = world_open(world, &request);
        if (attempt_run(world, scope, attempt, str_from(attempt->good)) != 0)
            fail_msg("%s gave %s", attempt->label, world->err.message);
        authority_scope_free(scope);
        teardown(&inner);
    }
}

/* ---- time ---- */

static void a_grant_ends_at_its_time(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    size_t before = count_grants(world);
    struct authority_scope *scope;

    attempts_prepare(world);
    request.expires_ms = WORLD_START_MS + 1000;
    scope = world_open(world, &request);
    clock_fake_advance(&world->clock, 999);
    assert_ok(world, attempt_read_bytes(world, scope, STR("file")));
    assert_int_equal(count_grants(world), before + 1);
    clock_fake_advance(&world->clock, 1);
    attempt_all(world, scope, STR("file"), ERR_GRANT_EXPIRED);
    assert_int_equal(count_grants(world), before);
    authority_scope_free(scope);
}

static void ignore_change(void *data, enum authority_change change, struct str name)
{
    (void)change;
    (void)name;
    ++*(size_t *)data;
}

static void a_watch_ends_with_its_grant(void **state)
{
    struct world *world = *state;

    for (int revoked = 0; revoked < 2; revoked++) {
        struct authority_request request = world_request(world);
        struct authority_watch *watch = NULL;
        struct authority_scope *scope;
        size_t changes = 0;
        int fd = -1;

        request.expires_ms = clock_wall_ms(&world->clock) + 1000;
        scope = world_open(world, &request);
        assert_ok(world, authority_watch(scope, STR_EMPTY, &watch, &fd, &world->err));
        plant(world, WORLD_ROOT, revoked ? "a" : "b", "x");
        assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, PATIENCE_MS), 1);
        assert_int_equal(authority_watch_read(watch, ignore_change, &changes), 0);
        assert_true(changes > 0);
        changes = 0;
        plant(world, WORLD_ROOT, revoked ? "c" : "d", "x");
        if (revoked)
            assert_true(authority_revoke(world->authority, authority_scope_grant(scope)));
        else
            clock_fake_advance(&world->clock, 1000);
        assert_int_equal(authority_watch_read(watch, ignore_change, &changes),
                         revoked ? ERR_GRANT_REVOKED : ERR_GRANT_EXPIRED);
        assert_int_equal(changes, 0);
        authority_watch_free(watch);
        authority_scope_free(scope);
    }
}

/* ---- revoking ---- */

static void a_revoked_grant_is_over(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct authority_scope *scope = world_open(world, &request);
    uint64_t id = authority_scope_grant(scope);
    size_t before;

    attempts_prepare(world);
    before = count_grants(world);
    assert_false(authority_revoke(world->authority, 0));
    assert_false(authority_revoke(world->authority, UINT64_MAX));
    assert_true(authority_revoke(world->authority, id));
    assert_false(authority_revoke(world->authority, id));
    attempt_all(world, scope, STR("file"), ERR_GRANT_REVOKED);
    assert_int_equal(count_grants(world), before - 1);
    /* Of this scope alone. */
    assert_reads(world, world->scope, "spare", "spare");
    authority_scope_free(scope);
    assert_false(authority_revoke(world->authority, id));
}

struct revoker {
    struct world *world;
    uint64_t id;
    enum authority_operation at; /* AUTHORITY_OPERATIONS: any */
    size_t seen;
};

static void revoke_before(void *data, const struct authority_context *context,
                          struct authority_decision *decision)
{
    const struct revoker *revoker = data;

    (void)decision;
    if (revoker->at == AUTHORITY_OPERATIONS || revoker->at == context->operation)
        authority_revoke(revoker->world->authority, revoker->id);
}

static int revoke_at_intent(void *data, const struct authority_event *event)
{
    const struct revoker *revoker = data;

    if (event->outcome == AUTHORITY_INTENT)
        authority_revoke(revoker->world->authority, revoker->id);
    return 0;
}

static void an_operation_whose_grant_goes_on_the_way_does_nothing(void **state)
{
    struct world *world = *state;
    struct revoker revoker = {.world = world, .at = AUTHORITY_OPERATIONS};
    const struct authority_hook hook = {.id = "revoker", .before = revoke_before, .data = &revoker};

    attempts_prepare(world);
    freeze(world);
    for (int at_intent = 0; at_intent < 2; at_intent++)
        for (size_t i = 0; i < array_size(attempts); i++) {
            const struct attempt *attempt = &attempts[i];
            struct authority_request request = world_request(world);
            struct authority_scope *scope;
            int r;

            if (!attempt_runs_here(world, attempt) || (at_intent && !attempt->is_mutation))
                continue;
            scope = world_open(world, &request);
            revoker.id = authority_scope_grant(scope);
            if (at_intent)
                assert_int_equal(
                    authority_add_listener(world->authority, revoke_at_intent, &revoker), 0);
            else
                assert_int_equal(authority_add_hook(world->authority, &hook), 0);
            r = attempt_run(world, scope, attempt, str_from(attempt->good));
            if (r != ERR_GRANT_REVOKED)
                fail_msg("%s gave %s", attempt->label, r < 0 ? err_name(r) : "success");
            assert_frozen(world);
            authority_remove_listener(world->authority, revoke_at_intent, &revoker);
            authority_remove_hook(world->authority, "revoker");
            authority_scope_free(scope);
        }
}

/* The source's grant goes when the destination is being asked about. */
static void a_transfer_ends_with_either_grant(void **state)
{
    struct world *world = *state;

    attempts_prepare(world);
    freeze(world);
    for (int is_move = 0; is_move < 2; is_move++) {
        struct authority_request request = world_request(world);
        struct authority_scope *source = world_open(world, &request);
        struct revoker revoker = {
            .world = world, .id = authority_scope_grant(source), .at = AUTHORITY_OP_COPY_IN};
        const struct authority_hook hook = {
            .id = "revoker", .before = revoke_before, .data = &revoker};

        assert_int_equal(authority_add_hook(world->authority, &hook), 0);
        if (is_move)
            assert_refused(
                world,
                authority_move_in(world->scope, STR("x"), source, STR("spare"), NULL, &world->err),
                ERR_GRANT_REVOKED);
        else
            assert_refused(
                world,
                authority_copy_in(world->scope, STR("x"), source, STR("spare"), NULL, &world->err),
                ERR_GRANT_REVOKED);
        assert_frozen(world);
        authority_remove_hook(world->authority, "revoker");
        authority_scope_free(source);
    }
}

static int revoke_on_visit(void *data, const struct authority_entry *entry)
{
    struct revoker *revoker = data;

    (void)entry;
    if (++revoker->seen == 3)
        assert_true(authority_revoke(revoker->world->authority, revoker->id));
    return 0;
}

static void a_long_look_ends_with_its_grant(void **state)
{
    struct world *world = *state;
    enum { MANY = 300 };

    for (int i = 0; i < MANY; i++) {
        char name[16];

        snprintf(name, sizeof(name), "f%d", i);
        plant(world, WORLD_ROOT, name, "");
    }
    for (int is_walk = 0; is_walk < 2; is_walk++) {
        struct authority_request request = world_request(world);
        struct authority_scope *scope = world_open(world, &request);
        struct revoker revoker = {.world = world, .id = authority_scope_grant(scope)};

        if (is_walk)
            assert_refused(
                world,
                authority_walk(scope, STR_EMPTY, NULL, revoke_on_visit, &revoker, &world->err),
                ERR_GRANT_REVOKED);
        else
            assert_refused(
                world,
                authority_list(scope, STR_EMPTY, NULL, revoke_on_visit, &revoker, &world->err),
                ERR_GRANT_REVOKED);
        assert_true(revoker.seen < MANY / 2);
        authority_scope_free(scope);
    }
}

static struct revoker *revoker_of_copy;

/* SAFETY: takes the place of the libc's, which does the same call and nothing else. */
ssize_t copy_instead(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t len,
                     unsigned flags) __asm__("copy_file_range");

ssize_t copy_instead(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t len,
                     unsigned flags)
{
    if (revoker_of_copy != NULL) {
        revoker_of_copy->seen++;
        authority_revoke(revoker_of_copy->world->authority, revoker_of_copy->id);
    }
    return syscall(SYS_copy_file_range, from, from_offset, to, to_offset, len, flags);
}

/* Within one step, of which a large file takes many. */
static void a_long_copy_ends_with_its_grant(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct authority_scope *scope = world_open(world, &request);
    struct revoker revoker = {.world = world, .id = authority_scope_grant(scope)};
    int r;

    plant_to_copy(world, WORLD_ROOT, "long");
    revoker_of_copy = &revoker;
    r = authority_copy(scope, STR("long"), STR("copy"), NULL, &world->err);
    revoker_of_copy = NULL;
    if (revoker.seen > 0) { /* a file system with reflinks has no steps */
        assert_int_equal(revoker.seen, 1);
        assert_int_equal(r, ERR_GRANT_REVOKED);
        assert_false(is_there(world, WORLD_ROOT, "copy"));
    }
    authority_scope_free(scope);
}

/* ---- telling ---- */

struct noted_grant {
    uint64_t id;
    bool is_found;
    char path[WORLD_PATH_BYTES];
};

static void note_grant(void *data, const struct authority_grant *grant)
{
    struct noted_grant *noted = data;

    if (grant->id != noted->id)
        return;
    noted->is_found = true;
    snprintf(noted->path, sizeof(noted->path), "%s", grant->root.path);
    assert_int_equal(grant->subject.type, AUTHORITY_AGENT_RUN);
    assert_string_equal(grant->subject.id, "talk");
    assert_string_equal(grant->subject.run_id, "run-1");
    assert_int_equal(grant->root.kind, AUTHORITY_WORKSPACE);
    assert_string_equal(grant->root.id, "gone");
    assert_string_equal(grant->root.display_name, "Shown");
    assert_int_equal(grant->root.label_count, 1);
    assert_string_equal(grant->root.labels[0].key, "colour");
    assert_string_equal(grant->root.labels[0].value, "blue");
    assert_int_equal(grant->access, AUTHORITY_READ | AUTHORITY_LIST);
    assert_int_equal(grant->source, AUTHORITY_FROM_USER_APPROVAL);
    assert_int_equal(grant->expires_ms, WORLD_START_MS + 5);
    assert_string_equal(grant->reason, "because");
    assert_false(grant->is_revoked);
}

/* All of a request is copied: the caller's strings may go. */
static void grants_are_listed_with_all_they_are(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct noted_grant noted = {0};
    char id[] = "gone";
    char reason[] = "because";
    char shown[] = "Shown";
    char value[] = "blue";
    struct authority_label label = {"colour", value};
    struct authority_scope *scope;

    request.root.id = id;
    request.root.display_name = shown;
    request.root.labels = &label;
    request.root.label_count = 1;
    request.reason = reason;
    request.access = AUTHORITY_READ | AUTHORITY_LIST;
    request.expires_ms = WORLD_START_MS + 5;
    scope = world_open(world, &request);
    id[0] = reason[0] = shown[0] = value[0] = '\0';
    label = (struct authority_label){NULL, NULL};
    noted.id = authority_scope_grant(scope);
    authority_grants(world->authority, note_grant, &noted);
    assert_true(noted.is_found);
    assert_string_equal(noted.path, world->paths[WORLD_ROOT]);
    authority_scope_free(scope);
    noted.is_found = false;
    authority_grants(world->authority, note_grant, &noted);
    assert_false(noted.is_found);
}

static const struct json_value *find_exported(const struct json_value *list, uint64_t id)
{
    json_each_item (item, list) {
        int64_t grant = 0;

        if (json_get_int(item, STR("grant"), &grant) && (uint64_t)grant == id)
            return item;
    }
    return NULL;
}

static void assert_member(const struct json_value *object, struct str key, const char *text)
{
    struct str value;

    assert_true(json_get_str(object, key, &value));
    assert_true(str_eq_c(value, text));
}

/* A workspace is named by where it lies, so that a sandbox can mount it. */
static void assert_workspace_path(const struct world *world, const struct json_value *grant)
{
    struct stat about;
    struct str path;
    char text[PATH_MAX];

    assert_non_null(grant);
    if (world->is_memory) {
        assert_null(json_get(grant, STR("path")));
        return;
    }
    assert_true(json_get_str(grant, STR("path"), &path));
    snprintf(text, sizeof(text), "%.*s", STR_ARG(path));
    assert_int_equal(stat(text, &about), 0);
    assert_true(S_ISDIR(about.st_mode));
    assert_int_equal(about.st_mode & 07777, 0700);
}

static void grants_are_exported_for_a_sandbox(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    cleanup_buf struct buf out = BUF_INIT(1 << 20);
    cleanup_arena struct arena arena = ARENA_INIT(1 << 20);
    const struct json_value *list = NULL;
    const struct json_value *grant;
    const struct json_value *subject;
    const struct json_value *access;
    struct authority_scope *scope;
    struct authority_scope *revoked;
    struct authority_scope *temp = NULL;

    request.access = AUTHORITY_READ | AUTHORITY_METADATA;
    request.expires_ms = WORLD_START_MS + 1;
    scope = world_open(world, &request);
    revoked = world_open(world, &request);
    assert_true(authority_revoke(world->authority, authority_scope_grant(revoked)));
    assert_ok(world, authority_create_temp(world->authority, &request.subject, "work", &temp,
                                           &world->err));
    assert_int_equal(authority_export_grants(world->authority, &out), 0);
    assert_int_equal(json_parse(&arena, buf_view(&out), JSON_LIMITS_DEFAULT, &list, &world->err),
                     0);
    assert_int_equal(list->type, JSON_ARRAY);
    assert_int_equal(list->size, 4); /* the world's two, this one, and the temporary one */
    assert_null(find_exported(list, authority_scope_grant(revoked)));
    grant = find_exported(list, authority_scope_grant(scope));
    assert_non_null(grant);
    assert_member(grant, STR("kind"), "workspace");
    assert_member(grant, STR("id"), "main");
    assert_member(grant, STR("path"), world->paths[WORLD_ROOT]);
    assert_member(grant, STR("source"), authority_source_name(AUTHORITY_FROM_USER_APPROVAL));
    assert_member(grant, STR("expiresAt"), "2026-03-02T11:00:00.001Z");
    subject = json_get(grant, STR("subject"));
    assert_non_null(subject);
    assert_member(subject, STR("id"), "talk");
    assert_member(subject, STR("runId"), "run-1");
    access = json_get(grant, STR("access"));
    assert_non_null(access);
    assert_int_equal(access->size, 2);
    assert_true(str_eq_c(json_str(access + 1), "read"));
    assert_true(str_eq_c(json_str(access + 2), "metadata"));
    grant = find_exported(list, authority_scope_grant(world->scope));
    assert_non_null(grant);
    assert_null(json_get(grant, STR("expiresAt")));
    assert_workspace_path(world, find_exported(list, authority_scope_grant(temp)));
    authority_scope_free(temp);
    authority_scope_free(revoked);
    authority_scope_free(scope);
}

/* ---- several threads ---- */

enum { CROWD = 4, CROWD_ROUNDS = 200 };

static void *come_and_go(void *data)
{
    struct world *world = data;
    const struct authority_subject subject = {.type = AUTHORITY_CORE, .id = "crowd"};
    struct authority_request request = world_request(world);
    size_t failures = 0;

    for (int i = 0; i < CROWD_ROUNDS; i++) {
        struct authority_scope *scope = NULL;
        struct authority_scope *temp = NULL;
        bool exists = true;

        failures += authority_request_root(world->authority, &request, &scope, NULL) < 0 ||
                    authority_exists(scope, STR("missing"), &exists, NULL) < 0 || exists;
        if (i % 8 == 0)
            failures +=
                authority_create_temp(world->authority, &subject, "a place", &temp, NULL) < 0;
        failures += count_grants(world) == 0;
        failures +=
            scope != NULL && !authority_revoke(world->authority, authority_scope_grant(scope));
        authority_scope_free(temp);
        authority_scope_free(scope);
    }
    return (void *)(uintptr_t)failures;
}

static void grants_come_and_go_in_several_threads(void **state)
{
    struct world *world = *state;
    size_t grants = count_grants(world);
    pthread_t threads[CROWD];

    for (size_t i = 0; i < array_size(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, world), 0);
    for (size_t i = 0; i < array_size(threads); i++) {
        void *failures;

        assert_int_equal(pthread_join(threads[i], &failures), 0);
        assert_null(failures);
    }
    assert_int_equal(count_grants(world), grants);
}

TEST_MAIN(EVERYWHERE(requests_are_checked),
          EVERYWHERE(hard_links_are_not_allowed_where_something_is_written),
          EVERYWHERE(every_operation_needs_its_access),
          EVERYWHERE(every_operation_needs_no_more_than_its_access),
          EVERYWHERE(a_grant_ends_at_its_time), ON_DISK(a_watch_ends_with_its_grant),
          EVERYWHERE(a_revoked_grant_is_over),
          EVERYWHERE(an_operation_whose_grant_goes_on_the_way_does_nothing),
          EVERYWHERE(a_transfer_ends_with_either_grant),
          EVERYWHERE(a_long_look_ends_with_its_grant), ON_DISK(a_long_copy_ends_with_its_grant),
          EVERYWHERE(grants_are_listed_with_all_they_are),
          EVERYWHERE(grants_are_exported_for_a_sandbox),
          EVERYWHERE(grants_come_and_go_in_several_threads))
