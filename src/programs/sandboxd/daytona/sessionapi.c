/* SPDX-License-Identifier: Apache-2.0 */
/* The requests about sessions. */
#include "programs/sandboxd/daytona/session_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "programs/sandboxd/daytona/error.h"
#include "programs/sandboxd/executions.h"

/* Of a client's message, all of which are ignored. */
enum { SOCKET_BYTES = 64 << 10 };

static struct shell_session *find(const struct sandbox *sandbox, struct str id)
{
    list_each (node, &sandbox->sessions) {
        struct shell_session *session = list_entry(node, struct shell_session, node);

        if (str_eq_c(id, session->id))
            return session;
    }
    return NULL;
}

/* NULL after a 404. */
static struct shell_session *find_session(const struct api_call *call)
{
    struct sandbox *sandbox = toolbox_find(call);
    struct shell_session *session = sandbox != NULL ? find(sandbox, call->ids[1]) : NULL;

    if (sandbox != NULL && session == NULL)
        call_fail(call->exchange, 404, "there is no such session");
    return session;
}

static struct session_command *find_command(const struct api_call *call)
{
    struct shell_session *session = find_session(call);

    if (session == NULL)
        return NULL;
    list_each (node, &session->commands) {
        struct session_command *command = list_entry(node, struct session_command, node);

        if (str_eq_c(call->ids[2], command->id))
            return command;
    }
    daytona_fail(call->exchange, 404, "PROCESS_NOT_FOUND", "there is no such command");
    return NULL;
}

static void on_creator_gone(void *data)
{
    ((struct shell_session *)data)->creator = NULL;
}

static const struct exchange_events creator_events = {.on_gone = on_creator_gone};

void session_create(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    struct sandbox *sandbox = toolbox_find(call);
    const struct json_value *object = sandbox != NULL ? call_object(call, &arena, false) : NULL;
    struct shell_session *session;
    struct str id = STR_EMPTY;

    if (object == NULL)
        return;
    if (!json_get_str(object, STR("sessionId"), &id) || !toolbox_is_id(id)) {
        call_fail(call->exchange, 400, "sessionId must be a text of at most 128 bytes");
        return;
    }
    if (find(sandbox, id) != NULL) {
        call_fail(call->exchange, 409, "there is a session of that name already");
        return;
    }
    session = toolbox_count(&sandbox->sessions) < SESSION_MOST ? session_new(sandbox, id) : NULL;
    if (session == NULL) {
        call_fail(call->exchange, 503, "the sandbox has too many sessions");
        return;
    }
    session->creator = call->exchange;
    exchange_watch(call->exchange, &creator_events, session);
    run_begin(&session->run);
}

static void write_command(struct json_writer *json, const struct session_command *command)
{
    json_begin_object(json);
    json_put_str(json, STR("id"), str_from(command->id));
    json_put_str_lossy(json, STR("command"), str_from(command->text));
    if (command->has_ended)
        json_put_int(json, STR("exitCode"), command->exit_code);
    json_end_object(json);
}

static void write_session(struct json_writer *json, const struct shell_session *session)
{
    json_begin_object(json);
    json_put_str_lossy(json, STR("sessionId"), str_from(session->id));
    json_key(json, STR("commands"));
    json_begin_array(json);
    list_each (node, &session->commands)
        write_command(json, list_entry(node, struct session_command, node));
    json_end_array(json);
    json_end_object(json);
}

void session_list(const struct api_call *call)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    const struct sandbox *sandbox = toolbox_find(call);
    struct json_writer json;

    if (sandbox == NULL)
        return;
    json_writer_init(&json, &out);
    json_begin_array(&json);
    list_each (node, &sandbox->sessions)
        write_session(&json, list_entry(node, struct shell_session, node));
    json_end_array(&json);
    toolbox_answer_json(call->exchange, &json, &out);
}

void session_get(const struct api_call *call)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    const struct shell_session *session = find_session(call);
    struct json_writer json;

    if (session == NULL)
        return;
    json_writer_init(&json, &out);
    write_session(&json, session);
    toolbox_answer_json(call->exchange, &json, &out);
}

void session_remove(const struct api_call *call)
{
    struct shell_session *session = find_session(call);

    if (session == NULL)
        return;
    session_free(session);
    call_answer_nothing(call->exchange);
}

static void answer_accepted(const struct api_call *call, const struct session_command *command)
{
    char text[SANDBOXSTORE_ID_BYTES + 16];

    snprintf(text, sizeof(text), "{\"cmdId\":\"%s\"}", command->id);
    call_answer_json(call->exchange, 202, str_from(text));
}

static void on_waiter_gone(void *data)
{
    ((struct session_command *)data)->waiter = NULL; /* it runs on */
}

static const struct exchange_events waiter_events = {.on_gone = on_waiter_gone};

void session_execute(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    struct shell_session *session = find_session(call);
    const struct json_value *object = session != NULL ? call_object(call, &arena, false) : NULL;
    struct session_command *command;
    struct str text = STR_EMPTY;
    bool is_async = false;
    bool is_async_too = false; /* by the field's older name */

    if (object == NULL)
        return;
    if (!json_get_str(object, STR("command"), &text) || str_trim(text).len == 0 ||
        str_has_nul(text) || text.len > EXECUTIONS_MAX_BODY_BYTES) {
        call_fail(call->exchange, 400, "command must be a text that is not empty");
        return;
    }
    if (!call_member_bool(object, STR("runAsync"), &is_async) ||
        !call_member_bool(object, STR("async"), &is_async_too)) {
        call_fail(call->exchange, 400, "runAsync must be true or false");
        return;
    }
    if (session->state == SESSION_ENDED) {
        daytona_fail(call->exchange, 410, "SESSION_ENDED", "the session's shell has ended");
        return;
    }
    command = shell_command_new(session, text);
    if (command == NULL) {
        call_fail(call->exchange, 503, "the session has too many commands that are not over");
        return;
    }
    command->is_async = is_async || is_async_too;
    if (command->is_async) {
        answer_accepted(call, command);
    } else {
        command->waiter = call->exchange;
        exchange_watch(call->exchange, &waiter_events, command);
    }
    session_send_next(session);
}

void session_get_command(const struct api_call *call)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    const struct session_command *command = find_command(call);
    struct json_writer json;

    if (command == NULL)
        return;
    json_writer_init(&json, &out);
    write_command(&json, command);
    toolbox_answer_json(call->exchange, &json, &out);
}

static void on_follower_drained(void *data)
{
    struct log_follower *follower = data;
    struct shell_session *session = follower->command->session;

    log_follower_send(follower);
    session_pace(session);
}

static void on_follower_gone(void *data)
{
    struct log_follower *follower = data;
    struct shell_session *session = follower->command->session;

    log_follower_free(follower);
    session_pace(session);
}

static const struct wsserve_events follower_events = {.on_drained = on_follower_drained,
                                                      .on_gone = on_follower_gone};

static void follow(const struct api_call *call, struct session_command *command)
{
    const struct websocket_limits limits = {.max_message_bytes = SOCKET_BYTES,
                                            .max_queue_bytes = 4 * SESSION_HIGH_BYTES};
    struct log_follower *follower = calloc(1, sizeof(*follower));

    if (follower == NULL) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        return;
    }
    follower->command = command;
    if (socket_accept(call, NULL, &limits, &follower_events, follower, &follower->socket) < 0) {
        free(follower);
        return;
    }
    list_append(&command->followers, &follower->node);
    log_follower_send(follower);
    session_pace(command->session);
}

void session_logs(const struct api_call *call)
{
    cleanup_buf struct buf out = BUF_INIT(16 * (size_t)EXECUTIONS_KEPT_BYTES);
    struct session_command *command = find_command(call);
    struct json_writer json;
    bool follows = false;

    if (command == NULL)
        return;
    if (call_query_bool(call, STR("follow"), false, &follows) < 0) {
        call_fail(call->exchange, 400, "follow must be true or false");
    } else if (follows) {
        follow(call, command);
    } else if (toolbox_is_old_client(call->request)) {
        if (buf_append_str(&out, buf_view(&command->log.bytes)) < 0)
            call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        else
            toolbox_answer_text(call->exchange, STR("text/plain"), &out);
    } else {
        json_writer_init(&json, &out);
        json_begin_object(&json);
        shell_command_put_output(&json, command, false);
        json_end_object(&json);
        toolbox_answer_json(call->exchange, &json, &out);
    }
}

void session_input(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    struct session_command *command = find_command(call);
    const struct json_value *object = command != NULL ? call_object(call, &arena, false) : NULL;
    struct str data;

    if (object == NULL)
        return;
    if (!json_get_str(object, STR("data"), &data))
        call_fail(call->exchange, 400, "data must be a text");
    else if (command->has_ended)
        daytona_fail(call->exchange, 410, "COMMAND_ALREADY_COMPLETED", "the command has ended");
    else if (command->session->present != command || !command->is_async)
        call_fail(call->exchange, 409, "the command takes no input now");
    else if (feeder_add(&command->session->feeder, data) < 0)
        call_fail(call->exchange, 429, "the command does not read its input; try again later");
    else
        call_answer_nothing(call->exchange);
}
