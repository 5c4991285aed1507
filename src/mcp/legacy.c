/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/internal.h"

#include <stdio.h>

#include "base/jsonwrite.h"
#include "base/utf8.h"

/* By enum mcp_revision. */
static const struct str revisions[MCP_REVISIONS] = {
    STR_LITERAL("2025-11-25"), STR_LITERAL("2025-06-18"), STR_LITERAL("2025-03-26"),
    STR_LITERAL("2024-11-05"), STR_LITERAL("2024-10-07"),
};

static const char *const level_names[] = {
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
};

bool mcp_level_from(struct str name, enum mcp_level *out_level)
{
    for (size_t i = 0; i < array_size(level_names); i++) {
        if (str_eq_c(name, level_names[i])) {
            *out_level = (enum mcp_level)i;
            return true;
        }
    }
    return false;
}

const char *mcp_level_name(enum mcp_level level)
{
    return level_names[level];
}

/*
 * The revision that the client requested if we know it, else our newest; the client then decides.
 */
static enum mcp_revision choose_revision(struct str asked)
{
    for (size_t i = 0; i < MCP_REVISIONS; i++) {
        if (str_eq(asked, revisions[i]))
            return (enum mcp_revision)i;
    }
    return MCP_2025_11_25;
}

static int write_welcome(const struct mcp_session *session, struct buf *out)
{
    struct str instructions = session->server->instructions;
    struct json_writer writer;

    json_writer_init(&writer, out);
    json_begin_object(&writer);
    json_key(&writer, STR("protocolVersion"));
    json_write_str(&writer, revisions[session->revision]);
    json_key(&writer, STR("capabilities"));
    json_splice(&writer, buf_view(&session->service->capabilities));
    json_key(&writer, STR("serverInfo"));
    json_splice(&writer, buf_view(&session->service->server_info));
    if (instructions.len > 0) {
        json_key(&writer, STR("instructions"));
        json_write_str(&writer, instructions);
    }
    json_end_object(&writer);
    return json_writer_finish(&writer);
}

/* For the audit log; a client without a name may go without. */
static void take_client(struct mcp_session *session, const struct json_value *info)
{
    struct str name = STR_EMPTY;

    if (info != NULL && json_get_str(info, STR("name"), &name)) {
        name = utf8_cut(name, sizeof(session->client) - 1);
        snprintf(session->client, sizeof(session->client), "%.*s", STR_ARG(name));
    }
}

int mcp_initialize(struct mcp_session *session, const struct mcp_envelope *request, struct err *err)
{
    const struct json_value *capabilities = json_get(request->params, STR("capabilities"));
    cleanup_buf struct buf welcome = BUF_INIT(1 << 20);
    struct str asked;
    int r = mcp_need_str(request->params, STR("protocolVersion"), 64, &asked, err);

    if (r < 0)
        return r;
    if (session->is_initialized) {
        err_set(err, ERR_ALREADY_EXISTS, "the session is already initialized");
        mcp_answer_err_as(session, NULL, request->id, JSONRPC_INVALID_REQUEST, MCP_HTTP_BAD_REQUEST,
                          err);
        return 0;
    }
    session->revision = choose_revision(asked);
    r = write_welcome(session, &welcome);
    if (r < 0)
        return err_set_plain(err, r);
    session->client_asks = mcp_declared_asks(capabilities);
    take_client(session, json_get(request->params, STR("clientInfo")));
    session->is_initialized = true;
    if ((session->client_asks & 1U << MCP_ASK_ROOTS) != 0 && session->host->roots != NULL)
        session->host->roots(session->data, session, NULL);
    mcp_answer(session, NULL, request->id, NULL, buf_view(&welcome));
    return 0;
}

int mcp_ping(struct mcp_session *session, const struct mcp_envelope *request, struct err *err)
{
    (void)err;
    mcp_answer(session, NULL, request->id, NULL, STR("{}"));
    return 0;
}

int mcp_set_level(struct mcp_session *session, const struct mcp_envelope *request, struct err *err)
{
    struct str name = STR_EMPTY;

    if (!json_get_str(request->params, STR("level"), &name) ||
        !mcp_level_from(name, &session->level))
        return err_set_field(
            err, ERR_INVALID_ARGUMENT, "level",
            "level must be one of debug, info, notice, warning, error, critical, alert, emergency");
    mcp_answer(session, NULL, request->id, NULL, STR("{}"));
    return 0;
}

int mcp_subscribe(struct mcp_session *session, const struct mcp_envelope *request, struct err *err)
{
    struct mcp_call *call;
    struct str uri;
    int r = mcp_need_str(request->params, STR("uri"), MCP_MAX_URI_BYTES, &uri, err);

    if (r < 0)
        return r;
    if (mcp_stream_has(session, &session->legacy, uri)) {
        mcp_answer(session, NULL, request->id, NULL, STR("{}"));
        return 0;
    }
    if (session->interest_count + session->reserved_interests >= MCP_MAX_SUBSCRIPTIONS)
        return err_set(err, ERR_BUSY, "the limit of %d subscriptions is reached",
                       MCP_MAX_SUBSCRIPTIONS);
    call = mcp_call_new(session, request, MCP_SUBSCRIBE, err);
    if (call == NULL)
        return err->code;
    call->request.subscribe.uris = arena_new(&call->message->arena, struct str);
    if (call->request.subscribe.uris == NULL)
        return err_set_plain(err, call->message->arena.error);
    call->request.subscribe.uris[0] = uri;
    call->request.subscribe.count = 1;
    return mcp_call_begin(session, call, err);
}

int mcp_unsubscribe(struct mcp_session *session, const struct mcp_envelope *request,
                    struct err *err)
{
    struct str uri;
    int r = mcp_need_str(request->params, STR("uri"), MCP_MAX_URI_BYTES, &uri, err);

    if (r < 0)
        return r;
    /* Unsubscribing from what was never subscribed to is no error. */
    mcp_stream_remove(session, &session->legacy, uri);
    mcp_answer(session, NULL, request->id, NULL, STR("{}"));
    return 0;
}

void mcp_ask_for_roots(struct mcp_session *session)
{
    if (!session->is_initialized || (session->client_asks & 1U << MCP_ASK_ROOTS) == 0 ||
        session->host->roots == NULL)
        return;
    if (session->is_asking_for_roots) {
        session->roots_have_changed = true;
        return;
    }
    session->is_asking_for_roots =
        mcp_send_question(session, NULL, mcp_question_id(session->roots_question),
                          STR("roots/list"), STR_EMPTY) == 0;
    session->roots_have_changed = false;
}

bool mcp_take_roots(struct mcp_session *session, const struct jsonrpc_message *rpc)
{
    const struct json_value *roots = NULL;

    if (!session->is_asking_for_roots || !str_eq_c(rpc->id, session->roots_question))
        return false;
    session->is_asking_for_roots = false;
    if (session->roots_have_changed) {
        mcp_ask_for_roots(session);
        return true;
    }
    if (rpc->result != NULL)
        roots = json_get(rpc->result, STR("roots"));
    session->host->roots(session->data, session,
                         roots != NULL && roots->type == JSON_ARRAY ? roots : NULL);
    return true;
}

enum mcp_era mcp_revision_era(struct str revision)
{
    if (str_eq(revision, STR(MCP_MODERN_REVISION)))
        return MCP_MODERN;
    for (size_t i = 0; i < MCP_REVISIONS; i++) {
        if (str_eq(revision, revisions[i]))
            return MCP_LEGACY;
    }
    return MCP_NO_ERA;
}

struct str mcp_session_revision(const struct mcp_session *session)
{
    return session->is_initialized ? revisions[session->revision] : STR_EMPTY;
}
