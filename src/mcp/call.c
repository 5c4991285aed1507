/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/call.h"

#include <assert.h>

#include "base/jsonwrite.h"
#include "mcp/internal.h"

struct mcp_call *mcp_call_new(struct mcp_session *session, const struct mcp_envelope *request,
                              enum mcp_work work, struct err *err)
{
    struct arena *arena = &request->message->arena;
    struct mcp_call *call;

    if (session->call_count >= MCP_MAX_CALLS) {
        err_set(err, ERR_BUSY, "%d calls are already waiting; try again later", MCP_MAX_CALLS);
        return NULL;
    }
    call = arena_new(arena, struct mcp_call);
    if (call == NULL) {
        err_set_plain(err, arena->error);
        return NULL;
    }
    *call = (struct mcp_call){
        .session = session,
        .message = request->message,
        .origin = request->message->origin,
        .request = {.kind = work},
        .is_modern = request->is_modern,
        .id = request->id,
        .progress_token = request->progress_token,
        .level = request->level,
        .capabilities = request->capabilities,
        .client = request->client,
        .meta = json_get(request->params, STR("_meta")),
    };
    /* The session may be gone before the call. */
    if (!request->is_modern)
        (void)arena_copy_str(arena, str_from(session->client), &call->client);
    list_init(&call->link);
    return call;
}

/* Number of URIs waiting to be subscribed to. */
static size_t uri_count(const struct mcp_call *call)
{
    return call->request.kind == MCP_SUBSCRIBE ? call->request.subscribe.count : 0;
}

int mcp_call_begin(struct mcp_session *session, struct mcp_call *call, struct err *err)
{
    struct mcp_message *message = call->message;
    int r = mcp_check_held(session, message->arena.held - message->counted, err);

    if (r < 0)
        return r;
    r = map_add(&session->call_ids, call->id, call);
    if (r < 0)
        return err_set_plain(err, r);
    list_append(&session->calls, &call->link);
    session->call_count++;
    session->reserved_interests += uri_count(call);
    message->users++;
    if (call->offer != NULL)
        call->offer->users++;
    mcp_message_count(session, message);
    /* A stream without addresses leaves the host nothing to do. */
    if (call->request.kind == MCP_SUBSCRIBE && uri_count(call) == 0)
        mcp_call_finish(call, STR("{}"));
    else
        session->host->start(session->data, call);
    return 0;
}

static void forget_id(struct mcp_session *session, struct mcp_call *call)
{
    void *removed = map_remove(&session->call_ids, call->id);

    assert(removed == call);
    (void)removed;
}

void mcp_call_cancel(struct mcp_session *session, struct mcp_call *call)
{
    forget_id(session, call);
    call->is_cancelled = true;
    mcp_asking_close(session, call, ERR_CANCELLED, false);
    session->host->cancel(session->data, call);
}

/* Unlinks the call from the session's lists and counts. */
static void unlink_call(struct mcp_session *session, struct mcp_call *call)
{
    list_remove(&call->link);
    assert(session->call_count > 0);
    session->call_count--;
    session->reserved_interests -= uri_count(call);
    if (!call->is_cancelled)
        forget_id(session, call);
}

void mcp_call_detach(struct mcp_session *session, struct mcp_call *call)
{
    bool was_cancelled = call->is_cancelled;

    mcp_asking_close(session, call, ERR_CANCELLED, true);
    unlink_call(session, call);
    call->session = NULL;
    call->is_cancelled = true;
    if (!was_cancelled)
        session->host->cancel(session->data, call);
}

void mcp_call_end(struct mcp_call *call)
{
    struct mcp_session *session = call->session;

    call->has_ended = true;
    mcp_asking_done(session, call->asking);
    mcp_offer_unref(call->offer);
    if (session != NULL)
        unlink_call(session, call);
    mcp_message_unref(session, call->message);
}

/* Unsubscribes from a URI that nobody wants. */
static void unwatch(struct mcp_session *session, struct str uri)
{
    if (uri.ptr != NULL && map_get(&session->watched, uri) == NULL)
        session->host->unsubscribe(session->data, session, uri);
}

static int add_uris(struct mcp_session *session, struct mcp_stream *stream,
                    const struct mcp_call *call)
{
    for (size_t i = 0; i < uri_count(call); i++) {
        int r = call->request.subscribe.uris[i].ptr != NULL
                    ? mcp_stream_add(session, stream, call->request.subscribe.uris[i])
                    : 0;

        if (r < 0)
            return r;
    }
    return 0;
}

static int acknowledge(struct mcp_session *session, const struct mcp_call *call)
{
    cleanup_buf struct buf params = BUF_INIT(session->service->out.max);
    struct json_writer writer;
    bool has_uris = false;
    int r;

    json_writer_init(&writer, &params);
    json_begin_object(&writer);
    json_key(&writer, STR("notifications"));
    json_begin_object(&writer);
    for (enum mcp_list list = 0; list < MCP_LISTS; list++) {
        if ((call->lists & 1U << list) == 0)
            continue;
        json_key(&writer, mcp_list_filter(list));
        json_write_bool(&writer, true);
    }
    for (size_t i = 0; i < uri_count(call); i++) {
        if (call->request.subscribe.uris[i].ptr == NULL)
            continue;
        if (!has_uris) {
            json_key(&writer, STR("resourceSubscriptions"));
            json_begin_array(&writer);
            has_uris = true;
        }
        json_write_str(&writer, call->request.subscribe.uris[i]);
    }
    if (has_uris)
        json_end_array(&writer);
    json_end_object(&writer);
    json_key(&writer, STR("_meta"));
    json_begin_object(&writer);
    json_key(&writer, STR(MCP_META_SUBSCRIPTION));
    json_splice(&writer, call->id);
    json_end_object(&writer);
    json_end_object(&writer);
    r = json_writer_finish(&writer);
    if (r == 0)
        mcp_notify(session, call, STR("notifications/subscriptions/acknowledged"),
                   buf_view(&params));
    return r;
}

static int open_stream(struct mcp_session *session, const struct mcp_call *call)
{
    struct mcp_stream *stream;
    int r = mcp_stream_open(session, call, &stream);

    if (r < 0)
        return r;
    r = add_uris(session, stream, call);
    if (r == 0)
        r = acknowledge(session, call);
    if (r < 0)
        mcp_stream_close(session, stream);
    return r;
}

static int subscribe_legacy(struct mcp_session *session, const struct mcp_call *call)
{
    int r;

    if (call->request.subscribe.uris[0].ptr == NULL)
        return ERR_INVALID_ARGUMENT;
    r = add_uris(session, &session->legacy, call);
    if (r == 0)
        mcp_answer(session, call, call->id, NULL, STR("{}"));
    return r;
}

static void finish_subscribe(struct mcp_session *session, const struct mcp_call *call)
{
    int r = call->is_listen ? open_stream(session, call) : subscribe_legacy(session, call);
    struct err err = ERR_INIT;

    if (r == 0)
        return;
    for (size_t i = 0; i < uri_count(call); i++)
        unwatch(session, call->request.subscribe.uris[i]);
    err_set_plain(&err, r);
    mcp_answer_err(session, call, call->id, &err);
}

void mcp_call_finish(struct mcp_call *call, struct str result)
{
    struct mcp_session *session = call->session;

    assert(!call->has_ended && "a call ends once");
    if (session != NULL && !call->is_cancelled) {
        mcp_asking_close(session, call, ERR_CANCELLED, false);
        if (call->request.kind == MCP_SUBSCRIBE)
            finish_subscribe(session, call);
        else
            mcp_answer(session, call, call->id,
                       mcp_stamp(session, call->is_modern, call->is_cacheable), result);
    }
    mcp_call_end(call);
}

/* Each era has its own error for a missing resource. */
static void answer_not_found(struct mcp_session *session, const struct mcp_call *call,
                             const struct err *err)
{
    cleanup_buf struct buf data = BUF_INIT(8 * (size_t)MCP_MAX_URI_BYTES);
    struct json_writer writer;

    json_writer_init(&writer, &data);
    json_begin_object(&writer);
    json_key(&writer, STR("uri"));
    json_write_str(&writer, call->request.kind == MCP_RESOURCE_READ
                                ? call->request.uri
                                : call->request.subscribe.uris[0]);
    /* Clients know a modern one by data that has this member and no other. */
    if (!call->is_modern) {
        json_key(&writer, STR("name"));
        json_write_str(&writer, str_from(err_name(err->code)));
        json_key(&writer, STR("category"));
        json_write_str(&writer, str_from(err_category_name(err_category(err->code))));
    }
    json_end_object(&writer);
    if (json_writer_finish(&writer) < 0)
        buf_clear(&data);
    mcp_answer_error(session, call, call->id,
                     call->is_modern ? JSONRPC_INVALID_PARAMS : MCP_RESOURCE_NOT_FOUND, MCP_HTTP_OK,
                     str_from(err->message[0] != '\0' ? err->message : err_text(err->code)),
                     buf_view(&data));
}

/* Names the capabilities that the client would have to declare. */
static void answer_missing_capability(struct mcp_session *session, const struct mcp_call *call,
                                      const struct err *err)
{
    cleanup_buf struct buf data = BUF_INIT(MCP_CONSTANT_BYTES);
    cleanup_buf struct buf asks = BUF_INIT(MCP_CONSTANT_BYTES);

    if (mcp_write_asks(&asks, call->needed) < 0 ||
        buf_printf(&data, "{\"requiredCapabilities\":%.*s}", STR_ARG(buf_view(&asks))) < 0)
        buf_clear(&data);
    mcp_answer_error(session, call, call->id, MCP_MISSING_CAPABILITY, MCP_HTTP_BAD_REQUEST,
                     str_from(err->message[0] != '\0' ? err->message : err_text(err->code)),
                     buf_view(&data));
}

void mcp_call_fail(struct mcp_call *call, const struct err *err)
{
    struct mcp_session *session = call->session;
    bool is_about_resource = call->request.kind == MCP_RESOURCE_READ ||
                             (call->request.kind == MCP_SUBSCRIBE && !call->is_listen);

    assert(!call->has_ended && "a call ends once");
    if (session != NULL && !call->is_cancelled) {
        mcp_asking_close(session, call, ERR_CANCELLED, false);
        if (call->is_modern && err->code == ERR_CLIENT_CAPABILITY)
            answer_missing_capability(session, call, err);
        else if (is_about_resource && err->code == ERR_NOT_FOUND)
            answer_not_found(session, call, err);
        else
            mcp_answer_err(session, call, call->id, err);
    }
    mcp_call_end(call);
}

static bool may_notify(const struct mcp_call *call)
{
    assert(!call->has_ended);
    return call->session != NULL && !call->is_cancelled;
}

bool mcp_call_wants_progress(const struct mcp_call *call)
{
    return may_notify(call) && call->progress_token.len > 0;
}

static int64_t json_number(uint64_t number)
{
    return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

void mcp_call_progress(struct mcp_call *call, uint64_t done, uint64_t total, const char *text)
{
    cleanup_buf struct buf params = BUF_INIT(64 << 10);
    struct json_writer writer;

    if (!mcp_call_wants_progress(call) || (call->has_progressed && done <= call->progress))
        return;
    call->has_progressed = true;
    call->progress = done;
    json_writer_init(&writer, &params);
    json_begin_object(&writer);
    json_key(&writer, STR("progressToken"));
    json_splice(&writer, call->progress_token);
    json_key(&writer, STR("progress"));
    json_write_int(&writer, json_number(done));
    if (total > 0) {
        json_key(&writer, STR("total"));
        json_write_int(&writer, json_number(total));
    }
    if (text != NULL) {
        json_key(&writer, STR("message"));
        json_write_str_lossy(&writer, str_from(text));
    }
    json_end_object(&writer);
    if (json_writer_finish(&writer) == 0)
        mcp_notify(call->session, call, STR("notifications/progress"), buf_view(&params));
}

void mcp_call_log(struct mcp_call *call, enum mcp_level level, const char *text)
{
    cleanup_buf struct buf params = BUF_INIT(64 << 10);
    struct json_writer writer;

    assert(level < MCP_SILENT);
    if (!may_notify(call) || !call->session->server->has_logging ||
        level < (call->is_modern ? call->level : call->session->level))
        return;
    json_writer_init(&writer, &params);
    json_begin_object(&writer);
    json_key(&writer, STR("level"));
    json_write_str(&writer, str_from(mcp_level_name(level)));
    json_key(&writer, STR("logger"));
    json_write_str(&writer, call->session->server->name);
    json_key(&writer, STR("data"));
    json_write_str_lossy(&writer, str_from(text));
    json_end_object(&writer);
    if (json_writer_finish(&writer) == 0)
        mcp_notify(call->session, call, STR("notifications/message"), buf_view(&params));
}

const struct mcp_request *mcp_call_request(const struct mcp_call *call)
{
    return &call->request;
}

struct mcp_session *mcp_call_session(const struct mcp_call *call)
{
    return call->session;
}

bool mcp_call_is_cancelled(const struct mcp_call *call)
{
    return call->is_cancelled;
}

bool mcp_call_is_modern(const struct mcp_call *call)
{
    return call->is_modern;
}

uint64_t mcp_call_origin(const struct mcp_call *call)
{
    return call->origin;
}

void mcp_call_refuse_uri(struct mcp_call *call, size_t index)
{
    assert(index < uri_count(call));
    call->request.subscribe.uris[index] = (struct str){NULL, 0};
}

void mcp_call_set_data(struct mcp_call *call, void *data)
{
    call->data = data;
}

const struct json_value *mcp_call_meta(const struct mcp_call *call)
{
    return call->meta;
}

struct str mcp_call_client(const struct mcp_call *call)
{
    return call->client;
}

void *mcp_call_data(const struct mcp_call *call)
{
    return call->data;
}
