/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the sandbox service: the first line is a method, a path and its query, the rest a
 * body. The service is whole but for its two ends: this file plays the HTTP server and the rooms.
 * Each request is answered once, with a status of the API and valid JSON; what reaches a room is
 * within its rules.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/secret.h"
#include "isolate/webproxy.h"
#include "net/websocket/serve.h"
#include "programs/sandboxd/api.h"
#include "programs/sandboxd/images.h"
#include "programs/sandboxd/previews.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 64 << 20, MAX_PATH = 2048, MOST_TENANTS = 64 };

#define SANDBOX "00000000-0000-4000-8000-000000000000"

static const char key[] = "0123456789abcdef-of-the-fuzzer";

/* ---- the HTTP server ---- */

struct exchange {
    struct http_request request;
    bool has_begun;
    bool is_over;
    const struct exchange_events *events;
    void *data;
};

static void check_json(struct str text, int status)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_value *document;
    int64_t code;

    assert(json_parse(&arena, text, JSON_LIMITS_DEFAULT, &document, NULL) == 0);
    if (status >= 400) /* one name of each API */
        assert((json_get_int(document, STR("code"), &code) ||
                json_get_int(document, STR("statusCode"), &code)) &&
               code == status);
}

const struct http_request *exchange_request(const struct exchange *exchange)
{
    return &exchange->request;
}

void exchange_mark_connection(struct exchange *exchange)
{
    (void)exchange;
}

void exchange_collect(struct exchange *exchange, size_t max_bytes, exchange_handler *on_complete,
                      void *data)
{
    if (exchange->request.body.len > max_bytes)
        exchange->is_over = true;
    else
        on_complete(data, exchange);
}

void exchange_watch(struct exchange *exchange, const struct exchange_events *events, void *data)
{
    exchange->events = events;
    exchange->data = data;
}

void exchange_answer(struct exchange *exchange, const struct http_answer *answer)
{
    cleanup_buf struct buf body = BUF_INIT(ARENA_BYTES);

    assert(!exchange->is_over && !exchange->has_begun);
    exchange->is_over = true;
    assert(answer->status >= 200 && answer->status < 600 && answer->status != 500);
    for (size_t i = 0; i < answer->part_count; i++)
        assert(buf_append_str(&body, answer->parts[i]) == 0);
    if (str_eq(answer->type, STR("application/json")))
        check_json(buf_view(&body), answer->status);
}

void exchange_answer_error(struct exchange *exchange, int error)
{
    assert(!exchange->is_over && !exchange->has_begun && error < 0);
    exchange->is_over = true;
}

void exchange_begin(struct exchange *exchange, const struct http_answer *head)
{
    assert(!exchange->is_over && !exchange->has_begun && head->status == 200);
    exchange->has_begun = true;
    exchange->request.body = STR_EMPTY;
}

int exchange_write(struct exchange *exchange, const struct str *parts, size_t count)
{
    assert(exchange->has_begun && !exchange->is_over && count <= EXCHANGE_MAX_PARTS);
    for (size_t i = 0; i < count; i++) {
        assert(parts[i].len > 0 && parts[i].ptr[parts[i].len - 1] == '\n');
        check_json(str_slice(parts[i], 0, parts[i].len - 1), 200);
    }
    return 0;
}

size_t exchange_kept(const struct exchange *exchange)
{
    (void)exchange;
    return 0;
}

void exchange_end(struct exchange *exchange)
{
    assert(exchange->has_begun && !exchange->is_over);
    exchange->is_over = true;
}

void exchange_cut(struct exchange *exchange)
{
    exchange->is_over = true;
}

void exchange_stream(struct exchange *exchange, uint64_t max_bytes, exchange_piece *on_piece,
                     exchange_handler *on_complete, void *data)
{
    if (exchange->request.body.len > max_bytes)
        exchange->is_over = true;
    if (!exchange->is_over && exchange->request.body.len > 0)
        on_piece(data, exchange->request.body);
    if (!exchange->is_over)
        on_complete(data, exchange);
}

void exchange_hold_pieces(struct exchange *exchange)
{
    (void)exchange;
}

void exchange_take_pieces(struct exchange *exchange)
{
    (void)exchange;
}

int exchange_upgrade(struct exchange *exchange, struct str lines, exchange_piece *on_piece)
{
    (void)lines;
    (void)on_piece;
    assert(!exchange->is_over && !exchange->has_begun);
    return ERR_INVALID_ARGUMENT;
}

int wsserve_accept(struct loop *loop, struct exchange *exchange, const struct str *protocols,
                   size_t protocol_count, const struct websocket_limits *limits,
                   const struct wsserve_events *events, void *data, struct wsserve **out_socket)
{
    (void)loop;
    (void)protocols;
    (void)protocol_count;
    (void)limits;
    (void)events;
    (void)data;
    (void)out_socket;
    assert(!exchange->is_over && !exchange->has_begun);
    exchange->is_over = true;
    return ERR_INVALID_ARGUMENT;
}

int wsserve_send(struct wsserve *socket, enum websocket_kind kind, struct str bytes)
{
    (void)socket;
    (void)kind;
    (void)bytes;
    return ERR_BUSY;
}

size_t wsserve_kept(const struct wsserve *socket)
{
    (void)socket;
    return 0;
}

void wsserve_close(struct wsserve *socket, uint16_t code, struct str reason)
{
    (void)socket;
    (void)code;
    (void)reason;
}

/* ---- rooms ---- */

struct room {
    char any;
};

static struct room the_room;
static room_started *start_done; /* of the sandbox that is there from the beginning */
static void *start_data;
static bool is_setting_up;

static void check_path(const char *path)
{
    assert(path[0] == '/' && strlen(path) < ROOM_PATH_BYTES);
}

static int be_busy(struct err *err)
{
    return err_set_plain(err, ERR_BUSY);
}

int room_start(struct room_keeper *keeper, const struct room_plan *plan, room_started *done,
               void *data, struct err *err)
{
    (void)keeper;
    assert(strlen(plan->id) < ROOM_ID_BYTES && plan->layer_count <= ROOM_MAX_LAYERS);
    if (!is_setting_up)
        return be_busy(err);
    start_done = done;
    start_data = data;
    return 0;
}

int room_stop(struct room *room, room_done *done, void *data)
{
    (void)room;
    (void)done;
    (void)data;
    return ERR_BUSY;
}

int room_delete(struct room_keeper *keeper, const char *id, room_done *done, void *data)
{
    (void)keeper;
    assert(strlen(id) < ROOM_ID_BYTES);
    done(data, NULL);
    return 0;
}

int room_freeze_system(struct room_keeper *keeper, const char *id, const char *layer,
                       room_done *done, void *data)
{
    return room_freeze(keeper, id, layer, done, data);
}

int room_freeze(struct room_keeper *keeper, const char *id, const char *layer, room_done *done,
                void *data)
{
    (void)keeper;
    (void)id;
    (void)layer;
    (void)done;
    (void)data;
    return ERR_BUSY;
}

int room_layer_delete(struct room_keeper *keeper, const char *layer, room_done *done, void *data)
{
    (void)keeper;
    (void)layer;
    (void)done;
    (void)data;
    return ERR_BUSY;
}

int room_list(struct room_keeper *keeper, bool is_layers, room_names *done, void *data)
{
    (void)keeper;
    (void)is_layers;
    (void)done;
    (void)data;
    return 0;
}

int room_usage(struct room *room, room_used *done, void *data)
{
    (void)room;
    (void)done;
    (void)data;
    return ERR_BUSY;
}

/* What begins with a dash is an option of ours, unless it is behind one that takes any text. */
static void check_git(const char *const *words)
{
    static const char *const ours[] = {"-C",
                                       "--",
                                       "-D",
                                       "-f",
                                       "-m",
                                       "-v",
                                       "-z",
                                       "--allow-empty",
                                       "--bare",
                                       "--branch",
                                       "--config",
                                       "--depth",
                                       "--detach",
                                       "--get",
                                       "--global",
                                       "--hard",
                                       "--initial-branch",
                                       "--keep",
                                       "--local",
                                       "--max-count",
                                       "--merge",
                                       "--mixed",
                                       "--no-edit",
                                       "--no-rebase",
                                       "--porcelain=v2",
                                       "--quiet",
                                       "--set-upstream",
                                       "--soft",
                                       "--source",
                                       "--staged",
                                       "--system",
                                       "--untracked-files=all",
                                       "--worktree"};
    bool is_config = false;

    for (size_t i = 1; words[i] != NULL && strcmp(words[i - 1], "--") != 0; i++) {
        is_config = is_config || strcmp(words[i], "config") == 0;
        if (words[i][0] != '-' || strncmp(words[i], "--format=", 9) == 0 || is_config ||
            strcmp(words[i - 1], "-m") == 0)
            continue;
        assert(str_index(str_from(words[i]), ours, array_size(ours)) != SIZE_MAX);
    }
}

int room_exec(struct room *room, const struct room_command *command,
              const struct room_exec_events *events, struct room_exec **out_exec, struct err *err)
{
    (void)events;
    (void)out_exec;
    assert(room == &the_room);
    if (command->argv != NULL && strcmp(command->argv[0], "git") == 0)
        check_git(command->argv);
    else
        assert(command->argv != NULL || (command->shell != NULL && command->shell[0] != '\0'));
    assert(command->timeout_ms > 0 || command->has_input);
    if (command->workdir != NULL)
        check_path(command->workdir);
    for (size_t i = 0; command->env != NULL && command->env[i] != NULL; i++)
        assert(strchr(command->env[i], '=') != NULL && command->env[i][0] != '=');
    if (command->has_terminal)
        assert(command->rows > 0 && command->columns > 0);
    return be_busy(err);
}

void room_exec_pause(struct room_exec *exec)
{
    (void)exec;
}

void room_exec_resume(struct room_exec *exec)
{
    (void)exec;
}

ssize_t room_exec_write(struct room_exec *exec, struct str bytes)
{
    (void)exec;
    (void)bytes;
    return ERR_NOT_FOUND;
}

void room_exec_close_input(struct room_exec *exec)
{
    (void)exec;
}

int room_exec_resize(struct room_exec *exec, unsigned short rows, unsigned short columns)
{
    (void)exec;
    (void)rows;
    (void)columns;
    return ERR_NOT_FOUND;
}

void room_exec_kill(struct room_exec *exec)
{
    (void)exec;
}

void room_exec_free(struct room_exec *exec)
{
    (void)exec;
}

int room_file_open(struct room *room, const char *path, room_opened *done, void *data)
{
    (void)room;
    (void)done;
    (void)data;
    check_path(path);
    return ERR_BUSY;
}

int room_file_write(struct room *room, const char *path, unsigned flags, int content_fd,
                    uint64_t size, room_done *done, void *data)
{
    (void)room;
    (void)flags;
    (void)content_fd;
    (void)size;
    (void)done;
    (void)data;
    check_path(path);
    return ERR_BUSY;
}

int room_file_put(struct room *room, const char *path, unsigned flags, struct str content,
                  room_done *done, void *data)
{
    (void)room;
    (void)flags;
    (void)content;
    (void)done;
    (void)data;
    check_path(path);
    return ERR_BUSY;
}

int room_file_list(struct room *room, const char *path, bool is_recursive, room_listed *done,
                   void *data)
{
    (void)room;
    (void)is_recursive;
    (void)done;
    (void)data;
    check_path(path);
    return ERR_BUSY;
}

int room_file_stat(struct room *room, const char *path, room_statted *done, void *data)
{
    (void)room;
    (void)done;
    (void)data;
    check_path(path);
    return ERR_BUSY;
}

int room_file_mkdir(struct room *room, const char *path, bool with_parents, room_done *done,
                    void *data)
{
    (void)room;
    (void)with_parents;
    (void)done;
    (void)data;
    check_path(path);
    return ERR_BUSY;
}

int room_file_delete(struct room *room, const char *path, unsigned flags, room_done *done,
                     void *data)
{
    (void)room;
    (void)flags;
    (void)done;
    (void)data;
    check_path(path);
    return ERR_BUSY;
}

int room_file_copy(struct room *room, const char *from, const char *to, unsigned flags,
                   room_done *done, void *data)
{
    (void)room;
    (void)flags;
    (void)done;
    (void)data;
    check_path(from);
    check_path(to);
    return ERR_BUSY;
}

int room_file_move(struct room *room, const char *from, const char *to, unsigned flags,
                   room_done *done, void *data)
{
    return room_file_copy(room, from, to, flags, done, data);
}

int room_connect(struct room *room, uint16_t port, room_connected *done, void *data)
{
    (void)room;
    (void)done;
    (void)data;
    assert(port > 0);
    return ERR_BUSY;
}

/* ---- the web ---- */

const char *const webproxy_variables[] = {NULL};

int webgrant_open(struct webgrant *grant, struct webaccess *access, struct room *room,
                  const struct domainlist *hosts, const char *owner,
                  void (*done)(void *data, const struct err *err), void *data)
{
    (void)owner;
    (void)grant;
    (void)access;
    (void)room;
    (void)done;
    (void)data;
    assert(hosts->count > 0 && hosts->count <= DOMAINLIST_MAX);
    return ERR_BUSY;
}

bool webgrant_is_awaited(const struct webgrant *grant)
{
    (void)grant;
    return false;
}

void webgrant_close(struct webgrant *grant)
{
    (void)grant;
}

void room_keeper_space(const struct room_keeper *keeper, struct room_space *out_space)
{
    (void)keeper;
    *out_space = (struct room_space){.free_bytes = UINT64_C(2) << 30};
}

const struct room_abilities *room_keeper_abilities(const struct room_keeper *keeper)
{
    static const struct room_abilities abilities = {.words = "none"};

    (void)keeper;
    return &abilities;
}

/* ---- the service ---- */

static struct service service;
static struct secret admin_key = SECRET_INIT;
static struct api api = {.service = &service, .admin_key = &admin_key};
static char place[] = "/tmp/fuzz-sandboxd.XXXXXX";

static void on_there(void *data, struct sandbox *sandbox, const struct err *err)
{
    (void)data;
    assert(err == NULL);
    service_release(sandbox);
}

/* One that runs, also if the last request has deleted it. */
static void have_sandbox(void)
{
    static struct sandbox_use use = {.ready = on_there};
    const struct sandboxstore_sandbox record = {.id = SANDBOX};
    const struct room_reached reached = {0};

    if (map_get(&service.sandboxes, STR(SANDBOX)) != NULL)
        return;
    is_setting_up = true;
    assert(service_create(&service, &record, &(struct service_extras){0}, &use, NULL) == 0);
    is_setting_up = false;
    start_done(start_data, NULL, &the_room, &reached);
}

static void remove_place(void)
{
    static const char *const names[] = {"sandboxes.db", "sandboxes.db-wal", "sandboxes.db-shm"};
    char path[sizeof(place) + 32];

    for (size_t i = 0; i < array_size(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", place, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(place);
}

static void set_up(void)
{
    static char keeper; /* only its address matters */
    static struct log log;
    struct service_config config = {.log = &log,
                                    .keeper = (struct room_keeper *)(void *)&keeper,
                                    .idle_stop_ms = 3600000,
                                    .idle_delete_ms = 3600000,
                                    .max_sandboxes = 16};

    if (api.service->config.loop != NULL)
        return;
    log_init(&log, -1, LOG_ERROR, &clock_system);
    assert(mkdtemp(place) != NULL && atexit(remove_place) == 0);
    assert(secret_set(&admin_key, str_from(key)) == 0);
    assert(loop_new(&clock_system, &config.loop) == 0);
    assert(sandboxstore_open(place, &config.store, NULL) == 0);
    assert(service_init(&service, &config, NULL) == 0);
    assert(previews_new(&(struct previews_config){.service = &service,
                                                  .admin_key = str_from(key),
                                                  .is_key = api_is_key,
                                                  .data = &api},
                        &service.previews) == 0);
}

struct tenants {
    size_t count;
    char ids[MOST_TENANTS][SANDBOXSTORE_ID_BYTES];
};

static void take_tenant(void *data, const struct sandboxstore_tenant *tenant)
{
    struct tenants *tenants = data;

    if (tenants->count < MOST_TENANTS)
        memcpy(tenants->ids[tenants->count++], tenant->id, sizeof(tenant->id));
}

/* What the request has made. */
static void tidy_up(void)
{
    static struct tenants tenants;

    tenants.count = 0;
    assert(sandboxstore_each_tenant(service.config.store, take_tenant, &tenants) == 0);
    for (size_t i = 0; i < tenants.count; i++)
        (void)sandboxstore_remove_tenant(service.config.store, str_from(tenants.ids[i]));
    images_evict(service.images);
}

/* ---- a request ---- */

/* "POST /sandboxes?a=b" */
static bool read_line(struct str line, struct http_request *request)
{
    struct str method;

    if (!str_cut(&line, ' ', &method) || !http_method_from(method, &request->method) ||
        line.len == 0 || line.len > MAX_PATH || line.ptr[0] != '/' || str_has_nul(line))
        return false;
    request->target = line;
    (void)str_cut(&line, '?', &request->path);
    request->query = line;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct exchange exchange;
    static char head[] = "X-Api-Key0123456789abcdef-of-the-fuzzer";
    struct str rest = {(const char *)data, size};
    struct str line;

    exchange = (struct exchange){.events = NULL};
    if (!str_cut(&rest, '\n', &line) || !read_line(line, &exchange.request))
        return 0;
    set_up();
    have_sandbox();
    exchange.request.body = rest.ptr != NULL ? rest : STR_EMPTY;
    exchange.request.content_length = exchange.request.body.len;
    exchange.request.head = (struct buf){.data = head, .len = sizeof(head) - 1};
    exchange.request.header_count = 1;
    exchange.request.slots[0] =
        (struct http_slot){.name_len = 9, .value_at = 9, .value_len = sizeof(key) - 1};
    api_handle(&api, &exchange);
    assert(exchange.is_over);
    tidy_up();
    return 0;
}
