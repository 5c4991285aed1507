/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log names the call for which something was done, and contains what the host did itself.
 */
#include "attempts.h"

#include <poll.h>
#include <pthread.h>

#include "gatehouse/audit.h"

static const struct authority_call call = {.tool = "file_read", .decision = "mode", .id = 7};

/* ---- Listeners ---- */

struct heard {
    size_t count;
    size_t of_call;
    uint64_t last_request;
    int answer;
    struct buf texts;
};

static int hear(void *data, const struct authority_event *event)
{
    struct heard *heard = data;

    heard->count++;
    heard->of_call += event->call == &call;
    heard->last_request = event->request_id;
    assert_null(event->root->path);
    assert_int_equal(
        buf_printf(&heard->texts, "%s %s '%.*s' '%.*s' %s %s %s\n",
                   authority_operation_name(event->operation),
                   authority_outcome_name(event->outcome), STR_ARG(event->name),
                   STR_ARG(event->destination), event->error < 0 ? err_name(event->error) : "-",
                   event->policy_source != NULL ? event->policy_source : "-", event->reason),
        0);
    return heard->answer;
}

static void heard_done(struct heard *heard)
{
    buf_done(&heard->texts);
}

#define cleanup_heard cleanup_with(heard_done)
#define HEARD_INIT                                                                                 \
    {                                                                                              \
        .texts = BUF_INIT(1 << 20)                                                                 \
    }

static void every_operation_of_a_call_says_so(void **state)
{
    struct world *world = *state;

    for (size_t i = 0; i < array_size(attempts); i++) {
        cleanup_heard struct heard heard = HEARD_INIT;
        void *other;

        if (!attempt_runs_here(world, &attempts[i]))
            continue;
        world_setup_like(world, &other);
        attempts_prepare(other);
        assert_int_equal(authority_add_listener(((struct world *)other)->authority, hear, &heard),
                         0);
        authority_call_begin(&call);
        attempt_run(other, ((struct world *)other)->scope, &attempts[i],
                    str_from(attempts[i].good));
        attempt_run(other, ((struct world *)other)->scope, &attempts[i], STR("../out"));
        authority_call_end();
        assert_true(heard.count >= 2);
        assert_int_equal(heard.of_call, heard.count);
        teardown(&other);
    }
}

static void after_its_end_nothing_is_of_a_call(void **state)
{
    struct world *world = *state;
    cleanup_heard struct heard heard = HEARD_INIT;

    assert_int_equal(authority_add_listener(world->authority, hear, &heard), 0);
    authority_call_begin(&call);
    authority_call_end();
    assert_refused(world, authority_mkdir(world->scope, STR("../x"), NULL, &world->err),
                   ERR_PATH_OUTSIDE_ROOT);
    assert_int_equal(heard.count, 1);
    assert_int_equal(heard.of_call, 0);
}

static void *make_directory(void *data)
{
    struct world *world = data;

    assert_int_equal(authority_mkdir(world->scope, STR("theirs"), NULL, NULL), 0);
    return NULL;
}

static void a_call_is_its_threads_own(void **state)
{
    struct world *world = *state;
    cleanup_heard struct heard heard = HEARD_INIT;
    pthread_t thread;

    assert_int_equal(authority_add_listener(world->authority, hear, &heard), 0);
    authority_call_begin(&call);
    assert_int_equal(pthread_create(&thread, NULL, make_directory, world), 0);
    pthread_join(thread, NULL);
    authority_call_end();
    assert_int_equal(heard.count, 2);
    assert_int_equal(heard.of_call, 0);
}

static void what_a_watch_tells_is_of_no_call(void **state)
{
    struct world *world = *state;
    cleanup_heard struct heard heard = HEARD_INIT;
    struct authority_watch *watch = NULL;
    int fd = -1;

    plant_dir(world, WORLD_ROOT, "dir");
    assert_int_equal(authority_add_listener(world->authority, hear, &heard), 0);
    authority_call_begin(&call);
    assert_ok(world, authority_watch(world->scope, STR("dir"), &watch, &fd, &world->err));
    authority_call_end();
    assert_int_equal(heard.of_call, 1);
    plant(world, WORLD_ROOT, "dir/new", "x");
    assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, PATIENCE_MS), 1);
    assert_int_equal(authority_watch_read(watch, NULL, NULL), 0);
    assert_true(heard.count > 1);
    assert_int_equal(heard.of_call, 1);
    authority_watch_free(watch);
}

/* ---- Notes ---- */

static struct authority_note refusal(void)
{
    return (struct authority_note){.operation = AUTHORITY_OP_READ,
                                   .name = STR("vault/key"),
                                   .outcome = AUTHORITY_DENIED,
                                   .error = ERR_DENIED_BY_POLICY,
                                   .policy_source = "deny-rule"};
}

static struct authority_note command(void)
{
    return (struct authority_note){.operation = AUTHORITY_OP_EXECUTE,
                                   .name = STR("make all"),
                                   .destination = STR("src"),
                                   .outcome = AUTHORITY_INTENT,
                                   .policy_source = "user",
                                   .reason = "the build"};
}

static void a_note_is_told_like_an_operation(void **state)
{
    struct world *world = *state;
    cleanup_heard struct heard heard = HEARD_INIT;
    struct authority_note refused = refusal();
    struct authority_note run = command();
    uint64_t intent;

    assert_int_equal(authority_add_listener(world->authority, hear, &heard), 0);
    authority_call_begin(&call);
    assert_int_equal(authority_note(world->scope, &refused), 0);
    assert_int_equal(authority_note(world->scope, &run), 0);
    intent = heard.last_request;
    assert_int_equal(run.request_id, intent);
    assert_true(intent > refused.request_id && refused.request_id > 0);
    run.outcome = AUTHORITY_SUCCESS;
    assert_int_equal(authority_note(world->scope, &run), 0);
    assert_int_equal(heard.last_request, intent);
    authority_call_end();
    assert_int_equal(heard.of_call, 3);
    assert_str(buf_view(&heard.texts),
               "read denied 'vault/key' '' denied_by_policy deny-rule a test\n"
               "execute intent 'make all' 'src' - user the build\n"
               "execute success 'make all' 'src' - user the build\n");
    /* An operation has another number. */
    assert_refused(world, authority_mkdir(world->scope, STR("../x"), NULL, &world->err),
                   ERR_PATH_OUTSIDE_ROOT);
    assert_true(heard.last_request > intent);
}

static void a_note_does_not_tell_where_the_root_is(void **state)
{
    struct world *world = *state;
    cleanup_heard struct heard heard = HEARD_INIT;
    char name[2 * WORLD_PATH_BYTES];
    struct authority_note refused = refusal();
    struct authority_note run = command();

    snprintf(name, sizeof(name), "%s/vault/key", world->paths[WORLD_ROOT]);
    refused.name = str_from(name);
    run.destination = str_from(world->paths[WORLD_ROOT]);
    assert_int_equal(authority_add_listener(world->authority, hear, &heard), 0);
    assert_int_equal(authority_note(world->scope, &refused), 0);
    assert_int_equal(authority_note(world->scope, &run), 0);
    assert_str(buf_view(&heard.texts),
               "read denied 'vault/key' '' denied_by_policy deny-rule a test\n"
               "execute intent 'make all' '' - user the build\n");
    /* A command is shown as it was given, since it is what will be run. */
    buf_clear(&heard.texts);
    run.name = str_from(name);
    run.request_id = 0;
    assert_int_equal(authority_note(world->scope, &run), 0);
    assert_true(str_find(buf_view(&heard.texts), str_from(name)) != SIZE_MAX);
}

static void an_intent_that_nobody_could_record_is_not_to_be_done(void **state)
{
    struct world *world = *state;
    cleanup_heard struct heard heard = HEARD_INIT;
    struct authority_note refused = refusal();
    struct authority_note run = command();

    heard.answer = ERR_NO_SPACE;
    assert_int_equal(authority_add_listener(world->authority, hear, &heard), 0);
    assert_int_equal(authority_note(world->scope, &run), ERR_AUDIT_UNAVAILABLE);
    assert_int_equal(authority_note(world->scope, &refused), 0);
    run.outcome = AUTHORITY_SUCCESS;
    assert_int_equal(authority_note(world->scope, &run), 0);
}

static void a_note_that_says_two_things_is_refused(void **state)
{
    struct world *world = *state;
    cleanup_heard struct heard heard = HEARD_INIT;
    struct authority_note notes[] = {refusal(), refusal(), refusal(), refusal(), command()};

    notes[0].error = 0;
    notes[1].outcome = AUTHORITY_SUCCESS;
    notes[2].outcome = AUTHORITY_NOTICED;
    notes[3].operation = AUTHORITY_OPERATIONS;
    notes[4].error = ERR_IO;
    assert_int_equal(authority_add_listener(world->authority, hear, &heard), 0);
    for (size_t i = 0; i < array_size(notes); i++)
        assert_int_equal(authority_note(world->scope, &notes[i]), ERR_INVALID_ARGUMENT);
    assert_int_equal(heard.count, 0);
}

static void a_refusal_is_recorded_after_the_grants_end(void **state)
{
    struct world *world = *state;
    cleanup_heard struct heard heard = HEARD_INIT;
    struct authority_note refused = refusal();

    assert_int_equal(authority_add_listener(world->authority, hear, &heard), 0);
    assert_true(authority_revoke(world->authority, authority_scope_grant(world->scope)));
    assert_int_equal(authority_note(world->scope, &refused), 0);
    assert_int_equal(heard.count, 1);
}

/* ---- In the files ---- */

static int count_record(void *data, const struct json_value *record)
{
    size_t *count = data;

    (void)record;
    ++*count;
    return 0;
}

static int check_call(void *data, const struct json_value *record)
{
    size_t *count = data;
    struct str tool;
    struct str decision;
    struct str id;

    assert_true(json_get_str(record, STR("tool"), &tool));
    assert_true(json_get_str(record, STR("decision"), &decision));
    assert_true(json_get_str(record, STR("callId"), &id));
    assert_str(tool, "file_read");
    assert_str(decision, "mode");
    assert_str(id, "7");
    ++*count;
    return 0;
}

static size_t lines_in(int dir_fd, const char *name)
{
    cleanup_fd int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    char block[4096];
    size_t lines = 0;
    ssize_t got;

    assert_true(fd >= 0);
    while ((got = read(fd, block, sizeof(block))) > 0)
        for (ssize_t i = 0; i < got; i++)
            lines += block[i] == '\n';
    return lines;
}

enum { FLOOD = 200, FIRST = 32 };

static void refusals_by_the_host_are_counted_like_others(void **state)
{
    struct world *world = *state;
    cleanup_fd int dir_fd = open(world->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct audit_config mine = {.dir_fd = dir_fd, .name = "audit.jsonl", .clock = &world->clock};
    struct audit_query executed = {.operation = STR("execute"), .outcome = STR("success")};
    struct audit_query refused = {.operation = STR("execute"), .outcome = STR("denied")};
    struct authority_note run = command();
    struct audit_file *audit = NULL;
    size_t count = 0;

    assert_int_equal(audit_file_open(&mine, &audit, &world->err), 0);
    assert_int_equal(authority_add_listener(world->authority, audit_file_record, audit), 0);
    authority_call_begin(&call);
    assert_int_equal(authority_note(world->scope, &run), 0);
    run.outcome = AUTHORITY_SUCCESS;
    assert_int_equal(authority_note(world->scope, &run), 0);
    for (unsigned i = 0; i < FLOOD; i++) {
        run = command();
        run.outcome = AUTHORITY_DENIED;
        run.error = ERR_DENIED_BY_POLICY;
        assert_int_equal(authority_note(world->scope, &run), 0);
    }
    authority_call_end();
    authority_remove_listener(world->authority, audit_file_record, audit);
    audit_file_flush(audit);
    assert_int_equal(audit_query(&mine, &executed, check_call, &count, NULL, NULL), 0);
    assert_int_equal(count, 1);
    count = 0;
    assert_int_equal(audit_query(&mine, &refused, count_record, &count, NULL, NULL), 0);
    assert_int_equal(count, FLOOD);
    audit_file_close(audit);
    assert_true(lines_in(dir_fd, "audit.jsonl") <= 2 * (2 + FIRST + 1));
    assert_true(lines_in(dir_fd, "audit.jsonl.reads") >= FLOOD - FIRST);
}

/* A command may be longer than any name; what is kept of it says that it was. */
static void a_long_command_is_recorded_with_its_length(void **state)
{
    struct world *world = *state;
    cleanup_fd int dir_fd = open(world->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct audit_config mine = {.dir_fd = dir_fd, .name = "audit.jsonl", .clock = &world->clock};
    struct audit_query long_one = {.operation = STR("execute")};
    static char text[100000];
    struct authority_note run = command();
    struct audit_file *audit = NULL;
    size_t count = 0;

    memset(text, '\n', sizeof(text));
    run.name = (struct str){text, sizeof(text)};
    assert_int_equal(audit_file_open(&mine, &audit, &world->err), 0);
    assert_int_equal(authority_add_listener(world->authority, audit_file_record, audit), 0);
    assert_int_equal(authority_note(world->scope, &run), 0);
    authority_remove_listener(world->authority, audit_file_record, audit);
    audit_file_close(audit);
    assert_int_equal(audit_query(&mine, &long_one, count_record, &count, NULL, NULL), 0);
    assert_int_equal(count, 1);
}

TEST_MAIN(EVERYWHERE(every_operation_of_a_call_says_so),
          EVERYWHERE(after_its_end_nothing_is_of_a_call), EVERYWHERE(a_call_is_its_threads_own),
          ON_DISK(what_a_watch_tells_is_of_no_call), EVERYWHERE(a_note_is_told_like_an_operation),
          EVERYWHERE(a_note_does_not_tell_where_the_root_is),
          EVERYWHERE(an_intent_that_nobody_could_record_is_not_to_be_done),
          EVERYWHERE(a_note_that_says_two_things_is_refused),
          EVERYWHERE(a_refusal_is_recorded_after_the_grants_end),
          ON_DISK(refusals_by_the_host_are_counted_like_others),
          ON_DISK(a_long_command_is_recorded_with_its_length))
