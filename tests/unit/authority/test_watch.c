/* SPDX-License-Identifier: Apache-2.0 */
/* What a watch reports, to whom, and how it ends. */
#include "attempts.h"

#include <pthread.h>
#include <sched.h>

#include "gatehouse/audit.h"

enum { MAX_WORDS = 2048 };

/* Words about changes, each with a space behind it. */
struct words {
    struct world *world;
    char text[MAX_WORDS];
    uint64_t request_id;
    char source[64];
    char wrappers[64];
    size_t operations; /* events of those */
};

static void add_word(struct words *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_word(struct words *words, const char *format, ...)
{
    size_t at = strlen(words->text);
    va_list args;

    va_start(args, format);
    vsnprintf(words->text + at, sizeof(words->text) - at, format, args);
    va_end(args);
}

static int note_event(void *data, const struct authority_event *event)
{
    struct words *words = data;

    if (event->outcome != AUTHORITY_NOTICED) {
        words->operations++;
        if (event->operation == AUTHORITY_OP_WATCH)
            words->request_id = event->request_id;
        return 0;
    }
    assert_int_equal(event->operation, AUTHORITY_OP_WATCH);
    assert_int_equal(event->error, 0);
    assert_int_equal(event->destination.len, 0);
    assert_int_equal(event->request_id, words->request_id);
    assert_int_equal(event->wall_ms, clock_wall_ms(&words->world->clock));
    assert_string_equal(event->subject->id, "talk");
    assert_string_equal(event->subject->run_id, "run-1");
    assert_string_equal(event->root->id, "main");
    assert_null(event->root->path);
    assert_string_equal(event->reason, "a test");
    snprintf(words->source, sizeof(words->source), "%s", event->policy_source);
    words->wrappers[0] = '\0';
    for (size_t i = 0; i < event->wrapper_count; i++) {
        size_t at = strlen(words->wrappers);

        snprintf(words->wrappers + at, sizeof(words->wrappers) - at, "%s,", event->wrapper_ids[i]);
    }
    add_word(words, "%s:%.*s ", authority_change_name(event->change), STR_ARG(event->name));
    return ERR_IO; /* nobody minds */
}

static void note_report(void *data, enum authority_change change, struct str name)
{
    add_word(data, "%s(%.*s) ", authority_change_name(change), STR_ARG(name));
}

/* Both in one, which shows who was told first. */
static void listen(struct world *world, struct words *words)
{
    *words = (struct words){.world = world};
    assert_int_equal(authority_add_listener(world->authority, note_event, words), 0);
}

static struct authority_watch *watch_dir(struct world *world, struct authority_scope *scope,
                                         const char *name)
{
    struct authority_watch *watch = NULL;
    int fd = -1;

    assert_ok(world, authority_watch(scope, str_from(name), &watch, &fd, &world->err));
    assert_non_null(watch);
    return watch;
}

static void assert_told(struct authority_watch *watch, struct words *words, const char *text)
{
    words->text[0] = '\0';
    assert_int_equal(authority_watch_read(watch, note_report, words), 0);
    assert_string_equal(words->text, text);
}

/* An empty file, so that its coming is all there is to tell. */
static void touch(struct world *world, const char *name)
{
    assert_int_equal(mknodat(world->fds[WORLD_ROOT], name, S_IFREG | 0644, 0), 0);
}

/* ---- to whom ---- */

static void allow(void *data, const struct authority_context *context,
                  struct authority_decision *decision)
{
    (void)data;
    (void)context;
    decision->verdict = AUTHORITY_ALLOW;
}

static void listeners_are_told_each_change_before_the_reader(void **state)
{
    struct world *world = *state;
    struct authority_watch *watch;
    struct words words;

    plant_dir(world, WORLD_ROOT, "w");
    plant_dir(world, WORLD_ROOT, "w/below");
    plant_link(world, "link", "w");
    listen(world, &words);
    for (int i = 0; i < 2; i++) {
        watch = watch_dir(world, i == 0 ? world->scope : world->following,
                          i == 0 ? "w/below" : "link/../w/below");
        touch(world, "w/below/f");
        assert_told(watch, &words, "created:w/below/f created(f) ");
        assert_int_equal(fchmodat(world->fds[WORLD_ROOT], "w/below/f", 0600, 0), 0);
        assert_told(watch, &words, "changed:w/below/f changed(f) ");
        assert_int_equal(unlinkat(world->fds[WORLD_ROOT], "w/below/f", 0), 0);
        assert_told(watch, &words, "removed:w/below/f removed(f) ");
        assert_string_equal(words.source, "default");
        assert_string_equal(words.wrappers, "");
        /* Reading is no operation: there was the watch alone. */
        assert_int_equal(words.operations, i + 1);
        /* For those who listen anyway. */
        touch(world, "w/below/g");
        words.text[0] = '\0';
        assert_int_equal(authority_watch_read(watch, NULL, NULL), 0);
        assert_string_equal(words.text, "created:w/below/g ");
        assert_int_equal(unlinkat(world->fds[WORLD_ROOT], "w/below/g", 0), 0);
        authority_watch_free(watch);
    }
    watch = watch_dir(world, world->scope, "w/below");
    assert_int_equal(unlinkat(world->fds[WORLD_ROOT], "w/below", AT_REMOVEDIR), 0);
    assert_told(watch, &words, "rescan:w/below rescan() ");
    authority_watch_free(watch);
    watch = watch_dir(world, world->scope, "");
    touch(world, "f");
    assert_told(watch, &words, "created:f created(f) ");
    /* Without listeners the reader is told all the same. */
    authority_remove_listener(world->authority, note_event, &words);
    touch(world, "g");
    assert_told(watch, &words, "created(g) ");
    authority_watch_free(watch);
}

/* Also when they are long gone, with their names. */
static void a_change_bears_what_let_its_watch_through(void **state)
{
    struct world *world = *state;
    struct authority_watch *watch;
    struct words words;
    char policy_id[] = "rules";
    char hook_id[] = "guard";
    const struct authority_hook silent = {.id = "silent"};
    const struct authority_hook hook = {.id = hook_id, .before = allow};

    listen(world, &words);
    authority_set_policy(world->authority, policy_id, allow, NULL);
    watch = watch_dir(world, world->scope, "");
    touch(world, "a");
    assert_told(watch, &words, "created:a created(a) ");
    assert_string_equal(words.source, "rules");
    authority_watch_free(watch);

    assert_int_equal(authority_add_hook(world->authority, &silent), 0);
    assert_int_equal(authority_add_hook(world->authority, &hook), 0);
    watch = watch_dir(world, world->scope, "");
    authority_set_policy(world->authority, "later", NULL, NULL);
    assert_true(authority_remove_hook(world->authority, hook_id));
    memset(policy_id, 'x', sizeof(policy_id));
    memset(hook_id, 'x', sizeof(hook_id));
    touch(world, "b");
    assert_told(watch, &words, "created:b created(b) ");
    assert_string_equal(words.source, "guard");
    assert_string_equal(words.wrappers, "silent,guard,");
    authority_watch_free(watch);
}

static void denied_names_are_told_to_nobody(void **state)
{
    struct world *world = *state;
    static const char *const denied[] = {"w/*.key", NULL};
    struct authority_scope *scope =
        world_open_limited(world, &(struct authority_limits){.denied_globs = denied});
    struct authority_watch *watch;
    struct words words;

    plant_dir(world, WORLD_ROOT, "w");
    listen(world, &words);
    watch = watch_dir(world, scope, "w");
    touch(world, "w/my.key");
    touch(world, "w/.gatehouse-mine");
    touch(world, "w/note");
    assert_told(watch, &words, "created:w/note created(note) ");
    authority_watch_free(watch);
    authority_scope_free(scope);
}

/* ---- the end of a grant ---- */

struct ender {
    struct world *world;
    struct authority_scope *scope;
    struct authority_watch *watch;
    bool by_time;
    bool frees_scope;
    bool frees_watch;
    int nested; /* what reading it again gave */
    size_t told;
};

static void end_grant(struct ender *ender)
{
    if (ender->by_time)
        clock_fake_advance(&ender->world->clock, 1000);
    else
        assert_true(authority_revoke(ender->world->authority, authority_scope_grant(ender->scope)));
}

static void after_grant_ends_nothing_is_told(void **state)
{
    struct world *world = *state;

    for (int by_time = 0; by_time < 2; by_time++) {
        struct authority_request request = world_request(world);
        struct ender ender = {.world = world, .by_time = by_time != 0};
        struct words words;

        request.expires_ms = clock_wall_ms(&world->clock) + 1000;
        ender.scope = world_open(world, &request);
        listen(world, &words);
        ender.watch = watch_dir(world, ender.scope, "");
        touch(world, by_time ? "a" : "b");
        end_grant(&ender);
        assert_int_equal(authority_watch_read(ender.watch, note_report, &words),
                         by_time ? ERR_GRANT_EXPIRED : ERR_GRANT_REVOKED);
        assert_string_equal(words.text, "");
        authority_remove_listener(world->authority, note_event, &words);
        authority_watch_free(ender.watch);
        authority_scope_free(ender.scope);
    }
}

static int end_on_event(void *data, const struct authority_event *event)
{
    struct ender *ender = data;

    if (event->outcome == AUTHORITY_NOTICED && ender->told++ == 0)
        end_grant(ender);
    return 0;
}

static void end_on_report(void *data, enum authority_change change, struct str name)
{
    struct ender *ender = data;

    (void)change;
    (void)name;
    if (ender->told++ == 0)
        end_grant(ender);
}

static void count_report(void *data, enum authority_change change, struct str name)
{
    (void)change;
    (void)name;
    ++*(size_t *)data;
}

static void a_grant_that_ends_in_the_middle_ends_the_telling(void **state)
{
    struct world *world = *state;

    for (int way = 0; way < 4; way++) {
        bool by_listener = (way & 1) != 0;
        struct authority_request request = world_request(world);
        struct ender ender = {.world = world, .by_time = (way & 2) != 0};
        char names[2][8];
        size_t reported = 0;
        int r;

        request.expires_ms = clock_wall_ms(&world->clock) + 1000;
        ender.scope = world_open(world, &request);
        ender.watch = watch_dir(world, ender.scope, "");
        for (int i = 0; i < 2; i++) {
            snprintf(names[i], sizeof(names[i]), "f%d%d", way, i);
            touch(world, names[i]);
        }
        if (by_listener) {
            assert_int_equal(authority_add_listener(world->authority, end_on_event, &ender), 0);
            r = authority_watch_read(ender.watch, count_report, &reported);
            authority_remove_listener(world->authority, end_on_event, &ender);
        } else {
            r = authority_watch_read(ender.watch, end_on_report, &ender);
        }
        assert_int_equal(r, ender.by_time ? ERR_GRANT_EXPIRED : ERR_GRANT_REVOKED);
        assert_int_equal(ender.told, 1);
        assert_int_equal(reported, 0);
        authority_watch_free(ender.watch);
        authority_scope_free(ender.scope);
    }
}

/* ---- the end of a scope ---- */

static void a_watch_outlives_its_scope_and_tells_nothing(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct authority_scope *scope = world_open(world, &request);
    struct authority_watch *watches[3];
    struct authority_watch *other = watch_dir(world, world->scope, "");
    size_t before = world_count_fds();
    struct words words;

    for (size_t i = 0; i < array_size(watches); i++)
        watches[i] = watch_dir(world, scope, "");
    listen(world, &words);
    touch(world, "f");
    authority_watch_free(watches[1]);
    authority_scope_free(scope);
    /* The root's own descriptor went too. */
    assert_int_equal(world_count_fds(), before - 1);
    assert_int_equal(authority_watch_read(watches[0], note_report, &words), ERR_GRANT_REVOKED);
    assert_int_equal(authority_watch_read(watches[2], note_report, &words), ERR_GRANT_REVOKED);
    assert_string_equal(words.text, "");
    authority_watch_free(watches[0]);
    authority_watch_free(watches[2]);
    authority_remove_listener(world->authority, note_event, &words);
    assert_told(other, &words, "created(f) ");
    authority_watch_free(other);
}

/* With the authority the scopes go, too. */
static void a_watch_outlives_its_authority(void **state)
{
    struct world *outer = *state;
    struct authority_watch *watch;
    void *inner;

    world_setup_like(outer, &inner);
    watch = watch_dir(inner, ((struct world *)inner)->scope, "");
    teardown(&inner);
    assert_int_equal(authority_watch_read(watch, count_report, NULL), ERR_GRANT_REVOKED);
    authority_watch_free(watch);
}

static void free_on_report(void *data, enum authority_change change, struct str name)
{
    struct ender *ender = data;

    (void)change;
    (void)name;
    ender->told++;
    ender->nested = authority_watch_read(ender->watch, free_on_report, ender);
    if (ender->frees_scope)
        authority_scope_free(ender->scope);
    if (ender->frees_watch)
        authority_watch_free(ender->watch);
}

static void a_report_may_free_the_watch_and_its_scope(void **state)
{
    struct world *world = *state;

    for (int way = 1; way < 4; way++) {
        struct authority_request request = world_request(world);
        struct ender ender = {.world = world,
                              .scope = world_open(world, &request),
                              .frees_scope = (way & 1) != 0,
                              .frees_watch = (way & 2) != 0};
        char names[2][8];

        ender.watch = watch_dir(world, ender.scope, "");
        for (int i = 0; i < 2; i++) {
            snprintf(names[i], sizeof(names[i]), "f%d%d", way, i);
            touch(world, names[i]);
        }
        assert_int_equal(authority_watch_read(ender.watch, free_on_report, &ender),
                         ERR_GRANT_REVOKED);
        assert_int_equal(ender.told, 1);
        assert_int_equal(ender.nested, ERR_BUSY);
        if (!ender.frees_watch)
            authority_watch_free(ender.watch);
        if (!ender.frees_scope)
            authority_scope_free(ender.scope);
    }
}

/* ---- how many ---- */

static int watch_nothing(struct backend_root *root, const struct backend_lookup *lookup,
                         struct str name, struct backend_watch **out_watch, int *out_fd)
{
    (void)root;
    (void)lookup;
    (void)name;
    *out_watch = malloc(1);
    *out_fd = 0;
    return *out_watch != NULL ? 0 : ERR_NO_MEMORY;
}

static void free_nothing(struct backend_watch *watch)
{
    free(watch);
}

/* The system would give fewer. */
static void a_scope_has_only_so_many_watches(void **state)
{
    struct world *world = *state;
    static struct authority_watch *watches[AUTHORITY_MAX_WATCHES];
    const struct backend_ops *real = world->authority->backend->ops;
    struct authority_watch *watch = NULL;
    struct backend_ops ops = *real;
    int fd = -1;

    ops.watch = watch_nothing;
    ops.watch_free = free_nothing;
    world->authority->backend->ops = &ops;
    for (size_t i = 0; i < AUTHORITY_MAX_WATCHES; i++)
        watches[i] = watch_dir(world, world->scope, "");
    assert_refused(world, authority_watch(world->scope, STR_EMPTY, &watch, &fd, &world->err),
                   ERR_BUSY);
    assert_null(watch);
    assert_int_equal(fd, -1);
    authority_watch_free(watches[7]);
    watches[7] = watch_dir(world, world->scope, "");
    for (size_t i = 0; i < AUTHORITY_MAX_WATCHES; i++)
        authority_watch_free(watches[i]);
    world->authority->backend->ops = real;
}

/* Others on this machine use up what a user may have of these for a moment. */
static int watch_patiently(struct authority_scope *scope, struct authority_watch **out_watch)
{
    enum { TRIES = 100000 };
    int r = ERR_TOO_MANY_FILES;
    int fd;

    for (int i = 0; r == ERR_TOO_MANY_FILES && i < TRIES; i++) {
        r = authority_watch(scope, STR_EMPTY, out_watch, &fd, NULL);
        if (r == ERR_TOO_MANY_FILES)
            sched_yield();
    }
    return r;
}

static void *make_and_free(void *data)
{
    enum { ROUNDS = 200 };
    struct authority_scope *scope = data;
    size_t failed = 0;

    for (int i = 0; i < ROUNDS; i++) {
        struct authority_watch *watch = NULL;

        failed +=
            watch_patiently(scope, &watch) != 0 || authority_watch_read(watch, NULL, NULL) != 0;
        authority_watch_free(watch);
    }
    return (void *)(uintptr_t)failed;
}

static void threads_make_and_free_watches_of_one_scope(void **state)
{
    struct world *world = *state;
    pthread_t threads[4];
    void *failed[array_size(threads)];

    for (size_t i = 0; i < array_size(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_and_free, world->scope), 0);
    /* All of them before anything is asserted: they use the world. */
    for (size_t i = 0; i < array_size(threads); i++)
        pthread_join(threads[i], &failed[i]);
    for (size_t i = 0; i < array_size(threads); i++)
        assert_null(failed[i]);
    assert_int_equal(world->scope->watch_count, 0);
    assert_true(list_is_empty(&world->scope->watches));
}

/* ---- the record on disk ---- */

static int count_record(void *data, const struct json_value *record)
{
    struct str operation;

    assert_true(json_get_str(record, STR("operation"), &operation));
    assert_str(operation, "watch");
    ++*(size_t *)data;
    return 0;
}

static void the_audit_records_the_watch_and_not_what_it_tells(void **state)
{
    struct world *world = *state;
    cleanup_fd int dir_fd = open(world->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct audit_config config = {.dir_fd = dir_fd, .name = "audit.jsonl"};
    struct audit_file *audit = NULL;
    struct authority_watch *watch;
    struct words words;
    uint64_t skipped = 9;
    struct stat size[2];
    size_t found = 0;

    assert_int_equal(audit_file_open(&config, &audit, &world->err), 0);
    assert_int_equal(authority_add_listener(world->authority, audit_file_record, audit), 0);
    listen(world, &words);
    watch = watch_dir(world, world->scope, "");
    assert_int_equal(fstatat(dir_fd, "audit.jsonl.reads", &size[0], 0), 0);
    touch(world, "f");
    assert_told(watch, &words, "created:f created(f) ");
    authority_watch_free(watch);
    assert_int_equal(fstatat(dir_fd, "audit.jsonl.reads", &size[1], 0), 0);
    assert_int_equal(size[0].st_size, size[1].st_size);
    assert_int_equal(
        audit_query(&config, &(struct audit_query){0}, count_record, &found, &skipped, &world->err),
        0);
    assert_int_equal(found, 1);
    assert_int_equal(skipped, 0);
    authority_remove_listener(world->authority, audit_file_record, audit);
    audit_file_close(audit);
}

static int write_line(void *data, const struct authority_event *event)
{
    struct buf *out = data;

    if (event->outcome == AUTHORITY_NOTICED) {
        assert_int_equal(audit_format(event, out), 0);
        assert_int_equal(buf_append_char(out, '\n'), 0);
    }
    return 0;
}

static int check_line(void *data, const struct json_value *record)
{
    char bytes[PATH_MAX];
    struct str text;
    size_t len;

    assert_true(json_get_str(record, STR("outcome"), &text));
    assert_str(text, "noticed");
    assert_true(json_get_str(record, STR("change"), &text));
    assert_str(text, "created");
    assert_true(audit_record_name(record, STR("relativePath"), bytes, &len));
    assert_str(((struct str){bytes, len}), "f");
    assert_null(json_get(record, STR("error")));
    ++*(size_t *)data;
    return 0;
}

/* A host may keep them in files of its own, and search those. */
static void what_another_sink_wrote_can_be_searched(void **state)
{
    struct world *world = *state;
    cleanup_fd int dir_fd = open(world->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct audit_config config = {.dir_fd = dir_fd, .name = "news.jsonl"};
    const struct audit_query queries[] = {
        {.outcome = STR("noticed")}, {.operation = STR("watch")}, {.name_prefix = STR("f")}, {0}};
    cleanup_buf struct buf lines = BUF_INIT(1 << 20);
    cleanup_fd int fd = -1;
    struct authority_watch *watch = watch_dir(world, world->scope, "");
    uint64_t skipped = 9;
    size_t found = 0;

    assert_int_equal(authority_add_listener(world->authority, write_line, &lines), 0);
    touch(world, "f");
    assert_int_equal(authority_watch_read(watch, NULL, NULL), 0);
    authority_watch_free(watch);
    fd = openat(dir_fd, config.name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, lines.data, lines.len), (ssize_t)lines.len);
    for (size_t i = 0; i < array_size(queries); i++) {
        assert_int_equal(
            audit_query(&config, &queries[i], check_line, &found, &skipped, &world->err), 0);
        assert_int_equal(found, i + 1);
        assert_int_equal(skipped, 0);
    }
    assert_int_equal(audit_query(&config, &(struct audit_query){.outcome = STR("success")},
                                 check_line, &found, &skipped, &world->err),
                     0);
    assert_int_equal(found, array_size(queries));
}

TEST_MAIN(ON_DISK(listeners_are_told_each_change_before_the_reader),
          ON_DISK(a_change_bears_what_let_its_watch_through),
          ON_DISK(denied_names_are_told_to_nobody), ON_DISK(after_grant_ends_nothing_is_told),
          ON_DISK(a_grant_that_ends_in_the_middle_ends_the_telling),
          ON_DISK(a_watch_outlives_its_scope_and_tells_nothing),
          ON_DISK(a_watch_outlives_its_authority),
          ON_DISK(a_report_may_free_the_watch_and_its_scope),
          ON_DISK(a_scope_has_only_so_many_watches),
          ON_DISK(threads_make_and_free_watches_of_one_scope),
          ON_DISK(the_audit_records_the_watch_and_not_what_it_tells),
          ON_DISK(what_another_sink_wrote_can_be_searched))
