/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's side of the gateway protocol, fed with requests: each line is one, its first
 * character says which, the rest is a body. A machine of another user must never get a call or
 * answer one, and what goes out is one line of valid JSON.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "gateway/hub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { USERS = 2, ARENA_BYTES = 64 << 20, MAX_LINES = 64 };

struct scene {
    struct clock clock;
    struct hub *hub;
    char keys[USERS][HUB_SESSION_BYTES];
    char ids[USERS][32]; /* of the last request that the user's stream carried */
    bool is_open[USERS];
    int inits;
};

static void save(void *data, const struct hub_record *record,
                 void (*done)(void *context, int result), void *context)
{
    (void)data;
    (void)record;
    done(context, 0);
}

static void remove_record(void *data, int64_t user)
{
    (void)data;
    (void)user;
}

static void set_files_off(void *data, int64_t user, bool is_off)
{
    (void)data;
    (void)user;
    (void)is_off;
}

static void on_send(void *data, void *stream, struct str json)
{
    struct scene *scene = data;
    size_t user = (size_t)((bool *)stream - scene->is_open);
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_value *document;
    const struct json_value *payload;
    struct str id;

    assert(memchr(json.ptr, '\n', json.len) == NULL && memchr(json.ptr, '\r', json.len) == NULL);
    assert(json_parse(&arena, json, JSON_LIMITS_DEFAULT, &document, NULL) == 0);
    payload = json_get(document, STR("payload"));
    if (payload != NULL && json_get_str(payload, STR("requestId"), &id))
        snprintf(scene->ids[user], sizeof(scene->ids[user]), "%.*s", STR_ARG(id));
}

static void on_close(void *data, void *stream)
{
    (void)data;
    *(bool *)stream = false;
}

static void on_init(void *context, const struct err *err, struct str key, bool has_extensions)
{
    char *out_key = context;

    (void)has_extensions;
    if (err == NULL && key.len > 0)
        snprintf(out_key, HUB_SESSION_BYTES, "%.*s", STR_ARG(key));
}

static void on_done(void *data, const struct err *err, const struct json_value *result,
                    struct str text)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_limits limits = {64 << 20, JSON_LARGEST_MAX_DEPTH};
    const struct json_value *document;

    (void)data;
    assert((err == NULL) == (result != NULL));
    if (err != NULL)
        return;
    assert(json_parse(&arena, text, limits, &document, NULL) == 0);
    assert(json_get(document, STR("content"))->type == JSON_ARRAY);
    assert(json_get(document, STR("_meta")) == NULL);
}

static void add_credential(void *data, const struct hub_credential *credential,
                           void (*done)(void *context, int result), void *context)
{
    (void)data;
    assert(credential->name.len > 0 && credential->type.len > 0);
    assert(credential->data.ptr[0] == '{');
    done(context, 0);
}

static void on_credential(void *context, const struct err *err, struct str id)
{
    (void)context;
    assert(err != NULL || id.len == HUB_CREDENTIAL_ID_BYTES - 1);
}

static const struct hub_store store = {.save = save,
                                       .remove = remove_record,
                                       .set_files_off = set_files_off,
                                       .add_credential = add_credential};
/* Only of a machine that announced the extensions, under its own user. */
static void on_report(void *data, int64_t user, struct str type, const struct json_value *event)
{
    (void)data;
    (void)type;
    assert(user >= 0 && user < USERS);
    assert(event != NULL);
}

static const struct hub_events events = {.send = on_send, .close = on_close, .report = on_report};
static const struct hub_call_events call_events = {.done = on_done};

static void call(struct scene *scene, size_t user, struct str line)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_value *arguments;
    unsigned groups;
    const struct toolset *tools = hub_tools(scene->hub, (int64_t)user, &groups);
    uint64_t id;

    if (tools == NULL || tools->count == 0 ||
        json_parse(&arena, line, JSON_LIMITS_DEFAULT, &arguments, NULL) < 0 ||
        arguments->type != JSON_OBJECT)
        return;
    (void)hub_call(scene->hub,
                   &(struct hub_call_request){.user = (int64_t)user,
                                              .groups = TOOLSET_ALL_GROUPS,
                                              .tool = tools->tools[0].tool.name,
                                              .arguments = arguments,
                                              .confirmation = STR_EMPTY},
                   &call_events, scene, &id, NULL);
}

/* Both go out with words that somebody else chose. */
static void query(struct scene *scene, size_t user, struct str words)
{
    static const struct json_value none = {.type = JSON_OBJECT, .span = 1};
    uint64_t id;

    (void)hub_query(scene->hub, (int64_t)user, words, &none, &call_events, scene, &id, NULL);
    hub_decide(scene->hub, (int64_t)user, words, STR("allowOnce"));
}

static void act(struct scene *scene, struct str line)
{
    size_t user = (unsigned char)(line.ptr[0] - 'a') % USERS;
    struct str key = str_from(scene->keys[user]);
    struct str other = str_from(scene->keys[1 - user]);
    struct str body = str_slice(line, 1, line.len);
    struct hub_link link;

    switch ((unsigned char)(line.ptr[0] - 'a') / USERS) {
    case 0: /* 'a' and 'b' pair, and so on for each of two users */
        if (hub_create_link(scene->hub, (int64_t)user, &link, NULL) == 0)
            hub_init(scene->hub, str_from(link.token), body, on_init, scene->keys[user]);
        break;
    case 1:
        hub_init(scene->hub, key, body, on_init, scene->keys[user]);
        break;
    case 2:
        if (!scene->is_open[user] &&
            hub_open_stream(scene->hub, HUB_N8N, key, &scene->is_open[user], NULL) == 0)
            scene->is_open[user] = true;
        break;
    case 3:
        call(scene, user, body);
        break;
    case 4:
        assert(hub_respond(scene->hub, other, str_from(scene->ids[user]), body, NULL) < 0);
        (void)hub_respond(scene->hub, key, str_from(scene->ids[user]), body, NULL);
        break;
    case 5:
        (void)hub_extension(scene->hub, key, body, NULL);
        hub_add_credential(scene->hub, key, body, on_credential, scene);
        break;
    case 6:
        if (scene->is_open[user]) {
            scene->is_open[user] = false;
            hub_stream_gone(scene->hub, (int64_t)user, &scene->is_open[user]);
        }
        break;
    case 7:
        (void)hub_leave(scene->hub, key, NULL);
        break;
    case 8:
        query(scene, user, body);
        break;
    default:
        clock_fake_advance(&scene->clock, 1000 * (int64_t)(body.len % 128));
        hub_expire(scene->hub);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size};
    struct scene scene = {.inits = 0};
    const struct hub_config config = {.clock = &scene.clock,
                                      .store = &store,
                                      .store_data = &scene,
                                      .events = &events,
                                      .events_data = &scene};
    struct str line;

    clock_fake_init(&scene.clock, 0);
    assert(hub_new(&config, &scene.hub) == 0);
    for (int i = 0; i < MAX_LINES && str_cut(&rest, '\n', &line); i++)
        if (line.len > 0)
            act(&scene, line);
    hub_free(scene.hub);
    return 0;
}
