/* SPDX-License-Identifier: Apache-2.0 */
/* Who is asked before anything happens, in which order, and what is recorded. */
#include "attempts.h"

enum { MAX_EVENTS = 400, MAX_NAME = 300, MAX_IDS = 200 };

struct record {
    uint64_t request_id;
    enum authority_operation operation;
    enum authority_outcome outcome;
    int error;
    char name[MAX_NAME];
    size_t name_len;
    char destination[MAX_NAME];
    char source[64];
    char wrappers[MAX_IDS]; /* each with a comma behind it */
};

/* Every event, copied; and that none says where the root lies. */
struct recorder {
    struct world *world;
    struct record records[MAX_EVENTS];
    size_t count;
    int answer_to_intents;
    bool sees_that_intents_come_first;
};

static struct recorder recorder;

static bool tells_path(struct world *world, struct str text)
{
    return str_find(text, str_from(world->base)) != SIZE_MAX;
}

static int note_event(void *data, const struct authority_event *event)
{
    struct recorder *to = data;
    struct record *record = &to->records[to->count];

    assert_true(to->count < MAX_EVENTS);
    to->count++;
    assert_null(event->root->path);
    assert_false(tells_path(to->world, event->name));
    assert_false(tells_path(to->world, event->destination));
    assert_int_equal(event->wall_ms, clock_wall_ms(&to->world->clock));
    assert_non_null(event->subject);
    assert_true(event->name.len < MAX_NAME && event->destination.len < MAX_NAME);
    *record = (struct record){.request_id = event->request_id,
                              .operation = event->operation,
                              .outcome = event->outcome,
                              .error = event->error,
                              .name_len = event->name.len};
    memcpy(record->name, event->name.ptr, event->name.len);
    memcpy(record->destination, event->destination.ptr, event->destination.len);
    snprintf(record->source, sizeof(record->source), "%s", event->policy_source);
    for (size_t i = 0; i < event->wrapper_count; i++) {
        size_t at = strlen(record->wrappers);

        snprintf(record->wrappers + at, MAX_IDS - at, "%s,", event->wrapper_ids[i]);
    }
    if (event->outcome == AUTHORITY_INTENT && to->sees_that_intents_come_first)
        assert_frozen(to->world);
    return event->outcome == AUTHORITY_INTENT ? to->answer_to_intents : 0;
}

static void record_events(struct world *world)
{
    memset(&recorder, 0, sizeof(recorder));
    recorder.world = world;
    assert_int_equal(authority_add_listener(world->authority, note_event, &recorder), 0);
}

static const struct record *last_record(void)
{
    assert_true(recorder.count > 0);
    return &recorder.records[recorder.count - 1];
}

/* ---- policy ---- */

struct judge {
    enum authority_verdict verdict;
    enum authority_verdict if_unasked;
    const char *text;
    bool fills_text;
    size_t calls;
    struct authority_context seen;
    char name[MAX_NAME];
};

static void judge(void *data, const struct authority_context *context,
                  struct authority_decision *decision)
{
    struct judge *self = data;

    assert_int_equal(decision->verdict, AUTHORITY_ABSTAIN);
    assert_null(context->root->path);
    self->calls++;
    self->seen = *context;
    memcpy(self->name, context->name.ptr, context->name.len);
    decision->verdict = self->verdict;
    decision->if_unasked = self->if_unasked;
    if (self->text != NULL)
        snprintf(decision->text, sizeof(decision->text), "%s", self->text);
    if (self->fills_text)
        memset(decision->text, 'x', sizeof(decision->text));
}

static void a_policy_sees_what_is_asked_for(void **state)
{
    struct world *world = *state;
    struct judge self = {.verdict = AUTHORITY_ABSTAIN};
    uint64_t last;

    attempts_prepare(world);
    authority_set_policy(world->authority, "rules", judge, &self);
    assert_ok(world, authority_copy(world->scope, STR("./file"), STR("x"), NULL, &world->err));
    assert_int_equal(self.calls, 1);
    assert_int_equal(self.seen.operation, AUTHORITY_OP_COPY);
    assert_int_equal(self.seen.access, AUTHORITY_READ | AUTHORITY_WRITE);
    assert_int_equal(self.seen.subject->type, AUTHORITY_AGENT_RUN);
    assert_string_equal(self.seen.subject->id, "talk");
    assert_string_equal(self.seen.subject->run_id, "run-1");
    assert_string_equal(self.seen.root->id, "main");
    assert_string_equal(self.seen.reason, "a test");
    assert_str(self.seen.name, "file");
    assert_str(self.seen.destination, "x");
    assert_ok(world, attempt_read_bytes(world, world->scope, STR("x/..//./file")));
    assert_str(self.seen.name, "file");
    last = self.seen.request_id;
    assert_ok(world, attempt_read_bytes(world, world->scope, STR("file")));
    assert_true(self.seen.request_id > last);
    assert_int_equal(self.seen.destination.len, 0);
}

static void a_policy_allows_and_denies(void **state)
{
    struct world *world = *state;
    struct judge self = {.verdict = AUTHORITY_DENY, .text = "not on Sundays"};

    attempts_prepare(world);
    record_events(world);
    authority_set_policy(world->authority, "rules", judge, &self);
    attempt_all(world, world->scope, STR("file"), ERR_DENIED_BY_POLICY);
    assert_int_equal(attempt_read_bytes(world, world->scope, STR("file")), ERR_DENIED_BY_POLICY);
    assert_string_equal(world->err.message, "not on Sundays");
    assert_string_equal(last_record()->source, "rules");
    assert_int_equal(last_record()->outcome, AUTHORITY_DENIED);
    for (size_t i = 0; i < recorder.count; i++)
        assert_int_not_equal(recorder.records[i].outcome, AUTHORITY_INTENT);
    self = (struct judge){.verdict = AUTHORITY_ALLOW};
    assert_ok(world, attempt_read_bytes(world, world->scope, STR("file")));
    assert_string_equal(last_record()->source, "rules");
    assert_int_equal(last_record()->outcome, AUTHORITY_SUCCESS);
    self = (struct judge){.verdict = AUTHORITY_ABSTAIN};
    assert_ok(world, attempt_read_bytes(world, world->scope, STR("file")));
    assert_string_equal(last_record()->source, "default");
    /* Whatever it writes, the message ends. */
    self = (struct judge){.verdict = AUTHORITY_DENY, .fills_text = true};
    assert_int_equal(attempt_read_bytes(world, world->scope, STR("file")), ERR_DENIED_BY_POLICY);
    assert_int_equal(strspn(world->err.message, "x"), AUTHORITY_REASON_BYTES - 1);
    assert_int_equal(strlen(world->err.message), AUTHORITY_REASON_BYTES - 1);
    /* An answer that is none of ours is no. */
    self = (struct judge){.verdict = (enum authority_verdict)99};
    assert_int_equal(attempt_read_bytes(world, world->scope, STR("file")), ERR_DENIED_BY_POLICY);
}

struct user {
    bool answer;
    size_t asked;
    char prompt[AUTHORITY_REASON_BYTES];
};

static bool ask_user(void *data, const struct authority_context *context, const char *prompt)
{
    struct user *user = data;

    assert_non_null(context->subject);
    user->asked++;
    snprintf(user->prompt, sizeof(user->prompt), "%s", prompt);
    return user->answer;
}

static void asking_needs_somebody_who_is_there(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct judge self = {.verdict = AUTHORITY_ASK, .text = "May I?"};
    struct user user = {.answer = true};
    struct authority_scope *interactive;

    attempts_prepare(world);
    request.is_interactive = true;
    interactive = world_open(world, &request);
    record_events(world);
    authority_set_policy(world->authority, "rules", judge, &self);

    /* Nobody at all. */
    attempt_all(world, interactive, STR("file"), ERR_ASK_UNAVAILABLE);
    assert_string_equal(last_record()->source, "rules");
    authority_set_ask(world->authority, ask_user, &user);
    assert_ok(world, attempt_read_bytes(world, interactive, STR("file")));
    assert_int_equal(user.asked, 1);
    assert_string_equal(user.prompt, "May I?");
    user.answer = false;
    /* Between scopes the other one is asked about too, and there nobody is. */
    attempt_all_or(world, interactive, STR("file"), ERR_DENIED_BY_POLICY, ERR_ASK_UNAVAILABLE);
    assert_int_equal(attempt_read_bytes(world, interactive, STR("file")), ERR_DENIED_BY_POLICY);

    /* Somebody, but not for this scope. */
    user = (struct user){.answer = true};
    attempt_all(world, world->scope, STR("file"), ERR_ASK_UNAVAILABLE);
    self.if_unasked = AUTHORITY_DENY;
    attempt_all(world, world->scope, STR("file"), ERR_ASK_UNAVAILABLE);
    self.if_unasked = AUTHORITY_ALLOW;
    assert_ok(world, attempt_read_bytes(world, world->scope, STR("file")));
    assert_int_equal(user.asked, 0);
    authority_scope_free(interactive);
}

static void a_request_is_asked_about_like_an_operation(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct judge self = {.verdict = AUTHORITY_ASK};
    struct user user = {.answer = true};
    struct authority_scope *scope = NULL;

    authority_set_policy(world->authority, "rules", judge, &self);
    authority_set_ask(world->authority, ask_user, &user);
    assert_refused(world, authority_request_root(world->authority, &request, &scope, &world->err),
                   ERR_ASK_UNAVAILABLE);
    assert_int_equal(user.asked, 0);
    assert_null(scope);
    request.is_interactive = true;
    scope = world_open(world, &request);
    assert_int_equal(user.asked, 1);
    assert_int_equal(self.seen.operation, AUTHORITY_OP_REQUEST_ROOT);
    assert_int_equal(self.seen.access, AUTHORITY_ALL_ACCESS);
    authority_scope_free(scope);
    scope = NULL;
    self.verdict = AUTHORITY_DENY;
    assert_refused(world, authority_request_root(world->authority, &request, &scope, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(
        world,
        authority_create_temp(world->authority, &request.subject, "work", &scope, &world->err),
        ERR_DENIED_BY_POLICY);
    assert_null(scope);
}

/* ---- hooks ---- */

struct hook_log {
    char text[MAX_IDS];
};

struct test_hook {
    struct hook_log *log;
    struct world *world;
    const char *id;
    enum authority_verdict verdict;
    bool removes_itself;
};

static void add_to_log(struct hook_log *log, const char *what, const char *id)
{
    size_t at = strlen(log->text);

    snprintf(log->text + at, sizeof(log->text) - at, "%s%s ", what, id);
}

static void before_hook(void *data, const struct authority_context *context,
                        struct authority_decision *decision)
{
    const struct test_hook *hook = data;

    (void)context;
    add_to_log(hook->log, "+", hook->id);
    decision->verdict = hook->verdict;
    if (hook->removes_itself) {
        assert_true(authority_remove_hook(hook->world->authority, hook->id));
        assert_false(authority_remove_hook(hook->world->authority, hook->id));
    }
}

static void after_hook(void *data, const struct authority_context *context, int result)
{
    const struct test_hook *hook = data;

    (void)context;
    add_to_log(hook->log, result < 0 ? "!" : "-", hook->id);
}

static void add_hooks(struct world *world, struct test_hook *hooks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hooks[i].world = world;
        assert_int_equal(
            authority_add_hook(world->authority, &(struct authority_hook){.id = hooks[i].id,
                                                                          .before = before_hook,
                                                                          .after = after_hook,
                                                                          .data = &hooks[i]}),
            0);
    }
}

static void hooks_run_in_the_order_they_were_added(void **state)
{
    struct world *world = *state;
    struct hook_log log = {0};
    struct test_hook hooks[] = {{.log = &log, .id = "b"},
                                {.log = &log, .id = "a", .verdict = AUTHORITY_ALLOW},
                                {.log = &log, .id = "c"}};

    attempts_prepare(world);
    record_events(world);
    add_hooks(world, hooks, 3);
    assert_ok(world, attempt_write(world, world->scope, STR("x")));
    assert_string_equal(log.text, "+b +a +c -b -a -c ");
    assert_int_equal(recorder.count, 2);
    assert_string_equal(recorder.records[0].wrappers, "b,a,c,");
    assert_string_equal(recorder.records[1].wrappers, "b,a,c,");
    assert_string_equal(recorder.records[1].source, "a");
    log.text[0] = '\0';
    assert_int_equal(attempt_read_bytes(world, world->scope, STR("none")), ERR_NOT_FOUND);
    assert_string_equal(log.text, "+b +a +c !b !a !c ");
}

static void a_hook_that_denies_ends_it(void **state)
{
    struct world *world = *state;
    struct hook_log log = {0};
    struct test_hook hooks[] = {{.log = &log, .id = "first"},
                                {.log = &log, .id = "stop", .verdict = AUTHORITY_DENY},
                                {.log = &log, .id = "never"}};

    attempts_prepare(world);
    record_events(world);
    add_hooks(world, hooks, 3);
    freeze(world);
    assert_int_equal(attempt_write(world, world->scope, STR("file")), ERR_DENIED_BY_POLICY);
    assert_frozen(world);
    assert_string_equal(log.text, "+first +stop !first !stop ");
    assert_int_equal(recorder.count, 1);
    assert_int_equal(last_record()->outcome, AUTHORITY_DENIED);
    assert_string_equal(last_record()->source, "stop");
    assert_string_equal(last_record()->wrappers, "first,stop,");
    attempt_all(world, world->scope, STR("file"), ERR_DENIED_BY_POLICY);
    /* One that fails is no better. */
    hooks[1].verdict = AUTHORITY_FAIL;
    attempt_all(world, world->scope, STR("file"), ERR_DENIED_BY_POLICY);
    assert_string_not_equal(world->err.message, "");
}

static void a_hook_that_removes_itself_sees_no_other_call(void **state)
{
    struct world *world = *state;
    struct hook_log log = {0};
    struct test_hook hooks[] = {{.log = &log, .id = "once", .removes_itself = true},
                                {.log = &log, .id = "always"}};

    attempts_prepare(world);
    record_events(world);
    add_hooks(world, hooks, 2);
    assert_ok(world, attempt_read_bytes(world, world->scope, STR("file")));
    assert_string_equal(last_record()->wrappers, "once,always,");
    assert_non_null(strstr(log.text, "+once +always"));
    log.text[0] = '\0';
    assert_ok(world, attempt_read_bytes(world, world->scope, STR("file")));
    assert_string_equal(log.text, "+always -always ");
    assert_string_equal(last_record()->wrappers, "always,");
    /* Its place is free again, behind the others. */
    hooks[0].removes_itself = false;
    add_hooks(world, hooks, 1);
    log.text[0] = '\0';
    assert_ok(world, attempt_read_bytes(world, world->scope, STR("file")));
    assert_string_equal(log.text, "+always +once -always -once ");
}

static void hooks_are_added_once_and_not_without_end(void **state)
{
    struct world *world = *state;
    char ids[AUTHORITY_MAX_HOOKS + 1][16];
    struct authority_hook hook = {.id = NULL};

    assert_int_equal(authority_add_hook(world->authority, &hook), ERR_INVALID_ARGUMENT);
    for (size_t i = 0; i < array_size(ids); i++) {
        snprintf(ids[i], sizeof(ids[i]), "hook%zu", i);
        hook.id = ids[i];
        assert_int_equal(authority_add_hook(world->authority, &hook),
                         i < AUTHORITY_MAX_HOOKS ? 0 : ERR_TOO_LARGE);
    }
    hook.id = "hook3";
    assert_int_equal(authority_add_hook(world->authority, &hook), ERR_ALREADY_EXISTS);
    assert_true(authority_remove_hook(world->authority, "hook3"));
    assert_false(authority_remove_hook(world->authority, "hook3"));
    assert_false(authority_remove_hook(world->authority, "never"));
    for (int i = 0; i < 100; i++) {
        assert_int_equal(authority_add_hook(world->authority, &hook), 0);
        assert_true(authority_remove_hook(world->authority, "hook3"));
    }
    /* They have neither function, and are in nobody's way. */
    plant(world, WORLD_ROOT, "file", "f");
    assert_reads(world, world->scope, "file", "f");
}

/* ---- the record ---- */

static void refused_and_malformed_operations_are_recorded(void **state)
{
    struct world *world = *state;
    static const struct {
        struct str name;
        int code;
    } cases[] = {
        {STR_LITERAL("../outside"), ERR_PATH_OUTSIDE_ROOT},
        {STR_LITERAL("/etc/passwd"), ERR_PATH_OUTSIDE_ROOT},
        {STR_LITERAL("a\0b"), ERR_INVALID_PATH},
        {STR_LITERAL("\xff\n\x1b\0.."), ERR_INVALID_PATH},
    };

    attempts_prepare(world);
    for (size_t n = 0; n < array_size(cases); n++)
        for (size_t i = 0; i < array_size(attempts); i++) {
            const struct record *record;

            if (!attempt_runs_here(world, &attempts[i]))
                continue;
            record_events(world);
            assert_int_equal(attempt_run(world, world->scope, &attempts[i], cases[n].name),
                             cases[n].code);
            authority_remove_listener(world->authority, note_event, &recorder);
            /* Of a transfer between scopes both sides are recorded. */
            assert_in_range(recorder.count, 1, 3);
            record = &recorder.records[0];
            for (size_t k = 0; k < recorder.count; k++)
                if (recorder.records[k].operation == attempts[i].operation &&
                    recorder.records[k].outcome != AUTHORITY_INTENT)
                    record = &recorder.records[k];
            assert_int_equal(record->operation, attempts[i].operation);
            assert_int_equal(record->outcome, AUTHORITY_DENIED);
            assert_int_equal(record->error, cases[n].code);
            assert_string_equal(record->source, "default");
            assert_true((record->name_len == cases[n].name.len &&
                         memcmp(record->name, cases[n].name.ptr, record->name_len) == 0) ||
                        memcmp(record->destination, cases[n].name.ptr, cases[n].name.len) == 0);
        }
}

static void what_the_machine_refuses_has_failed(void **state)
{
    struct world *world = *state;

    record_events(world);
    assert_int_equal(attempt_read_bytes(world, world->scope, STR("none")), ERR_NOT_FOUND);
    assert_int_equal(last_record()->outcome, AUTHORITY_FAILED);
    assert_int_equal(last_record()->error, ERR_NOT_FOUND);
    assert_string_equal(world->err.field, "none");
}

static void a_change_is_announced_before_and_reported_after(void **state)
{
    struct world *outer = *state;

    for (size_t i = 0; i < array_size(attempts); i++) {
        const struct attempt *attempt = &attempts[i];
        const struct record *intent = NULL;
        const struct record *outcome = NULL;
        struct world *world;
        void *inner;

        if (!attempt_runs_here(outer, attempt))
            continue;
        world_setup_like(outer, &inner);
        world = inner;
        attempts_prepare(world);
        record_events(world);
        freeze(world);
        recorder.sees_that_intents_come_first = true;
        if (attempt_run(world, world->scope, attempt, str_from(attempt->good)) != 0)
            fail_msg("%s: %s", attempt->label, world->err.message);
        for (size_t k = 0; k < recorder.count; k++) {
            const struct record *record = &recorder.records[k];

            if (record->operation != attempt->operation)
                continue;
            if (record->outcome == AUTHORITY_INTENT) {
                assert_null(outcome);
                intent = record;
            } else {
                outcome = record;
            }
        }
        if (outcome == NULL) {
            fail_msg("no outcome was recorded");
            return;
        }
        assert_int_equal(outcome->outcome, AUTHORITY_SUCCESS);
        assert_int_equal(outcome->error, 0);
        assert_int_equal(attempt->is_mutation, intent != NULL);
        if (intent != NULL)
            assert_int_equal(intent->request_id, outcome->request_id);
        else
            assert_true(attempt->operation == AUTHORITY_OP_READ || recorder.count == 1);
        teardown(&inner);
    }
}

static void without_a_record_nothing_is_changed(void **state)
{
    struct world *world = *state;
    const struct authority_subject subject = {.type = AUTHORITY_CORE, .id = "core"};
    struct authority_scope *temp = NULL;

    attempts_prepare(world);
    record_events(world);
    recorder.answer_to_intents = ERR_NO_SPACE;
    freeze(world);
    for (size_t i = 0; i < array_size(attempts); i++) {
        const struct attempt *attempt = &attempts[i];
        int r;

        if (!attempt_runs_here(world, attempt) || !attempt->is_mutation)
            continue;
        recorder.count = 0;
        r = attempt_run(world, world->scope, attempt, str_from(attempt->good));
        if (r != ERR_AUDIT_UNAVAILABLE)
            fail_msg("%s gave %s", attempt->label, r < 0 ? err_name(r) : "success");
        assert_frozen(world);
        assert_int_not_equal(last_record()->outcome, AUTHORITY_SUCCESS);
        assert_int_equal(last_record()->error, ERR_AUDIT_UNAVAILABLE);
    }
    assert_refused(world,
                   authority_create_temp(world->authority, &subject, "work", &temp, &world->err),
                   ERR_AUDIT_UNAVAILABLE);
    assert_null(temp);
    /* Looking is not changing. */
    assert_reads(world, world->scope, "spare", "spare");
}

static int count_events(void *data, const struct authority_event *event)
{
    (void)event;
    ++*(size_t *)data;
    return ERR_IO;
}

static void listeners_come_and_go(void **state)
{
    struct world *world = *state;
    size_t first = 0;
    size_t second = 0;

    plant(world, WORLD_ROOT, "file", "f");
    assert_int_equal(authority_add_listener(world->authority, count_events, &first), 0);
    assert_int_equal(authority_add_listener(world->authority, count_events, &second), 0);
    /* Their errors count only before a change. */
    assert_ok(world, attempt_read_bytes(world, world->scope, STR("file")));
    assert_int_equal(first, 1);
    assert_int_equal(second, 1);
    authority_remove_listener(world->authority, count_events, &first);
    assert_ok(world, attempt_read_bytes(world, world->scope, STR("file")));
    assert_int_equal(first, 1);
    assert_int_equal(second, 2);
    authority_remove_listener(world->authority, count_events, &first);
    authority_remove_listener(world->authority, count_events, &second);
    assert_ok(world, attempt_write(world, world->scope, STR("file")));
    for (int i = 0; i < AUTHORITY_MAX_LISTENERS; i++)
        assert_int_equal(authority_add_listener(world->authority, count_events, &first), 0);
    assert_int_equal(authority_add_listener(world->authority, count_events, &first), ERR_TOO_LARGE);
}

/* Errors of requests come closest to the path, and do not show it either. */
static void no_error_tells_where_a_root_lies(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct authority_scope *scope = NULL;
    char missing[WORLD_PATH_BYTES + 16];

    snprintf(missing, sizeof(missing), "%s/missing", world->paths[WORLD_ROOT]);
    plant(world, WORLD_ROOT, "file", "f");
    record_events(world);
    request.root.path = missing;
    if (!world->is_memory)
        assert_refused(world,
                       authority_request_root(world->authority, &request, &scope, &world->err),
                       ERR_NOT_FOUND);
    assert_false(tells_path(world, str_from(world->err.field)));
    snprintf(missing, sizeof(missing), "%s/file", world->paths[WORLD_ROOT]);
    if (!world->is_memory)
        assert_refused(world,
                       authority_request_root(world->authority, &request, &scope, &world->err),
                       ERR_NOT_A_DIRECTORY);
    assert_false(tells_path(world, str_from(world->err.field)));
    for (size_t i = 0; i < array_size(attempts); i++) {
        if (!attempt_runs_here(world, &attempts[i]))
            continue;
        attempt_run(world, world->scope, &attempts[i], STR("none/of/this"));
        assert_false(tells_path(world, str_from(world->err.message)));
        assert_false(tells_path(world, str_from(world->err.field)));
    }
}

TEST_MAIN(EVERYWHERE(a_policy_sees_what_is_asked_for), EVERYWHERE(a_policy_allows_and_denies),
          EVERYWHERE(asking_needs_somebody_who_is_there),
          EVERYWHERE(a_request_is_asked_about_like_an_operation),
          EVERYWHERE(hooks_run_in_the_order_they_were_added),
          EVERYWHERE(a_hook_that_denies_ends_it),
          EVERYWHERE(a_hook_that_removes_itself_sees_no_other_call),
          EVERYWHERE(hooks_are_added_once_and_not_without_end),
          EVERYWHERE(refused_and_malformed_operations_are_recorded),
          EVERYWHERE(what_the_machine_refuses_has_failed),
          EVERYWHERE(a_change_is_announced_before_and_reported_after),
          EVERYWHERE(without_a_record_nothing_is_changed), EVERYWHERE(listeners_come_and_go),
          EVERYWHERE(no_error_tells_where_a_root_lies))
