/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/executions.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "programs/sandboxd/run.h"
#include "programs/sandboxd/transcript.h"

enum {
    HIGH_BYTES = 1 << 20, /* unread by a client: its command waits */
    KEY_BYTES = 2 * SANDBOXSTORE_ID_BYTES,
    SHOWN_COMMAND_BYTES = 200, /* of a command, in the list */
    MOST_ROWS = 4096,          /* of a terminal; the same for columns */
    INPUT_RETRY_MS = 2,
};

struct execution {
    struct list node;  /* sandbox->executions */
    struct list ended; /* service->ended, when it is over */
    struct service *service;
    struct sandbox *sandbox;
    char key[KEY_BYTES]; /* in service->executions */
    char id[SANDBOXSTORE_ID_BYTES];
    bool is_plain;
    bool is_attached; /* ends with the connection that started it */
    struct run run;
    struct transcript transcript;
    size_t counted; /* bytes of the transcript, in service->history_bytes */
    struct list followers;
    struct list inputs; /* requests that bring input, the oldest first */
    struct timer retry; /* of the first of them */
    int64_t ended_ms;
    int64_t started_s;
    bool has_exited;
    int exit_code;
    char shown[SHOWN_COMMAND_BYTES + 1]; /* the beginning of the command */
};

struct follower {
    struct list node;
    struct execution *execution;
    struct exchange *exchange;
    int64_t next; /* the first event that was not sent */
    bool has_begun;
    bool is_owner; /* started it */
};

/* A request that brings input; it is answered when the command, or its pipe, has taken all. */
struct input {
    struct list node;
    struct execution *execution;
    struct exchange *exchange;
    size_t taken; /* of the body */
    bool is_last;
};

/* ---- input ---- */

static void end_input(struct input *input, int error)
{
    struct exchange *exchange = input->exchange;

    list_remove(&input->node);
    free(input);
    if (error == 0)
        call_answer_nothing(exchange);
    else
        call_fail(exchange, 409, "the command does not read any more");
}

/* Gives the command what it takes. */
static void feed(void *data)
{
    struct execution *execution = data;

    timer_stop(&execution->retry);
    while (!list_is_empty(&execution->inputs)) {
        struct input *input = list_entry(execution->inputs.next, struct input, node);
        struct str body = exchange_request(input->exchange)->body;
        ssize_t got = 0;

        body = str_slice(body, input->taken, body.len);
        if (execution->run.is_waiting)
            return; /* on_ready() goes on */
        if (execution->run.exec == NULL)
            got = ERR_NOT_FOUND;
        else if (body.len > 0)
            got = room_exec_write(execution->run.exec, body);
        if (got >= 0 && (size_t)got < body.len) {
            input->taken += (size_t)got;
            timer_start(&execution->retry, INPUT_RETRY_MS);
            return;
        }
        if (got >= 0 && input->is_last)
            room_exec_close_input(execution->run.exec);
        end_input(input, got < 0 ? (int)got : 0);
    }
}

static void on_input_gone(void *data)
{
    struct input *input = data;

    list_remove(&input->node);
    free(input);
}

static const struct exchange_events input_events = {.on_gone = on_input_gone};

static void drop_inputs(struct execution *execution)
{
    timer_stop(&execution->retry);
    while (!list_is_empty(&execution->inputs))
        end_input(list_entry(execution->inputs.next, struct input, node), ERR_NOT_FOUND);
}

/* ---- the end of an execution ---- */

static void count_bytes(struct execution *execution)
{
    execution->service->history_bytes += execution->transcript.bytes - execution->counted;
    execution->counted = execution->transcript.bytes;
}

static void free_execution(struct execution *execution)
{
    drop_inputs(execution);
    list_remove(&execution->node);
    list_remove(&execution->ended);
    map_remove(&execution->service->executions, str_from(execution->key));
    transcript_done(&execution->transcript);
    count_bytes(execution);
    run_done(&execution->run);
    free(execution);
}

static void keep_ended(struct execution *execution)
{
    struct service *service = execution->service;

    run_leave(&execution->run);
    drop_inputs(execution);
    execution->ended_ms = loop_now_ms(service->config.loop);
    list_append(&service->ended, &execution->ended);
}

/* ---- followers ---- */

static void free_follower(struct follower *follower)
{
    list_remove(&follower->node);
    free(follower);
}

/* Sends what there is, up to what the client takes. False: the follower is gone. */
static bool send_events(struct follower *follower)
{
    const struct transcript *transcript = &follower->execution->transcript;

    while (follower->next < transcript_next(transcript) &&
           exchange_kept(follower->exchange) < HIGH_BYTES) {
        struct str lines[EXCHANGE_MAX_PARTS];
        size_t bytes = 0;
        size_t count = 0;

        while (count < EXCHANGE_MAX_PARTS && bytes < HIGH_BYTES &&
               follower->next + (int64_t)count < transcript_next(transcript)) {
            lines[count] = transcript_line(transcript, follower->next + (int64_t)count);
            bytes += lines[count++].len;
        }
        if (exchange_write(follower->exchange, lines, count) < 0) {
            exchange_cut(follower->exchange);
            free_follower(follower);
            return false;
        }
        follower->next += (int64_t)count;
    }
    if (transcript->error != 0 && !transcript->is_over) {
        exchange_cut(follower->exchange); /* events are missing, and no end will say so */
        free_follower(follower);
        return false;
    }
    if (transcript->is_over && follower->next == transcript_next(transcript)) {
        exchange_end(follower->exchange);
        free_follower(follower);
        return false;
    }
    return true;
}

/* The output that no follower has yet stays; beyond the limit, the rest goes. */
static void trim(struct execution *execution)
{
    int64_t keep = transcript_next(&execution->transcript);

    list_each (node, &execution->followers) {
        const struct follower *follower = list_entry(node, struct follower, node);

        if (follower->next < keep)
            keep = follower->next;
    }
    transcript_trim(&execution->transcript,
                    execution->service->history_bytes > EXECUTIONS_ALL_KEPT_BYTES
                        ? EXECUTIONS_LEAST_BYTES
                        : EXECUTIONS_KEPT_BYTES,
                    keep);
    count_bytes(execution);
}

static bool is_somebody_behind(const struct execution *execution)
{
    list_each (node, &execution->followers) {
        const struct follower *follower = list_entry(node, struct follower, node);

        if (follower->has_begun && (follower->next < transcript_next(&execution->transcript) ||
                                    exchange_kept(follower->exchange) >= HIGH_BYTES))
            return true;
    }
    return false;
}

static void pace(struct execution *execution)
{
    run_pace(&execution->run, is_somebody_behind(execution));
}

static void pump(struct execution *execution)
{
    list_each_safe (node, &execution->followers) {
        struct follower *follower = list_entry(node, struct follower, node);

        if (follower->has_begun)
            (void)send_events(follower);
    }
    trim(execution);
    pace(execution);
}

/* A plain execution belongs to its connection. */
static bool is_useless(const struct execution *execution)
{
    return execution->is_plain && list_is_empty(&execution->followers);
}

static void kill_and_free(struct execution *execution)
{
    run_kill(&execution->run);
    free_execution(execution);
}

static void on_gone(void *data)
{
    struct follower *follower = data;
    struct execution *execution = follower->execution;
    bool is_over = follower->is_owner && execution->is_attached;

    free_follower(follower);
    if (is_useless(execution) || (is_over && execution->run.is_waiting)) {
        kill_and_free(execution);
        return;
    }
    if (is_over)
        run_kill(&execution->run); /* its end is an event like any other */
    pace(execution);
}

static void on_drained(void *data)
{
    struct execution *execution = ((struct follower *)data)->execution;

    pump(execution);
    if (is_useless(execution))
        kill_and_free(execution);
}

static const struct exchange_events follower_events = {.on_gone = on_gone,
                                                       .on_drained = on_drained};

static struct follower *add_follower(struct execution *execution, struct exchange *exchange,
                                     int64_t next)
{
    struct follower *follower = calloc(1, sizeof(*follower));

    if (follower == NULL) {
        call_fail(exchange, 503, err_text(ERR_NO_MEMORY));
        return NULL;
    }
    *follower = (struct follower){.execution = execution, .exchange = exchange, .next = next};
    list_append(&execution->followers, &follower->node);
    exchange_watch(exchange, &follower_events, follower);
    return follower;
}

static void begin(struct follower *follower)
{
    const struct http_field field = {STR("X-Exec-Id"), str_from(follower->execution->id)};

    exchange_begin(follower->exchange,
                   &(struct http_answer){.status = 200,
                                         .type = STR("application/x-ndjson"),
                                         .fields = &field,
                                         .field_count = follower->execution->is_plain ? 0 : 1});
    follower->has_begun = true;
}

/* ---- the command ---- */

/* Ends the followers by the last event, and keeps what there is for later ones. */
static void settle(struct execution *execution)
{
    keep_ended(execution);
    pump(execution);
    if (is_useless(execution))
        free_execution(execution);
}

static void on_output(void *data, enum room_stream stream, struct str bytes)
{
    struct execution *execution = data;

    transcript_add_output(&execution->transcript,
                          stream == ROOM_STDOUT ? TRANSCRIPT_STDOUT : TRANSCRIPT_STDERR, bytes);
    pump(execution);
    if (is_useless(execution))
        kill_and_free(execution);
}

static void on_exit_(void *data, const struct room_exit *exit)
{
    struct execution *execution = data;

    execution->has_exited = true;
    execution->exit_code = exit->killed ? -1 : exit->code;
    transcript_add_exit(&execution->transcript,
                        &(struct transcript_exit){.exit_code = exit->killed ? -1 : exit->code,
                                                  .took_ms = exit->time_ms,
                                                  .is_timed_out = exit->timed_out,
                                                  .is_killed = exit->killed});
    settle(execution);
}

static void on_fail(void *data, const struct err *err)
{
    struct execution *execution = data;

    transcript_add_error(&execution->transcript, str_from(err->message));
    settle(execution);
}

/* It never ran: whoever waits gets an answer instead of events. */
static void refuse(struct execution *execution, const struct err *err)
{
    while (!list_is_empty(&execution->followers)) {
        struct follower *follower = list_entry(execution->followers.next, struct follower, node);
        struct exchange *exchange = follower->exchange;

        free_follower(follower);
        if (err->code == ERR_SESSION_OVER)
            call_fail_restarted(exchange);
        else
            call_fail_err(exchange, err);
    }
    free_execution(execution);
}

static void on_begin(void *data)
{
    struct execution *execution = data;

    transcript_add_start(&execution->transcript, str_from(execution->id));
    list_each (node, &execution->followers)
        begin(list_entry(node, struct follower, node));
    pump(execution);
    feed(execution);
}

static void on_refuse(void *data, const struct err *err)
{
    refuse(data, err);
}

static const struct run_events run_events = {.on_begin = on_begin,
                                             .on_output = on_output,
                                             .on_exit = on_exit_,
                                             .on_fail = on_fail,
                                             .on_refuse = on_refuse};

/* ---- requests ---- */

static bool read_size(const struct json_value *size, struct room_command *command)
{
    int64_t rows = 0;
    int64_t columns = 0;

    if (!json_get_int(size, STR("rows"), &rows) || !json_get_int(size, STR("columns"), &columns) ||
        rows < 1 || rows > MOST_ROWS || columns < 1 || columns > MOST_ROWS)
        return false;
    command->rows = (unsigned short)rows;
    command->columns = (unsigned short)columns;
    return true;
}

/* Our additions: what is wrong with them, or NULL. */
static const char *read_additions(const struct json_value *object, struct room_command *command)
{
    const struct json_value *terminal = json_get(object, STR("terminal"));
    struct str encoding = STR_EMPTY;
    bool is_on;

    if (!call_member_bool(object, STR("exact_output"), &is_on))
        return "exact_output must be true or false";
    if (!call_member_bool(object, STR("attached"), &is_on))
        return "attached must be true or false";
    if (!call_member_bool(object, STR("stdin"), &command->has_input))
        return "stdin must be true or false";
    if (!call_member_str(object, STR("encoding"), &encoding) ||
        (encoding.len > 0 && !str_eq(encoding, STR("base64"))))
        return "encoding must be base64";
    if (terminal == NULL || terminal->type == JSON_NULL)
        return NULL;
    command->has_terminal = true;
    command->has_input = true;
    return terminal->type == JSON_OBJECT && read_size(terminal, command)
               ? NULL
               : "terminal must have rows and columns, 1 to 4096";
}

/* What is wrong with the request, or NULL. The command's texts are in the arena. */
static const char *read_command(struct arena *arena, const struct json_value *object,
                                struct room_command *command, struct str *out_id)
{
    struct str shell = STR_EMPTY;
    struct str workdir = STR_EMPTY;
    int64_t timeout_ms = 0;
    const char *wrong;

    *command = (struct room_command){.timeout_ms = EXECUTIONS_TIMEOUT_MS};
    if (!json_get_str(object, STR("command"), &shell) || str_trim(shell).len == 0 ||
        str_has_nul(shell))
        return "command must be a text that is not empty";
    if (!call_member_str(object, STR("workdir"), &workdir) || str_has_nul(workdir) ||
        workdir.len >= ROOM_PATH_BYTES || (workdir.len > 0 && workdir.ptr[0] != '/'))
        return "workdir must be an absolute path";
    if (!call_member_int(object, STR("timeout_ms"), &timeout_ms) || timeout_ms < 0 ||
        timeout_ms > EXECUTIONS_MAX_TIMEOUT_MS)
        return "timeout_ms must be a number of milliseconds, at most a day";
    wrong = read_additions(object, command);
    if (wrong != NULL)
        return wrong;
    if (!call_member_str(object, STR("exec_id"), out_id) ||
        (out_id->len > 0 && !call_is_uuid(*out_id)) ||
        (out_id->len == 0 && json_get_str(object, STR("exec_id"), out_id)))
        return "exec_id must be a UUID in lower case";
    if (timeout_ms > 0)
        command->timeout_ms = timeout_ms;
    command->shell = arena_copy(arena, shell);
    command->workdir = workdir.len > 0 ? arena_copy(arena, workdir) : NULL;
    if (command->shell == NULL || (workdir.len > 0 && command->workdir == NULL))
        return "the command is too large";
    return run_add_env(arena, json_get(object, STR("env")), command);
}

static void make_key(const struct sandbox *sandbox, const char *id, char out_key[KEY_BYTES])
{
    snprintf(out_key, KEY_BYTES, "%s/%s", sandbox->record.id, id);
}

static struct execution *find(const struct sandbox *sandbox, struct str id)
{
    char text[SANDBOXSTORE_ID_BYTES];
    char key[KEY_BYTES];

    snprintf(text, sizeof(text), "%.*s", STR_ARG(id));
    make_key(sandbox, text, key);
    return map_get(&sandbox->service->executions, str_from(key));
}

/* The sandbox of the request; NULL after a 404. */
static struct sandbox *find_sandbox(const struct api_call *call)
{
    struct sandbox *sandbox = service_find(call->service, call->ids[0], call->owner);

    if (sandbox == NULL)
        call_fail(call->exchange, 404, "there is no such sandbox");
    return sandbox;
}

/* Sends events from `next` on; to the end of the execution, or as far as there are. */
static void follow(struct execution *execution, struct exchange *exchange, int64_t next)
{
    struct follower *follower;

    if (next < execution->transcript.first) {
        call_fail(exchange, 410, "the events after that one are not kept any more");
        return;
    }
    follower = add_follower(execution, exchange, next);
    if (follower == NULL || execution->run.is_waiting)
        return;
    begin(follower);
    if (send_events(follower))
        pace(execution);
}

static struct execution *new_execution(struct sandbox *sandbox, bool is_plain, struct str id)
{
    struct execution *execution = calloc(1, sizeof(*execution));
    struct service *service = sandbox->service;

    executions_expire(service);
    if (execution == NULL)
        return NULL;
    *execution = (struct execution){.service = service, .sandbox = sandbox, .is_plain = is_plain};
    run_init(&execution->run, sandbox, &run_events, execution);
    list_init(&execution->node);
    list_init(&execution->ended);
    list_init(&execution->followers);
    list_init(&execution->inputs);
    timer_init(&execution->retry, service->config.loop, feed, execution);
    execution->started_s = loop_wall_ms(service->config.loop) / 1000;
    transcript_init(&execution->transcript, is_plain);
    if (id.len > 0)
        snprintf(execution->id, sizeof(execution->id), "%.*s", STR_ARG(id));
    else
        call_make_uuid(execution->id);
    make_key(sandbox, execution->id, execution->key);
    if (map_add(&service->executions, str_from(execution->key), execution) < 0) {
        free(execution);
        return NULL;
    }
    list_append(&sandbox->executions, &execution->node);
    return execution;
}

static void take_additions(struct execution *execution, const struct json_value *object)
{
    struct str encoding = STR_EMPTY;
    struct str text = STR_EMPTY;

    (void)json_get_bool(object, STR("exact_output"), &execution->transcript.is_exact);
    (void)json_get_bool(object, STR("attached"), &execution->is_attached);
    execution->transcript.is_base64 = json_get_str(object, STR("encoding"), &encoding);
    (void)json_get_str(object, STR("command"), &text);
    text = utf8_cut(text, SHOWN_COMMAND_BYTES);
    memcpy(execution->shown, text.ptr, text.len);
}

static void start(const struct api_call *call, bool is_plain)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    struct sandbox *sandbox = find_sandbox(call);
    const struct json_value *object = sandbox != NULL ? call_object(call, &arena, false) : NULL;
    struct room_command checked;
    struct execution *execution;
    struct follower *follower;
    struct str id = STR_EMPTY;
    const char *wrong;

    if (object == NULL)
        return;
    wrong = read_command(&arena, object, &checked, &id);
    if (wrong != NULL) {
        call_fail(call->exchange, 400, wrong);
        return;
    }
    if (is_plain)
        id = STR_EMPTY;
    execution = id.len > 0 ? find(sandbox, id) : NULL;
    if (execution != NULL) {
        follow(execution, call->exchange, 0);
        return;
    }
    execution = new_execution(sandbox, is_plain, id);
    if (execution == NULL) {
        call_fail(call->exchange, 503, "too many executions; try again later");
        return;
    }
    wrong = read_command(&execution->run.arena, object, &execution->run.command, &id);
    take_additions(execution, object);
    follower = wrong == NULL ? add_follower(execution, call->exchange, 0) : NULL;
    if (follower == NULL) {
        if (wrong != NULL)
            call_fail(call->exchange, 400, wrong);
        free_execution(execution);
        return;
    }
    follower->is_owner = true;
    run_begin(&execution->run);
}

void executions_start(const struct api_call *call)
{
    start(call, false);
}

void executions_start_plain(const struct api_call *call)
{
    start(call, true);
}

/* One answer with the events so far. */
static void answer_events(const struct execution *execution, struct exchange *exchange,
                          int64_t next)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    const struct http_field field = {STR("X-Exec-Id"), str_from(execution->id)};
    struct str body;
    int r = 0;

    if (next < execution->transcript.first) {
        call_fail(exchange, 410, "the events after that one are not kept any more");
        return;
    }
    for (; next < transcript_next(&execution->transcript) && r == 0; next++)
        r = buf_append_str(&out, transcript_line(&execution->transcript, next));
    if (r < 0) {
        call_fail(exchange, 503, err_text(r));
        return;
    }
    body = buf_view(&out);
    exchange_answer(exchange, &(struct http_answer){.status = 200,
                                                    .type = STR("application/x-ndjson"),
                                                    .fields = &field,
                                                    .field_count = 1,
                                                    .parts = &body,
                                                    .part_count = 1});
}

void executions_follow(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    struct sandbox *sandbox = find_sandbox(call);
    struct execution *execution;
    struct str text;
    int64_t after = -1;
    bool follows;
    int error = 0;

    if (sandbox == NULL)
        return;
    if (call_query(call, &arena, STR("after"), &text, &error) &&
        (!str_to_int64(text, &after) || after < 0))
        error = ERR_INVALID_ARGUMENT;
    if (error < 0 || call_query_bool(call, STR("follow"), true, &follows) < 0) {
        call_fail(call->exchange, 400,
                  "after must be the number of an event, and follow true or false");
        return;
    }
    execution = find(sandbox, call->ids[1]);
    if (execution == NULL || execution->is_plain)
        call_fail(call->exchange, 404, "there is no such execution");
    else if (after >= transcript_next(&execution->transcript))
        call_fail(call->exchange, 400, "after is beyond the last event");
    else if (follows)
        follow(execution, call->exchange, after + 1);
    else
        answer_events(execution, call->exchange, after + 1);
}

/* Whoever follows learns that no more comes. */
static void forget(struct execution *execution)
{
    struct err err = ERR_INIT;

    err_set(&err, ERR_NOT_FOUND, "the execution was deleted");
    if (execution->run.is_waiting) {
        refuse(execution, &err);
        return;
    }
    transcript_add_error(&execution->transcript, str_from(err.message));
    list_each_safe (node, &execution->followers) {
        struct follower *follower = list_entry(node, struct follower, node);

        if (send_events(follower)) {
            exchange_cut(follower->exchange);
            free_follower(follower);
        }
    }
    kill_and_free(execution);
}

void executions_remove(const struct api_call *call)
{
    struct sandbox *sandbox = find_sandbox(call);
    struct execution *execution;

    if (sandbox == NULL)
        return;
    execution = find(sandbox, call->ids[1]);
    if (execution != NULL && !execution->is_plain)
        forget(execution);
    call_answer_nothing(call->exchange);
}

/* ---- our additions ---- */

void executions_list(const struct api_call *call)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct sandbox *sandbox = find_sandbox(call);
    struct json_writer json;

    if (sandbox == NULL)
        return;
    json_writer_init(&json, &out);
    json_begin_array(&json);
    list_each (node, &sandbox->executions) {
        const struct execution *execution = list_entry(node, struct execution, node);
        bool is_over = execution->transcript.is_over;

        if (execution->is_plain)
            continue;
        json_begin_object(&json);
        json_put_str(&json, STR("exec_id"), str_from(execution->id));
        json_put_str(&json, STR("command"), str_from(execution->shown));
        json_put_str(&json, STR("status"), is_over ? STR("ended") : STR("running"));
        json_put_int(&json, STR("started_at"), execution->started_s);
        if (execution->has_exited)
            json_put_int(&json, STR("exit_code"), execution->exit_code);
        json_put_int(&json, STR("first_seq"), execution->transcript.first);
        json_end_object(&json);
    }
    json_end_array(&json);
    call_answer_written(call->exchange, 200, &json, &out);
}

/* The execution of the request, which has input; NULL after an answer. */
static struct execution *find_fed(const struct api_call *call)
{
    struct sandbox *sandbox = find_sandbox(call);
    struct execution *execution = sandbox != NULL ? find(sandbox, call->ids[1]) : NULL;

    if (sandbox == NULL)
        return NULL;
    if (execution == NULL || execution->is_plain) {
        call_fail(call->exchange, 404, "there is no such execution");
        return NULL;
    }
    if (!execution->run.command.has_input) {
        call_fail(call->exchange, 409, "the command has no standard input");
        return NULL;
    }
    return execution;
}

void executions_input(const struct api_call *call)
{
    struct execution *execution = find_fed(call);
    struct input *input;
    bool is_last;

    if (execution == NULL)
        return;
    if (call_query_bool(call, STR("end"), false, &is_last) < 0) {
        call_fail(call->exchange, 400, "end must be true or false");
        return;
    }
    input = calloc(1, sizeof(*input));
    if (input == NULL) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        return;
    }
    *input = (struct input){.execution = execution, .exchange = call->exchange, .is_last = is_last};
    list_append(&execution->inputs, &input->node);
    exchange_watch(call->exchange, &input_events, input);
    feed(execution);
}

void executions_resize(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    struct execution *execution = find_fed(call);
    const struct json_value *object = execution != NULL ? call_object(call, &arena, false) : NULL;
    struct room_command size;

    if (object == NULL)
        return;
    if (!execution->run.command.has_terminal) {
        call_fail(call->exchange, 409, "the command has no terminal");
    } else if (!read_size(object, &size)) {
        call_fail(call->exchange, 400, "rows and columns must be 1 to 4096");
    } else {
        /* One that has ended has no size; nobody needs to know. */
        execution->run.command.rows = size.rows;
        execution->run.command.columns = size.columns;
        if (execution->run.exec != NULL)
            (void)room_exec_resize(execution->run.exec, size.rows, size.columns);
        call_answer_nothing(call->exchange);
    }
}

/* ---- for the service ---- */

void executions_expire(struct service *service)
{
    int64_t now_ms = loop_now_ms(service->config.loop);

    list_each_safe (node, &service->ended) {
        struct execution *execution = list_entry(node, struct execution, ended);

        if (now_ms - execution->ended_ms < EXECUTIONS_KEPT_MS &&
            service->history_bytes <= EXECUTIONS_ALL_KEPT_BYTES)
            return;
        if (list_is_empty(&execution->followers))
            free_execution(execution);
    }
}

void executions_forget_all(struct sandbox *sandbox)
{
    while (!list_is_empty(&sandbox->executions))
        forget(list_entry(sandbox->executions.next, struct execution, node));
}
