/* SPDX-License-Identifier: Apache-2.0 */
/* The server's side of the gateway protocol, with a fake clock, a store in memory and no sockets.
 */
#include "gateway/hub.h"

#include <stdio.h>

#include "test.h"

enum { ALICE = 1, BOB = 2, MAX_STREAMS = 8, TEXT_BYTES = 4096 };

#define TOOLS(name)                                                                                \
    "{\"rootPath\":\"/srv/a\",\"hostIdentifier\":\"a@b\",\"tools\":[{\"name\":\"" name             \
    "\",\"inputSchema\":{\"type\":\"object\",\"properties\":{}}}],"                                \
    "\"toolCategories\":[{\"name\":\"filesystem\",\"enabled\":true,\"writeAccess\":false}]}"
#define TREE                                                                                       \
    "{\"rootPath\":\"/srv/a\",\"treeText\":\"\",\"tree\":[{\"path\":\"src\",\"type\":"             \
    "\"directory\"},{\"path\":\"src/a.c\",\"type\":\"file\",\"sizeBytes\":3},{\"path\":\"b\","     \
    "\"type\":\"file\"}]}"
#define RESULT "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}}"

struct stream {
    char last[TEXT_BYTES];
    unsigned count;
    bool is_closed;
};

struct outcome {
    unsigned count;
    int error;
    char text[TEXT_BYTES];
    int64_t progress;
};

struct init {
    unsigned count;
    int error;
    char message[ERR_MESSAGE_BYTES];
    char key[HUB_SESSION_BYTES];
    bool has_extensions;
};

/* Everything of a test. */
struct scene {
    struct clock clock;
    struct hub *hub;
    unsigned changes;
    char reported[32]; /* the last event of a daemon of ours */
    /* The store: the last record, and a save that was not answered. */
    bool has_record;
    struct hub_record record;
    char body[TEXT_BYTES];
    bool holds; /* saves wait for let_go() */
    int save_error;
    void (*done)(void *context, int result);
    void *context;
};

/* The hub is being freed: a case's streams and outcomes are gone already. */
static bool is_over;

/* ---- the hub's surroundings ---- */

static void store_save(void *data, const struct hub_record *record,
                       void (*done)(void *context, int result), void *context)
{
    struct scene *scene = data;

    assert_true(record->init.len < sizeof(scene->body));
    if (scene->save_error == 0) {
        scene->has_record = true;
        scene->record = *record;
        memcpy(scene->body, record->init.ptr, record->init.len);
        scene->record.init.ptr = scene->body;
    }
    if (scene->holds) {
        scene->done = done;
        scene->context = context;
        return;
    }
    done(context, scene->save_error);
}

static void let_go(struct scene *scene)
{
    scene->holds = false;
    scene->done(scene->context, 0);
}

static void store_remove(void *data, int64_t user)
{
    struct scene *scene = data;

    if (scene->record.user == user)
        scene->has_record = false;
}

static void store_files(void *data, int64_t user, bool is_off)
{
    (void)data;
    (void)user;
    (void)is_off;
}

static void on_send(void *data, void *stream, struct str json)
{
    struct stream *sent = stream;

    (void)data;
    assert_false(sent->is_closed);
    assert_true(json.len < sizeof(sent->last));
    memcpy(sent->last, json.ptr, json.len);
    sent->last[json.len] = '\0';
    sent->count++;
}

static void on_close(void *data, void *stream)
{
    (void)data;
    if (is_over)
        return;
    assert_false(((struct stream *)stream)->is_closed);
    ((struct stream *)stream)->is_closed = true;
}

static void on_changed(void *data, int64_t user)
{
    (void)user;
    ((struct scene *)data)->changes++;
}

static const struct hub_store STORE = {
    .save = store_save, .remove = store_remove, .set_files_off = store_files};
static void on_report(void *data, int64_t user, struct str type, const struct json_value *event)
{
    struct scene *scene = data;

    (void)event;
    assert_int_equal(user, ALICE);
    snprintf(scene->reported, sizeof(scene->reported), "%.*s", STR_ARG(type));
}

static const struct hub_events EVENTS = {
    .send = on_send, .close = on_close, .changed = on_changed, .report = on_report};

static void open_hub(struct scene *scene, const char *static_key)
{
    const struct hub_config config = {
        .clock = &scene->clock,
        .store = &STORE,
        .store_data = scene,
        .events = &EVENTS,
        .events_data = scene,
        .static_key = static_key != NULL ? str_from(static_key) : STR_EMPTY,
        .static_user = ALICE,
    };

    is_over = false;
    clock_fake_init(&scene->clock, 1000000);
    assert_int_equal(hub_new(&config, &scene->hub), 0);
}

#define cleanup_scene cleanup_with(close_hub)
static void close_hub(struct scene *scene)
{
    is_over = true;
    hub_free(scene->hub);
}

/* ---- what the parties do ---- */

static void on_init(void *context, const struct err *err, struct str key, bool has_extensions)
{
    struct init *init = context;

    init->count++;
    init->error = err != NULL ? err->code : 0;
    snprintf(init->message, sizeof(init->message), "%s", err != NULL ? err->message : "");
    snprintf(init->key, sizeof(init->key), "%.*s", STR_ARG(key));
    init->has_extensions = has_extensions;
}

static struct init do_init(struct scene *scene, const char *key, const char *body)
{
    struct init init = {.count = 0};

    hub_init(scene->hub, str_from(key), str_from(body), on_init, &init);
    assert_int_equal(init.count, 1);
    return init;
}

static struct hub_link link_of(struct scene *scene, int64_t user)
{
    struct hub_link link;

    assert_int_equal(hub_create_link(scene->hub, user, &link, NULL), 0);
    return link;
}

/* Pairs a machine; its session key. */
static struct init pair(struct scene *scene, int64_t user, const char *body)
{
    struct hub_link link = link_of(scene, user);
    struct init init = do_init(scene, link.token, body);

    assert_int_equal(init.error, 0);
    return init;
}

static int open_stream(struct scene *scene, const char *key, struct stream *stream)
{
    return hub_open_stream(scene->hub, HUB_N8N, str_from(key), stream, NULL);
}

static void on_done(void *data, const struct err *err, const struct json_value *result,
                    struct str text)
{
    struct outcome *outcome = data;

    if (is_over)
        return;
    outcome->count++;
    outcome->error = err != NULL ? err->code : 0;
    assert_int_equal(result == NULL, err != NULL);
    snprintf(outcome->text, sizeof(outcome->text), "%.*s", STR_ARG(text));
}

static void on_progress(void *data, int64_t done, int64_t total, const char *what)
{
    (void)total;
    (void)what;
    ((struct outcome *)data)->progress = done;
}

static const struct hub_call_events CALL = {.done = on_done, .progress = on_progress};

static int call_with(struct scene *scene, int64_t user, const char *tool, const char *arguments,
                     const char *confirmation, struct outcome *outcome, uint64_t *out_id)
{
    cleanup_arena struct arena arena = ARENA_INIT(64 << 20);
    const struct json_value *document;

    *outcome = (struct outcome){.count = 0};
    assert_int_equal(json_parse(&arena, str_from(arguments), JSON_LIMITS_DEFAULT, &document, NULL),
                     0);
    return hub_call(scene->hub,
                    &(struct hub_call_request){.user = user,
                                               .groups = TOOLSET_ALL_GROUPS,
                                               .tool = str_from(tool),
                                               .arguments = document,
                                               .confirmation = str_from(confirmation),
                                               .agent = STR("ci")},
                    &CALL, outcome, out_id, NULL);
}

static int call(struct scene *scene, int64_t user, const char *tool, const char *arguments,
                struct outcome *outcome)
{
    uint64_t id;

    return call_with(scene, user, tool, arguments, "", outcome, &id);
}

/* The id of the request that the stream carries. */
static struct str id_in(const struct stream *stream)
{
    struct str text = str_from(stream->last);
    size_t at = str_find(text, STR("gw_"));

    assert_true(at != SIZE_MAX);
    return str_slice(text, at, 24);
}

static int respond(struct scene *scene, const char *key, struct str id, const char *body)
{
    return hub_respond(scene->hub, str_from(key), id, str_from(body), NULL);
}

static void pass(struct scene *scene, int64_t ms)
{
    clock_fake_advance(&scene->clock, ms);
    hub_expire(scene->hub);
}

static bool is_connected(struct scene *scene, int64_t user)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);

    assert_int_equal(hub_write_status(scene->hub, user, &text), 0);
    return str_find(buf_view(&text), STR("\"connected\":true")) != SIZE_MAX;
}

/* ---- pairing ---- */

static void a_token_pairs_once(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct hub_link link;
    struct init init;

    (void)state;
    open_hub(&scene, NULL);
    link = link_of(&scene, ALICE);
    assert_int_equal(strncmp(link.token, "gw_", 3), 0);
    assert_int_equal(strlen(link.token), 35);
    assert_int_equal(link.ttl_seconds, 300);
    init = do_init(&scene, link.token, TOOLS("read_file"));
    assert_int_equal(init.error, 0);
    assert_int_equal(strncmp(init.key, "sess_", 5), 0);
    assert_int_equal(strlen(init.key), 37);
    assert_int_equal(do_init(&scene, link.token, TOOLS("read_file")).error, ERR_GATEWAY_DENIED);
    assert_string_equal(do_init(&scene, "", TOOLS("x")).message, "Missing API key");
    assert_string_equal(do_init(&scene, "gw_x", TOOLS("x")).message, "Invalid API key");
    assert_true(is_connected(&scene, ALICE));
    assert_false(is_connected(&scene, BOB));
}

static void a_link_is_handed_out_again_until_it_expires(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct hub_link first;
    struct hub_link second;

    (void)state;
    open_hub(&scene, NULL);
    first = link_of(&scene, ALICE);
    pass(&scene, HUB_TOKEN_MS - 1);
    second = link_of(&scene, ALICE);
    assert_string_equal(first.token, second.token);
    assert_int_equal(second.ttl_seconds, 1);
    assert_string_not_equal(first.token, link_of(&scene, BOB).token);
    pass(&scene, 1);
    second = link_of(&scene, ALICE);
    assert_string_not_equal(first.token, second.token);
    assert_int_equal(do_init(&scene, first.token, TOOLS("x")).error, ERR_GATEWAY_DENIED);
}

static void a_token_that_expired_unnoticed_is_refused(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct hub_link link;

    (void)state;
    open_hub(&scene, NULL);
    link = link_of(&scene, ALICE);
    clock_fake_advance(&scene.clock, HUB_TOKEN_MS);
    assert_int_equal(do_init(&scene, link.token, TOOLS("x")).error, ERR_GATEWAY_DENIED);
}

static void a_bad_body_is_found_before_a_bad_key(void **state)
{
    static const char *const bad[] = {
        "{\"rootPath\":1,\"tools\":[]}",
        "{\"tools\":[]}",
        "{\"rootPath\":\"/\"}",
        "{\"rootPath\":\"/\",\"tools\":{}}",
        "{\"rootPath\":\"/\",\"tools\":[{\"name\":\"a\",\"inputSchema\":{}}]}",
        "{\"rootPath\":\"/\",\"tools\":[{\"name\":\"a\",\"inputSchema\":{\"anyOf\":[]}}]}",
        "{\"rootPath\":\"/\",\"tools\":[{\"name\":\"a\",\"inputSchema\":{\"oneOf\":[1]}}]}",
        "{\"rootPath\":\"/\",\"tools\":[],\"toolCategories\":[{\"name\":1}]}",
        "[]",
    };
    cleanup_scene struct scene scene = {.changes = 0};
    struct hub_link link;

    (void)state;
    open_hub(&scene, NULL);
    link = link_of(&scene, ALICE);
    for (size_t i = 0; i < array_size(bad); i++) {
        assert_int_equal(do_init(&scene, "", bad[i]).error, ERR_INVALID_REQUEST);
        assert_int_equal(do_init(&scene, link.token, bad[i]).error, ERR_INVALID_REQUEST);
    }
    assert_int_equal(do_init(&scene, "", "{").error, ERR_INVALID_JSON);
    /* None of them has used the token up. */
    assert_int_equal(do_init(&scene, link.token, TOOLS("x")).error, 0);
}

static void unusable_tools_are_skipped(void **state)
{
#define SCHEMA "\"inputSchema\":{\"type\":\"object\",\"properties\":{}}}"
    static const char body[] =
        "{\"rootPath\":\"/\",\"tools\":[{\"name\":\"read_file\"," SCHEMA
        ",{\"name\":\"ReadFile\"," SCHEMA ",{\"name\":\"9lives\"," SCHEMA
        ",{\"name\":\"a b\"," SCHEMA ",{" SCHEMA ",{\"name\":\"any\",\"inputSchema\":{\"anyOf\":[{"
        "\"type\":\"object\",\"properties\":{}}]}}]}";
    cleanup_scene struct scene scene = {.changes = 0};
    const struct toolset *tools;
    unsigned groups;

    (void)state;
    open_hub(&scene, NULL);
    pair(&scene, ALICE, body);
    tools = hub_tools(scene.hub, ALICE, &groups);
    assert_int_equal(tools->count, 2);
    assert_int_equal(tools->skipped, 4);
    assert_int_equal(tools->tools[0].group, TOOLSET_GROUP(CATALOG_FILESYSTEM_READ));
    assert_int_equal(tools->tools[1].group, TOOLSET_OTHER);
    /* MCP clients refuse a schema without a type at the top. */
    assert_true(str_find(tools->tools[1].listing.text,
                         STR("\"inputSchema\":{\"type\":\"object\",\"anyOf\"")) != SIZE_MAX);
}

static void machines_with_the_same_tools_share_them(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    unsigned groups;

    (void)state;
    open_hub(&scene, NULL);
    pair(&scene, ALICE, TOOLS("read_file"));
    pair(&scene, BOB, TOOLS("read_file"));
    assert_ptr_equal(hub_tools(scene.hub, ALICE, &groups), hub_tools(scene.hub, BOB, &groups));
    hub_dismiss(scene.hub, ALICE);
    assert_null(hub_tools(scene.hub, ALICE, &groups));
    assert_int_equal(hub_tools(scene.hub, BOB, &groups)->count, 1);
}

static void a_second_machine_takes_over(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct stream stream = {.count = 0};
    struct outcome outcome;
    struct init first;

    (void)state;
    open_hub(&scene, NULL);
    first = pair(&scene, ALICE, TOOLS("one"));
    assert_int_equal(open_stream(&scene, first.key, &stream), 0);
    assert_int_equal(call(&scene, ALICE, "one", "{}", &outcome), 0);
    pair(&scene, ALICE, TOOLS("two"));
    assert_string_equal(stream.last, "{\"type\":\"gateway-disconnect\"}");
    assert_true(stream.is_closed);
    assert_int_equal(outcome.error, ERR_GATEWAY_MISSING);
    assert_int_equal(do_init(&scene, first.key, TOOLS("one")).error, ERR_GATEWAY_DENIED);
    assert_int_equal(open_stream(&scene, first.key, &stream), ERR_GATEWAY_DENIED);
}

static void a_second_init_replaces_the_tools(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct stream stream = {.count = 0};
    struct outcome outcome;
    struct init init;
    struct init again;

    (void)state;
    open_hub(&scene, NULL);
    init = pair(&scene, ALICE, TOOLS("one"));
    assert_int_equal(open_stream(&scene, init.key, &stream), 0);
    assert_int_equal(call(&scene, ALICE, "one", "{}", &outcome), 0);
    again = do_init(&scene, init.key, TOOLS("two"));
    assert_int_equal(again.error, 0);
    assert_string_equal(again.key, "");
    /* Its stream and its calls go on. */
    assert_false(stream.is_closed);
    assert_int_equal(respond(&scene, init.key, id_in(&stream), RESULT), 0);
    assert_int_equal(outcome.count, 1);
    assert_int_equal(call(&scene, ALICE, "one", "{}", &outcome), ERR_NOT_FOUND);
    assert_int_equal(call(&scene, ALICE, "two", "{}", &outcome), 0);
}

/* ---- streams ---- */

static void streams_need_init_in_one_dialect_and_not_in_the_other(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct stream early = {.count = 0};
    struct outcome outcome;
    struct hub_link link;

    (void)state;
    open_hub(&scene, NULL);
    link = link_of(&scene, ALICE);
    assert_int_equal(open_stream(&scene, link.token, &early), ERR_GATEWAY_DENIED);
    assert_int_equal(hub_open_stream(scene.hub, HUB_SEED, str_from(link.token), &early, NULL), 0);
    assert_int_equal(do_init(&scene, link.token, TREE).error, 0);
    assert_int_equal(call(&scene, ALICE, "read_file", "{\"filePath\":\"b\"}", &outcome), 0);
    assert_non_null(
        strstr(early.last, "\"operation\":\"read-file\",\"args\":{\"filePath\":\"b\"}"));
}

static void an_early_stream_ends_with_its_token(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct stream early = {.count = 0};
    struct hub_link link;

    (void)state;
    open_hub(&scene, NULL);
    link = link_of(&scene, ALICE);
    assert_int_equal(hub_open_stream(scene.hub, HUB_SEED, str_from(link.token), &early, NULL), 0);
    pass(&scene, HUB_TOKEN_MS);
    assert_true(early.is_closed);
}

static void grace_doubles_with_every_reopening(void **state)
{
    static const int64_t graces[] = {10000, 20000, 40000, 80000, 120000, 120000};
    cleanup_scene struct scene scene = {.changes = 0};
    struct init init;

    (void)state;
    open_hub(&scene, NULL);
    init = pair(&scene, ALICE, TOOLS("one"));
    for (size_t i = 0; i < array_size(graces); i++) {
        struct stream stream = {.count = 0};

        assert_int_equal(open_stream(&scene, init.key, &stream), 0);
        hub_stream_gone(scene.hub, ALICE, &stream);
        pass(&scene, graces[i] - 1);
        assert_true(is_connected(&scene, ALICE));
        pass(&scene, 1);
        assert_false(is_connected(&scene, ALICE));
        /* The key stays good. */
    }
}

static void calls_wait_for_the_stream(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct stream first = {.count = 0};
    struct stream second = {.count = 0};
    struct outcome outcome;
    struct init init;

    (void)state;
    open_hub(&scene, NULL);
    init = pair(&scene, ALICE, TOOLS("one"));
    assert_int_equal(open_stream(&scene, init.key, &first), 0);
    hub_stream_gone(scene.hub, ALICE, &first);
    assert_int_equal(call(&scene, ALICE, "one", "{}", &outcome), 0);
    pass(&scene, 5000);
    assert_int_equal(open_stream(&scene, init.key, &second), 0);
    assert_int_equal(first.count, 0);
    assert_int_equal(second.count, 1);
    assert_int_equal(respond(&scene, init.key, id_in(&second), RESULT), 0);
    assert_int_equal(outcome.count, 1);
    assert_int_equal(outcome.error, 0);
    /* Another stream of the same machine takes its place. */
    assert_int_equal(open_stream(&scene, init.key, &first), 0);
    assert_true(second.is_closed);
    hub_stream_gone(scene.hub, ALICE, &second);
    pass(&scene, HUB_MAX_GRACE_MS);
    assert_true(is_connected(&scene, ALICE));
}

static void calls_fail_when_the_machine_does_not_come_back(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct outcome outcome;

    (void)state;
    open_hub(&scene, NULL);
    pair(&scene, ALICE, TOOLS("one"));
    assert_int_equal(call(&scene, ALICE, "one", "{}", &outcome), 0);
    pass(&scene, HUB_GRACE_MS);
    assert_int_equal(outcome.error, ERR_GATEWAY_MISSING);
    assert_int_equal(call(&scene, ALICE, "one", "{}", &outcome), ERR_GATEWAY_MISSING);
}

/* ---- calls ---- */

static void a_call_and_its_answer(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct stream stream = {.count = 0};
    struct outcome outcome;
    struct init init;
    char id[25];

    (void)state;
    open_hub(&scene, NULL);
    init = pair(&scene, ALICE, TOOLS("one"));
    assert_int_equal(open_stream(&scene, init.key, &stream), 0);
    assert_int_equal(call(&scene, ALICE, "one", "{\"a\":\"\\u000a\\r\"}", &outcome), 0);
    snprintf(id, sizeof(id), "%.*s", STR_ARG(id_in(&stream)));
    assert_non_null(
        strstr(stream.last, "{\"type\":\"filesystem-request\",\"payload\":{\"requestId\""));
    /* No line end can leave the event. */
    assert_non_null(
        strstr(stream.last, "\"toolCall\":{\"name\":\"one\",\"arguments\":{\"a\":\"\\n\\r\"}}}}"));
    assert_int_equal(respond(&scene, "", str_from(id), RESULT), ERR_GATEWAY_DENIED);
    assert_int_equal(respond(&scene, "", str_from(id), "{}"), ERR_INVALID_REQUEST);
    assert_int_equal(respond(&scene, "", str_from(id), "x"), ERR_INVALID_JSON);
    assert_int_equal(respond(&scene, init.key, STR("gw_other"), RESULT), ERR_NOT_FOUND);
    assert_int_equal(outcome.count, 0);
    assert_int_equal(respond(&scene, init.key, str_from(id), RESULT), 0);
    assert_string_equal(outcome.text, "{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}");
    assert_int_equal(respond(&scene, init.key, str_from(id), RESULT), ERR_NOT_FOUND);
    assert_int_equal(outcome.count, 1);
}

static void nobody_answers_for_another_user(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct stream stream = {.count = 0};
    struct outcome outcome;
    struct init alice;
    struct init bob;

    (void)state;
    open_hub(&scene, NULL);
    alice = pair(&scene, ALICE, TOOLS("one"));
    bob = pair(&scene, BOB, TOOLS("one"));
    assert_int_equal(open_stream(&scene, alice.key, &stream), 0);
    assert_int_equal(call(&scene, ALICE, "one", "{}", &outcome), 0);
    assert_int_equal(respond(&scene, bob.key, id_in(&stream), RESULT), ERR_NOT_FOUND);
    assert_int_equal(outcome.count, 0);
    assert_int_equal(respond(&scene, alice.key, id_in(&stream), RESULT), 0);
}

/* What the hub remembers of the last key opens nothing. */
static void a_key_counts_in_full_whatever_was_asked_before(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct init alice;
    struct init bob;
    struct init wrong;
    size_t len;

    (void)state;
    open_hub(&scene, NULL);
    alice = pair(&scene, ALICE, TOOLS("one"));
    bob = pair(&scene, BOB, TOOLS("one"));
    len = strlen(alice.key);
    for (size_t i = 0; i < 2; i++) {
        wrong = alice;
        wrong.key[len - 1] = wrong.key[len - 1] == 'x' ? 'y' : 'x';
        assert_int_equal(hub_check_key(scene.hub, str_from(alice.key), NULL), 0);
        assert_int_equal(hub_check_key(scene.hub, str_from(wrong.key), NULL), ERR_GATEWAY_DENIED);
        assert_int_equal(hub_check_key(scene.hub, str_from(bob.key), NULL), 0);
        wrong.key[len - 1] = '\0';
        assert_int_equal(hub_check_key(scene.hub, str_from(alice.key), NULL), 0);
        assert_int_equal(hub_check_key(scene.hub, str_from(wrong.key), NULL), ERR_GATEWAY_DENIED);
    }
    assert_int_equal(hub_check_key(scene.hub, str_from(alice.key), NULL), 0);
    hub_dismiss(scene.hub, ALICE);
    assert_int_equal(hub_check_key(scene.hub, str_from(alice.key), NULL), ERR_GATEWAY_DENIED);
}

/* A call whose answer brings the answer to another one. */
struct chained {
    struct scene *scene;
    const char *key;
    char next[25];
    char text[TEXT_BYTES];
};

static void answer_next(void *data, const struct err *err, const struct json_value *result,
                        struct str text)
{
    struct chained *chained = data;

    assert_null(err);
    assert_non_null(result);
    assert_int_equal(respond(chained->scene, chained->key, str_from(chained->next),
                             "{\"result\":{\"content\":[]}}"),
                     0);
    snprintf(chained->text, sizeof(chained->text), "%.*s", STR_ARG(text));
}

static void an_answer_inside_of_another_does_not_touch_it(void **state)
{
    static const struct hub_call_events events = {.done = answer_next};
    cleanup_arena struct arena arena = ARENA_INIT(1 << 20);
    cleanup_scene struct scene scene = {.changes = 0};
    const struct json_value *arguments;
    struct stream stream = {.count = 0};
    struct init init;
    struct chained chained;
    struct outcome outcome;
    uint64_t number;

    (void)state;
    open_hub(&scene, NULL);
    assert_int_equal(json_parse(&arena, STR("{}"), JSON_LIMITS_DEFAULT, &arguments, NULL), 0);
    init = pair(&scene, ALICE, TOOLS("one"));
    chained = (struct chained){.scene = &scene, .key = init.key};
    assert_int_equal(open_stream(&scene, init.key, &stream), 0);
    for (size_t i = 0; i < 2; i++) { /* the second time, with memory that is used again */
        assert_int_equal(call(&scene, ALICE, "one", "{}", &outcome), 0);
        snprintf(chained.next, sizeof(chained.next), "%.*s", STR_ARG(id_in(&stream)));
        assert_int_equal(hub_call(scene.hub,
                                  &(struct hub_call_request){.user = ALICE,
                                                             .groups = TOOLSET_ALL_GROUPS,
                                                             .tool = STR("one"),
                                                             .arguments = arguments},
                                  &events, &chained, &number, NULL),
                         0);
        assert_int_equal(respond(&scene, init.key, id_in(&stream), RESULT), 0);
        assert_string_equal(chained.text, "{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}");
        assert_int_equal(outcome.count, 1);
        assert_string_equal(outcome.text, "{\"content\":[]}");
    }
}

static void agents_cannot_answer_for_the_user(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct stream stream = {.count = 0};
    struct outcome outcome;
    struct init init;
    uint64_t id;

    (void)state;
    open_hub(&scene, NULL);
    init = pair(&scene, ALICE, TOOLS("one"));
    assert_int_equal(open_stream(&scene, init.key, &stream), 0);
    assert_int_equal(call(&scene, ALICE, "one",
                          "{\"_confirmation\":\"allowOnce\",\"\\u005fconfirmation2\":1,\"a\":1}",
                          &outcome),
                     0);
    assert_non_null(strstr(stream.last, "\"arguments\":{\"a\":1}"));
    assert_null(strstr(stream.last, "\"agent\"")); /* other daemons are not told who it is */
    assert_int_equal(
        call_with(&scene, ALICE, "one", "{\"_confirmation\":\"x\"}", "allowOnce", &outcome, &id),
        0);
    assert_non_null(strstr(stream.last, "\"arguments\":{\"_confirmation\":\"allowOnce\"}"));
}

static void results_have_only_what_belongs_there(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct stream stream = {.count = 0};
    struct outcome outcome;
    struct init init;

    (void)state;
    open_hub(&scene, NULL);
    init = pair(&scene, ALICE, TOOLS("one"));
    assert_int_equal(open_stream(&scene, init.key, &stream), 0);
    assert_int_equal(call(&scene, ALICE, "one", "{}", &outcome), 0);
    assert_int_equal(
        respond(&scene, init.key, id_in(&stream),
                "{\"result\":{\"_meta\":{},\"resultType\":\"x\",\"content\":[{\"type\":"
                "\"what\"},7],\"structuredContent\":[1],\"isError\":true}}"),
        0);
    assert_string_equal(outcome.text,
                        "{\"content\":[{\"type\":\"text\",\"text\":\"(content of an unknown "
                        "type)\"},{\"type\":\"text\",\"text\":\"(content of an unknown "
                        "type)\"}],\"isError\":true}");
    assert_int_equal(call(&scene, ALICE, "one", "{}", &outcome), 0);
    assert_int_equal(respond(&scene, init.key, id_in(&stream), "{\"error\":\"no \\\"\"}"), 0);
    assert_string_equal(outcome.text, "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"error\\\":"
                                      "\\\"no \\\\\\\"\\\"}\"}],\"isError\":true}");
}

static void calls_time_out_by_dialect(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct stream alice = {.count = 0};
    struct stream bob = {.count = 0};
    struct outcome tool;
    struct outcome operation;

    (void)state;
    open_hub(&scene, NULL);
    assert_int_equal(open_stream(&scene, pair(&scene, ALICE, TOOLS("one")).key, &alice), 0);
    assert_int_equal(open_stream(&scene, pair(&scene, BOB, TREE).key, &bob), 0);
    assert_int_equal(call(&scene, ALICE, "one", "{}", &tool), 0);
    assert_int_equal(call(&scene, BOB, "search_files", "{\"query\":\"x\"}", &operation), 0);
    assert_non_null(strstr(bob.last, "\"operation\":\"search-files\""));
    pass(&scene, HUB_SEED_TIMEOUT_MS - 1);
    assert_int_equal(operation.count, 0);
    pass(&scene, 1);
    assert_int_equal(operation.error, ERR_TIMED_OUT);
    assert_int_equal(tool.count, 0);
    assert_int_equal(hub_expire(scene.hub), HUB_N8N_TIMEOUT_MS - HUB_SEED_TIMEOUT_MS);
    pass(&scene, HUB_N8N_TIMEOUT_MS - HUB_SEED_TIMEOUT_MS);
    assert_int_equal(tool.error, ERR_TIMED_OUT);
}

static void events_that_wait_have_a_limit(void **state)
{
    enum { LARGE = 8 << 20, COUNT = HUB_MAX_WAITING_BYTES / LARGE };
    cleanup_scene struct scene scene = {.changes = 0};
    char *arguments = malloc(LARGE + 16);
    struct outcome outcomes[COUNT];

    (void)state;
    open_hub(&scene, NULL);
    pair(&scene, ALICE, TOOLS("one"));
    memcpy(arguments, "{\"a\":\"", 6);
    memset(arguments + 6, 'x', LARGE);
    memcpy(arguments + 6 + LARGE, "\"}", 3);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(call(&scene, ALICE, "one", arguments, &outcomes[i]),
                         i + 1 < COUNT ? 0 : ERR_BUSY);
    hub_dismiss(scene.hub, ALICE);
    pair(&scene, ALICE, TOOLS("one"));
    assert_int_equal(call(&scene, ALICE, "one", arguments, &outcomes[0]), 0);
    free(arguments);
}

static void a_cancelled_call_is_not_answered(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct stream stream = {.count = 0};
    struct outcome outcome;
    struct init init;
    uint64_t id;

    (void)state;
    open_hub(&scene, NULL);
    init = pair(&scene, ALICE, TOOLS("one"));
    assert_int_equal(open_stream(&scene, init.key, &stream), 0);
    assert_int_equal(call_with(&scene, ALICE, "one", "{}", "", &outcome, &id), 0);
    hub_cancel(scene.hub, id);
    hub_cancel(scene.hub, id);
    assert_int_equal(stream.count, 1); /* n8n's daemon knows no cancel */
    assert_int_equal(respond(&scene, init.key, id_in(&stream), RESULT), ERR_NOT_FOUND);
    assert_int_equal(outcome.count, 0);
}

static void our_own_daemon_is_told_of_a_cancel_and_reports_progress(void **state)
{
    static const char body[] = "{\"rootPath\":\"/\",\"tools\":[{\"name\":\"one\",\"inputSchema\":"
                               "{\"type\":\"object\",\"properties\":{}}}],\"extensions\":"
                               "{\"gatehouse\":1}}";
    cleanup_scene struct scene scene = {.changes = 0};
    struct stream stream = {.count = 0};
    struct outcome outcome;
    char events[256];
    struct init init;
    uint64_t id;

    (void)state;
    open_hub(&scene, NULL);
    init = pair(&scene, ALICE, body);
    assert_true(init.has_extensions);
    assert_int_equal(open_stream(&scene, init.key, &stream), 0);
    assert_int_equal(call_with(&scene, ALICE, "one", "{}", "", &outcome, &id), 0);
    assert_non_null(
        strstr(stream.last, "\"toolCall\":{\"name\":\"one\",\"arguments\":{}},\"agent\":\"ci\"}"));
    snprintf(events, sizeof(events),
             "{\"events\":[{\"type\":\"unknown\"},{\"type\":\"progress\",\"requestId\":\"%.*s\","
             "\"done\":7}]}",
             STR_ARG(id_in(&stream)));
    assert_int_equal(hub_extension(scene.hub, str_from(init.key), str_from(events), NULL), 0);
    assert_int_equal(outcome.progress, 7);
    assert_string_equal(scene.reported, "unknown"); /* the server looks whether it knows it */
    hub_cancel(scene.hub, id);
    assert_non_null(
        strstr(stream.last, "{\"type\":\"gatehouse-cancel\",\"payload\":{\"requestId\""));
}

static int query(struct scene *scene, int64_t user, const char *name, struct outcome *outcome,
                 uint64_t *out_id)
{
    static const struct json_value none = {.type = JSON_OBJECT, .span = 1};

    *outcome = (struct outcome){.count = 0};
    return hub_query(scene->hub, user, str_from(name), &none, &CALL, outcome, out_id, NULL);
}

static void our_own_daemon_can_be_asked_and_told_of_decisions(void **state)
{
    static const char body[] = "{\"rootPath\":\"/\",\"tools\":[],\"extensions\":{\"gatehouse\":1}}";
    cleanup_scene struct scene scene = {.changes = 0};
    struct stream stream = {.count = 0};
    struct stream other = {.count = 0};
    struct outcome outcome;
    struct init init;
    struct init bobs;
    uint64_t id;

    (void)state;
    open_hub(&scene, NULL);
    assert_int_equal(query(&scene, ALICE, "rules", &outcome, &id), ERR_GATEWAY_MISSING);
    bobs = pair(&scene, BOB, TOOLS("one"));
    assert_int_equal(open_stream(&scene, bobs.key, &other), 0);
    assert_int_equal(query(&scene, BOB, "rules", &outcome, &id), ERR_UNSUPPORTED);
    init = pair(&scene, ALICE, body);
    assert_int_equal(open_stream(&scene, init.key, &stream), 0);
    assert_int_equal(query(&scene, ALICE, "ru\nles", &outcome, &id), 0);
    assert_non_null(
        strstr(stream.last, "{\"type\":\"gatehouse-query\",\"payload\":{\"requestId\""));
    assert_non_null(strstr(stream.last, "\"query\":\"ru\\nles\",\"arguments\":{}"));
    assert_int_equal(respond(&scene, bobs.key, id_in(&stream), RESULT), ERR_NOT_FOUND);
    assert_int_equal(respond(&scene, init.key, id_in(&stream), RESULT), 0);
    assert_int_equal(outcome.count, 1);
    hub_decide(scene.hub, ALICE, STR("7"), STR("allowOnce"));
    assert_string_equal(stream.last, "{\"type\":\"gatehouse-decision\",\"payload\":{\"questionId\":"
                                     "\"7\",\"answer\":\"allowOnce\"}}");
    hub_decide(scene.hub, BOB, STR("7"), STR("allowOnce"));
    assert_int_equal(other.count, 0); /* it would not understand it */
}

static void lists_come_from_the_tree(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct outcome outcome;

    (void)state;
    open_hub(&scene, NULL);
    pair(&scene, ALICE, TREE);
    assert_int_equal(call(&scene, ALICE, "list_files", "{\"dirPath\":\"src/\"}", &outcome), 0);
    assert_non_null(strstr(outcome.text, "{\"entries\":[{\"path\":\"src/a.c\",\"type\":\"file\","
                                         "\"sizeBytes\":3}]}"));
    assert_int_equal(call(&scene, ALICE, "get_file_tree", "{}", &outcome), 0);
    assert_non_null(strstr(outcome.text, "/srv/a/\\n  src/\\n    a.c\\n  b\\n"));
    assert_int_equal(call(&scene, ALICE, "get_file_tree", "{\"maxDepth\":1}", &outcome), 0);
    assert_null(strstr(outcome.text, "a.c"));
}

static void the_data_of_an_operation_becomes_a_result(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct stream stream = {.count = 0};
    struct outcome outcome;
    struct init init;

    (void)state;
    open_hub(&scene, NULL);
    init = pair(&scene, ALICE, TREE);
    assert_int_equal(open_stream(&scene, init.key, &stream), 0);
    assert_int_equal(call(&scene, ALICE, "read_file", "{\"filePath\":\"b\"}", &outcome), 0);
    assert_int_equal(respond(&scene, init.key, id_in(&stream), "{\"data\":{\"path\":\"b\"}}"), 0);
    assert_string_equal(outcome.text,
                        "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"path\\\":\\\"b\\\"}\"}],"
                        "\"structuredContent\":{\"path\":\"b\"}}");
}

static void files_can_be_switched_off(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct outcome outcome;
    unsigned groups;
    bool is_on;

    (void)state;
    open_hub(&scene, NULL);
    pair(&scene, ALICE, TOOLS("read_file"));
    assert_int_equal(hub_toggle_files(scene.hub, ALICE, &is_on, NULL), 0);
    assert_false(is_on);
    assert_non_null(hub_tools(scene.hub, ALICE, &groups));
    assert_int_equal(groups & TOOLSET_FILES, 0);
    assert_int_equal(call(&scene, ALICE, "read_file", "{}", &outcome), ERR_DENIED_BY_POLICY);
    assert_true(is_connected(&scene, ALICE));
    assert_int_equal(hub_toggle_files(scene.hub, ALICE, &is_on, NULL), 0);
    assert_true(is_on);
    assert_int_equal(call(&scene, ALICE, "read_file", "{}", &outcome), 0);
}

/* ---- the end, and after it ---- */

static void sessions_end(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct stream stream = {.count = 0};
    struct outcome outcome;
    struct init init;

    (void)state;
    open_hub(&scene, NULL);
    init = pair(&scene, ALICE, TOOLS("one"));
    assert_int_equal(open_stream(&scene, init.key, &stream), 0);
    assert_int_equal(call(&scene, ALICE, "one", "{}", &outcome), 0);
    assert_int_equal(hub_leave(scene.hub, str_from(init.key), NULL), 0);
    assert_int_equal(outcome.error, ERR_GATEWAY_MISSING);
    assert_true(stream.is_closed);
    assert_false(scene.has_record);
    assert_int_equal(hub_leave(scene.hub, str_from(init.key), NULL), ERR_GATEWAY_DENIED);
    assert_int_equal(do_init(&scene, init.key, TOOLS("one")).error, ERR_GATEWAY_DENIED);
}

static void a_restart_keeps_machines_and_no_tokens(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct stream stream = {.count = 0};
    struct hub_link link;
    struct hub *before;
    struct init init;

    (void)state;
    open_hub(&scene, NULL);
    init = pair(&scene, ALICE, TOOLS("one"));
    link = link_of(&scene, BOB);
    before = scene.hub;
    open_hub(&scene, NULL);
    hub_free(before);
    assert_true(scene.has_record);
    assert_int_equal(hub_restore(scene.hub, &scene.record, NULL), 0);
    assert_true(is_connected(&scene, ALICE));
    assert_int_equal(open_stream(&scene, init.key, &stream), 0);
    assert_int_equal(do_init(&scene, link.token, TOOLS("one")).error, ERR_GATEWAY_DENIED);
    /* The key itself is nowhere in what was stored. */
    assert_true(str_find(scene.record.init, str_from(init.key)) == SIZE_MAX);
}

static double cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void restore_many(struct scene *scene, int64_t first, int64_t last)
{
    struct hub_record record = {.has_key = true, .init = STR(TOOLS("one"))};

    for (int64_t user = first; user <= last; user++) {
        record.user = user;
        memcpy(record.key_digest, &user, sizeof(user));
        assert_int_equal(hub_restore(scene->hub, &record, NULL), 0);
    }
}

/* What happens with every call must not look at every machine: thousands may come back. */
static double expire_often(struct scene *scene)
{
    enum { TIMES = 2000 };
    double start = cpu_ns();

    for (int i = 0; i < TIMES; i++)
        assert_int_equal(hub_expire(scene->hub), 40000);
    return cpu_ns() - start;
}

static void machines_that_wait_cost_a_call_nothing(void **state)
{
    enum { FEW = 10, MANY = 10000, TRIES = 5, FACTOR = 50 };
    cleanup_scene struct scene scene = {.changes = 0};
    double few;

    (void)state;
    open_hub(&scene, NULL);
    restore_many(&scene, 100, 100 + FEW);
    few = expire_often(&scene);
    restore_many(&scene, 1000, 1000 + MANY);
    for (int i = 0; i < TRIES; i++)
        if (expire_often(&scene) < FACTOR * few)
            return;
    fail_msg("it takes longer the more machines wait");
}

static void many_machines_are_not_forgotten_in_one_turn(void **state)
{
    enum { MANY = 1000, TURNS_MIN = 5, TURNS_MAX = MANY };
    cleanup_scene struct scene scene = {.changes = 0};
    unsigned turns = 1;

    (void)state;
    open_hub(&scene, NULL);
    restore_many(&scene, 1000, 999 + MANY);
    scene.changes = 0;
    clock_fake_advance(&scene.clock, 40000);
    while (hub_expire(scene.hub) == 0 && turns < TURNS_MAX)
        turns++;
    assert_in_range(turns, TURNS_MIN, TURNS_MAX - 1);
    assert_int_equal(scene.changes, MANY);
    assert_int_equal(hub_expire(scene.hub), -1);
}

static void on_credential(void *context, const struct err *err, struct str id)
{
    (void)id;
    *(int *)context = err != NULL ? err->code : 0;
}

static void the_static_key_needs_no_pairing(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct stream stream = {.count = 0};
    struct outcome outcome;
    struct init init;
    int error = 0;

    (void)state;
    open_hub(&scene, "a-long-static-key");
    assert_int_equal(open_stream(&scene, "a-long-static-key", &stream), ERR_GATEWAY_DENIED);
    init = do_init(&scene, "a-long-static-key", TOOLS("one"));
    assert_int_equal(init.error, 0);
    assert_string_equal(init.key, "");
    assert_int_equal(open_stream(&scene, "a-long-static-key", &stream), 0);
    assert_int_equal(call(&scene, ALICE, "one", "{}", &outcome), 0);
    assert_int_equal(respond(&scene, "a-long-static-key", id_in(&stream), RESULT), 0);
    hub_add_credential(scene.hub, STR("a-long-static-key"),
                       STR("{\"name\":\"n\",\"type\":\"t\",\"data\":{}}"), on_credential, &error);
    assert_int_equal(error, ERR_GATEWAY_DENIED);
    assert_int_equal(hub_leave(scene.hub, STR("a-long-static-key"), NULL), 0);
    /* A machine that was paired cannot be driven with it. */
    pair(&scene, ALICE, TOOLS("one"));
    assert_int_equal(open_stream(&scene, "a-long-static-key", &stream), ERR_GATEWAY_DENIED);
}

static void note_user(void *data, int64_t user)
{
    *(int64_t *)data = user;
}

/* Also if it was never used: nobody else hears of the removal. */
static void the_static_key_ends_with_its_user(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct init init;
    int64_t seen = 0;

    (void)state;
    open_hub(&scene, "a-long-static-key");
    hub_next_users(scene.hub, hub_user_count(scene.hub), note_user, &seen);
    assert_int_equal(seen, ALICE);
    hub_forget(scene.hub, BOB);
    assert_int_equal(hub_trust_of(scene.hub, STR("a-long-static-key")), HUB_TRUST_GUESSABLE);
    hub_forget(scene.hub, ALICE);
    assert_int_equal(hub_trust_of(scene.hub, STR("a-long-static-key")), HUB_TRUST_NONE);
    init = do_init(&scene, "a-long-static-key", TOOLS("one"));
    assert_int_equal(init.error, ERR_GATEWAY_DENIED);
}

static void a_save_that_fails_connects_nobody(void **state)
{
    cleanup_scene struct scene scene = {.save_error = ERR_NO_SPACE};
    struct hub_link link;

    (void)state;
    open_hub(&scene, NULL);
    link = link_of(&scene, ALICE);
    assert_int_equal(do_init(&scene, link.token, TOOLS("one")).error, ERR_NO_SPACE);
    assert_false(is_connected(&scene, ALICE));
    scene.save_error = 0;
    assert_int_equal(do_init(&scene, link.token, TOOLS("one")).error, ERR_GATEWAY_DENIED);
}

static void nothing_overtakes_a_save(void **state)
{
    cleanup_scene struct scene scene = {.holds = true};
    struct init init = {.count = 0};
    struct hub_link link;

    (void)state;
    open_hub(&scene, NULL);
    link = link_of(&scene, ALICE);
    hub_init(scene.hub, str_from(link.token), STR(TOOLS("one")), on_init, &init);
    assert_int_equal(init.count, 0);
    /* The token is used up already, and another machine must wait. */
    assert_int_equal(do_init(&scene, link.token, TOOLS("one")).error, ERR_GATEWAY_DENIED);
    link = link_of(&scene, ALICE);
    assert_int_equal(do_init(&scene, link.token, TOOLS("two")).error, ERR_BUSY);
    /* The user disconnects: the machine that was about to come is refused. */
    hub_dismiss(scene.hub, ALICE);
    let_go(&scene);
    assert_int_equal(init.error, ERR_GATEWAY_DENIED);
    assert_false(is_connected(&scene, ALICE));
    assert_false(scene.has_record);
}

static void a_forgotten_user_has_no_machine_and_no_token(void **state)
{
    cleanup_scene struct scene scene = {.changes = 0};
    struct stream stream = {.count = 0};
    struct init machine;
    struct hub_link link;
    int64_t seen = 0;

    (void)state;
    open_hub(&scene, NULL);
    machine = pair(&scene, ALICE, TOOLS("one"));
    assert_int_equal(open_stream(&scene, machine.key, &stream), 0);
    assert_int_equal(hub_create_link(scene.hub, ALICE, &link, NULL), 0);
    assert_true(link.is_new);
    assert_int_equal(hub_create_link(scene.hub, ALICE, &link, NULL), 0);
    assert_false(link.is_new);
    assert_int_equal(hub_trust_of(scene.hub, str_from(machine.key)), HUB_TRUST_SESSION);
    assert_int_equal(hub_trust_of(scene.hub, str_from(link.token)), HUB_TRUST_GUESSABLE);
    assert_int_equal(hub_trust_of(scene.hub, STR("gw_x")), HUB_TRUST_NONE);
    hub_next_users(scene.hub, hub_user_count(scene.hub), note_user, &seen);
    assert_int_equal(seen, ALICE);
    hub_forget(scene.hub, ALICE);
    hub_forget(scene.hub, BOB); /* who was never here */
    assert_true(stream.is_closed);
    assert_int_equal(hub_trust_of(scene.hub, str_from(machine.key)), HUB_TRUST_NONE);
    assert_int_equal(hub_trust_of(scene.hub, str_from(link.token)), HUB_TRUST_NONE);
    seen = 0;
    hub_next_users(scene.hub, hub_user_count(scene.hub), note_user, &seen);
    assert_int_equal(seen, 0);
}

TEST_MAIN(cmocka_unit_test(a_token_pairs_once),
          cmocka_unit_test(a_link_is_handed_out_again_until_it_expires),
          cmocka_unit_test(a_token_that_expired_unnoticed_is_refused),
          cmocka_unit_test(a_bad_body_is_found_before_a_bad_key),
          cmocka_unit_test(unusable_tools_are_skipped),
          cmocka_unit_test(machines_with_the_same_tools_share_them),
          cmocka_unit_test(a_second_machine_takes_over),
          cmocka_unit_test(a_second_init_replaces_the_tools),
          cmocka_unit_test(streams_need_init_in_one_dialect_and_not_in_the_other),
          cmocka_unit_test(an_early_stream_ends_with_its_token),
          cmocka_unit_test(grace_doubles_with_every_reopening),
          cmocka_unit_test(machines_that_wait_cost_a_call_nothing),
          cmocka_unit_test(many_machines_are_not_forgotten_in_one_turn),
          cmocka_unit_test(calls_wait_for_the_stream),
          cmocka_unit_test(calls_fail_when_the_machine_does_not_come_back),
          cmocka_unit_test(a_call_and_its_answer),
          cmocka_unit_test(nobody_answers_for_another_user),
          cmocka_unit_test(a_key_counts_in_full_whatever_was_asked_before),
          cmocka_unit_test(an_answer_inside_of_another_does_not_touch_it),
          cmocka_unit_test(agents_cannot_answer_for_the_user),
          cmocka_unit_test(results_have_only_what_belongs_there),
          cmocka_unit_test(calls_time_out_by_dialect),
          cmocka_unit_test(events_that_wait_have_a_limit),
          cmocka_unit_test(a_cancelled_call_is_not_answered),
          cmocka_unit_test(our_own_daemon_is_told_of_a_cancel_and_reports_progress),
          cmocka_unit_test(our_own_daemon_can_be_asked_and_told_of_decisions),
          cmocka_unit_test(lists_come_from_the_tree),
          cmocka_unit_test(the_data_of_an_operation_becomes_a_result),
          cmocka_unit_test(files_can_be_switched_off), cmocka_unit_test(sessions_end),
          cmocka_unit_test(a_restart_keeps_machines_and_no_tokens),
          cmocka_unit_test(the_static_key_needs_no_pairing),
          cmocka_unit_test(the_static_key_ends_with_its_user),
          cmocka_unit_test(a_save_that_fails_connects_nobody),
          cmocka_unit_test(nothing_overtakes_a_save),
          cmocka_unit_test(a_forgotten_user_has_no_machine_and_no_token))
