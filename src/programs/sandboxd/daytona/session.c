/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/session.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hex.h"
#include "base/rand.h"
#include "programs/sandboxd/daytona/error.h"
#include "programs/sandboxd/daytona/session_internal.h"
#include "programs/sandboxd/executions.h"

enum {
    PIECE_BYTES = 64 << 10,
    /* Output that ends as a word begins waits for what follows it: a prompt must not. */
    WORD_BEGIN = '\x1e',
};

/*
 * $1 is the word. A command comes as a line with the word, `a` or `s` and the number of its lines,
 * and then those; lines without the word are input that no command has read. `command` keeps the
 * shell alive when the text is no valid shell.
 */
static const char driver[] =
    "__gh_w=$1; shift\n"
    "exec 7>&1 8>&2\n"
    "while IFS= read -r __gh_l; do\n"
    "case $__gh_l in *\"$__gh_w \"*) __gh_l=${__gh_l##*\"$__gh_w \"};; *) continue;; esac\n"
    "__gh_k=${__gh_l%% *} __gh_n=${__gh_l#* } __gh_c=\n"
    "while [ \"$__gh_n\" -gt 0 ]; do\n"
    "IFS= read -r __gh_l || exit 1\n"
    "__gh_c=\"$__gh_c$__gh_l\n\"\n"
    "__gh_n=$((__gh_n-1))\n"
    "done\n"
    "if [ \"$__gh_k\" = a ]; then command eval \"$__gh_c\"; else command eval \"$__gh_c\" "
    "</dev/null; fi\n"
    "__gh_e=$?\n"
    "printf '%s%d\\n' \"$__gh_w\" \"$__gh_e\" >&7\n"
    "printf '%s%d\\n' \"$__gh_w\" \"$__gh_e\" >&8\n"
    "done\n";

static const char chooser[] =
    "if command -v bash >/dev/null 2>&1; then exec bash -c \"$1\" bash \"$2\";"
    " else exec sh -c \"$1\" sh \"$2\"; fi";

/* ---- followers ---- */

void log_follower_free(struct log_follower *follower)
{
    list_remove(&follower->node);
    free(follower);
}

void session_pace(struct shell_session *session)
{
    const struct session_command *command = session->present;
    bool is_behind = false;

    if (command != NULL)
        list_each (node, &command->followers)
            if (list_entry(node, struct log_follower, node)->next < sessionlog_end(&command->log))
                is_behind = true;
    run_pace(&session->run, is_behind);
}

/* Sends what there is, up to what the client takes; closes at the end. */
void log_follower_send(struct log_follower *follower)
{
    const struct session_command *command = follower->command;

    if (follower->next < command->log.dropped)
        follower->next = command->log.dropped;
    while (follower->next < sessionlog_end(&command->log) &&
           wsserve_kept(follower->socket) < SESSION_HIGH_BYTES) {
        struct str piece =
            str_slice(sessionlog_from(&command->log, follower->next), 0, PIECE_BYTES);

        if (wsserve_send(follower->socket, WEBSOCKET_BINARY, piece) < 0)
            return; /* it closes, or is full until it has drained */
        follower->next += piece.len;
    }
    if (!command->has_ended || follower->next < sessionlog_end(&command->log))
        return;
    wsserve_close(follower->socket, WEBSOCKET_NORMAL, STR_EMPTY);
    log_follower_free(follower);
}

/* ---- commands ---- */

static void count_bytes(struct session_command *command)
{
    command->session->service->history_bytes += command->log.bytes.len - command->counted;
    command->counted = command->log.bytes.len;
}

static void add_output(struct session_command *command, enum room_stream stream, struct str bytes)
{
    uint64_t keep;

    sessionlog_add(&command->log, stream == ROOM_STDOUT ? SESSIONLOG_STDOUT : SESSIONLOG_STDERR,
                   bytes);
    list_each_safe (node, &command->followers)
        log_follower_send(list_entry(node, struct log_follower, node));
    keep = sessionlog_end(&command->log);
    list_each (node, &command->followers) {
        const struct log_follower *follower = list_entry(node, struct log_follower, node);

        if (follower->next < keep)
            keep = follower->next;
    }
    sessionlog_trim(&command->log,
                    command->session->service->history_bytes > EXECUTIONS_ALL_KEPT_BYTES
                        ? EXECUTIONS_LEAST_BYTES
                        : EXECUTIONS_KEPT_BYTES,
                    keep);
    count_bytes(command);
}

/* Appends output, stdout and stderr. */
void shell_command_put_output(struct json_writer *json, const struct session_command *command,
                              bool has_labels)
{
    cleanup_buf struct buf text = BUF_INIT(2 * (size_t)EXECUTIONS_KEPT_BYTES);

    if (!has_labels)
        (void)sessionlog_split(&command->log, true, true, &text);
    json_put_str_lossy(json, STR("output"),
                       has_labels ? buf_view(&command->log.bytes) : buf_view(&text));
    buf_clear(&text);
    (void)sessionlog_split(&command->log, true, false, &text);
    json_put_str_lossy(json, STR("stdout"), buf_view(&text));
    buf_clear(&text);
    (void)sessionlog_split(&command->log, false, true, &text);
    json_put_str_lossy(json, STR("stderr"), buf_view(&text));
}

static void answer_executed(struct session_command *command)
{
    cleanup_buf struct buf out = BUF_INIT(16 * (size_t)EXECUTIONS_KEPT_BYTES);
    struct exchange *exchange = command->waiter;
    struct json_writer json;

    command->waiter = NULL;
    exchange_watch(exchange, NULL, NULL);
    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_put_str(&json, STR("cmdId"), str_from(command->id));
    shell_command_put_output(&json, command, toolbox_is_old_client(exchange_request(exchange)));
    json_put_int(&json, STR("exitCode"), command->exit_code);
    json_end_object(&json);
    toolbox_answer_json(exchange, &json, &out);
}

static void end_command(struct session_command *command, int exit_code)
{
    command->has_ended = true;
    command->exit_code = exit_code;
    list_each_safe (node, &command->followers)
        log_follower_send(list_entry(node, struct log_follower, node));
    if (command->waiter != NULL)
        answer_executed(command);
}

static void free_command(struct session_command *command)
{
    struct shell_session *session = command->session;

    if (command->waiter != NULL) {
        struct exchange *exchange = command->waiter;

        exchange_watch(exchange, NULL, NULL);
        daytona_fail(exchange, 410, "SESSION_ENDED", "the session was deleted");
    }
    while (!list_is_empty(&command->followers)) {
        struct log_follower *follower =
            list_entry(command->followers.next, struct log_follower, node);

        wsserve_close(follower->socket, WEBSOCKET_GOING_AWAY, STR("the session was deleted"));
        log_follower_free(follower);
    }
    list_remove(&command->node);
    session->command_count--;
    sessionlog_done(&command->log);
    count_bytes(command);
    free(command->text);
    free(command);
}

/* Makes room by forgetting the oldest that is over. */
static bool make_room(struct shell_session *session)
{
    if (session->command_count < SESSION_MOST_COMMANDS)
        return true;
    list_each_safe (node, &session->commands) {
        struct session_command *command = list_entry(node, struct session_command, node);

        if (command->has_ended && list_is_empty(&command->followers)) {
            free_command(command);
            return true;
        }
    }
    return false;
}

struct session_command *shell_command_new(struct shell_session *session, struct str text)
{
    struct session_command *command =
        make_room(session) ? calloc(1, sizeof(struct session_command)) : NULL;

    if (command == NULL)
        return NULL;
    command->text = strndup(text.ptr, text.len);
    if (command->text == NULL) {
        free(command);
        return NULL;
    }
    command->session = session;
    call_make_uuid(command->id);
    sessionlog_init(&command->log);
    list_init(&command->followers);
    list_append(&session->commands, &command->node);
    session->command_count++;
    return command;
}

/* ---- the shell ---- */

/* Gives the shell its next command, if it has none. */
void session_send_next(struct shell_session *session)
{
    cleanup_buf struct buf frame = BUF_INIT(FEEDER_MAX_BYTES);
    struct session_command *next = NULL;
    size_t lines = 1;

    if (session->state != SESSION_READY)
        return;
    list_each (node, &session->commands) {
        struct session_command *command = list_entry(node, struct session_command, node);

        if (!command->was_sent) {
            next = command;
            break;
        }
    }
    if (next == NULL) {
        run_rest(&session->run);
        return;
    }
    for (const char *at = next->text; *at != '\0'; at++)
        lines += *at == '\n';
    next->was_sent = true;
    if (buf_printf(&frame, "\n%s %c %zu\n%s\n", session->word, next->is_async ? 'a' : 's', lines,
                   next->text) < 0 ||
        feeder_add(&session->feeder, buf_view(&frame)) < 0) {
        end_command(next, -1);
        return;
    }
    session->present = next;
    session->state = SESSION_BUSY;
    session->streams[0].is_marked = false;
    session->streams[1].is_marked = false;
    run_work(&session->run);
}

static void end_present(struct shell_session *session)
{
    struct session_command *command = session->present;

    session->present = NULL;
    session->state = SESSION_READY;
    feeder_clear(&session->feeder); /* input that it did not take is nobody's */
    end_command(command, session->exit_code);
    session_pace(session);
    session_send_next(session);
}

/* How much of the end of the text may be the beginning of a mark. */
static size_t beginning_of(struct str text, struct str word)
{
    size_t most = text.len < word.len ? text.len : word.len;

    for (size_t len = most; len > 0; len--)
        if (memcmp(text.ptr + text.len - len, word.ptr, len) == 0)
            return len;
    return 0;
}

/* Reads the number behind a mark; false if more bytes are needed. */
static bool read_mark(struct str after, int *out_code, size_t *out_len)
{
    const char *end = memchr(after.ptr, '\n', after.len);
    int64_t code = -1;

    if (end == NULL && after.len < SESSION_NUMBER_CHARS)
        return false;
    *out_len = end != NULL ? (size_t)(end - after.ptr) + 1 : 0;
    (void)str_to_int64((struct str){after.ptr, *out_len > 0 ? *out_len - 1 : 0}, &code);
    *out_code = (int)code;
    return true;
}

/* Output outside of commands is of their children in the background; it is dropped. */
static void pass_on(struct shell_session *session, enum room_stream stream, struct str bytes)
{
    if (session->present != NULL && !session->streams[stream].is_marked)
        add_output(session->present, stream, bytes);
}

static void take_stream(struct shell_session *session, enum room_stream stream, struct str bytes)
{
    struct shell_stream *state = &session->streams[stream];
    struct str word = str_from(session->word);

    while (bytes.len > 0) {
        size_t at = str_find(bytes, word);
        size_t len = 0;
        int code = -1;

        if (at == SIZE_MAX || !read_mark(str_slice(bytes, at + word.len, bytes.len), &code, &len)) {
            if (at == SIZE_MAX)
                at = bytes.len - beginning_of(bytes, word);
            pass_on(session, stream, str_slice(bytes, 0, at));
            bytes = str_slice(bytes, at, bytes.len);
            memcpy(state->held, bytes.ptr, bytes.len);
            state->held_len = bytes.len;
            return;
        }
        pass_on(session, stream, str_slice(bytes, 0, at));
        bytes = str_slice(bytes, at + word.len + len, bytes.len);
        if (session->present == NULL)
            continue;
        state->is_marked = true;
        session->exit_code = code;
        if (session->streams[0].is_marked && session->streams[1].is_marked)
            end_present(session);
    }
}

static void on_output(void *data, enum room_stream stream, struct str bytes)
{
    cleanup_buf struct buf joined = BUF_INIT(64 << 20);
    struct shell_session *session = data;
    struct shell_stream *state = &session->streams[stream];

    if (state->held_len > 0) {
        if (buf_append(&joined, state->held, state->held_len) < 0 ||
            buf_append_str(&joined, bytes) < 0)
            return;
        state->held_len = 0;
        bytes = buf_view(&joined);
    }
    take_stream(session, stream, bytes);
    session_pace(session);
}

static void answer_creator(struct shell_session *session, int status)
{
    struct exchange *exchange = session->creator;

    session->creator = NULL;
    if (exchange == NULL)
        return;
    exchange_watch(exchange, NULL, NULL);
    if (status == 201)
        call_answer_json(exchange, 201, STR("{}"));
    else
        call_fail(exchange, status, "the sandbox could not start the session's shell");
}

static void on_begin(void *data)
{
    struct shell_session *session = data;

    session->state = SESSION_READY;
    answer_creator(session, 201);
    session_send_next(session);
}

/* The shell has ended: its present command with it, and those that wait never run. */
static void end_session(struct shell_session *session, int exit_code)
{
    session->state = SESSION_ENDED;
    session->present = NULL;
    answer_creator(session, 503);
    run_leave(&session->run);
    feeder_clear(&session->feeder);
    list_each_safe (node, &session->commands) {
        struct session_command *command = list_entry(node, struct session_command, node);

        if (!command->has_ended)
            end_command(command, command->was_sent ? exit_code : -1);
    }
}

static void on_exit_(void *data, const struct room_exit *exit)
{
    struct shell_session *session = data;

    for (size_t i = 0; i < array_size(session->streams); i++)
        pass_on(session, (enum room_stream)i,
                (struct str){session->streams[i].held, session->streams[i].held_len});
    end_session(session, exit->signal != 0 ? 128 + exit->signal : exit->code);
}

static void on_fail(void *data, const struct err *err)
{
    (void)err;
    end_session(data, -1);
}

static void on_refuse(void *data, const struct err *err)
{
    struct shell_session *session = data;
    struct exchange *exchange = session->creator;

    session->creator = NULL;
    session_free(session);
    if (exchange == NULL)
        return;
    exchange_watch(exchange, NULL, NULL);
    call_fail_err(exchange, err);
}

static const struct run_events session_events = {.on_begin = on_begin,
                                                 .on_output = on_output,
                                                 .on_exit = on_exit_,
                                                 .on_fail = on_fail,
                                                 .on_refuse = on_refuse};

void session_free(struct shell_session *session)
{
    run_kill(&session->run);
    answer_creator(session, 503);
    while (!list_is_empty(&session->commands))
        free_command(list_entry(session->commands.next, struct session_command, node));
    list_remove(&session->node);
    feeder_done(&session->feeder);
    run_done(&session->run);
    free(session);
}

void session_forget_all(struct sandbox *sandbox)
{
    while (!list_is_empty(&sandbox->sessions))
        session_free(list_entry(sandbox->sessions.next, struct shell_session, node));
}

struct shell_session *session_new(struct sandbox *sandbox, struct str id)
{
    struct shell_session *session = calloc(1, sizeof(*session));
    unsigned char word[SESSION_WORD_BYTES];
    const char **words;

    if (session == NULL)
        return NULL;
    session->service = sandbox->service;
    session->sandbox = sandbox;
    list_init(&session->commands);
    rand_bytes(word, sizeof(word));
    session->word[0] = WORD_BEGIN;
    hex_text(session->word + 1, word, sizeof(word));
    snprintf(session->id, sizeof(session->id), "%.*s", STR_ARG(id));
    run_init(&session->run, sandbox, &session_events, session);
    feeder_init(&session->feeder, &session->run);
    list_append(&sandbox->sessions, &session->node);
    words = arena_alloc_array(&session->run.arena, 7, sizeof(*words));
    if (words == NULL) {
        session_free(session);
        return NULL;
    }
    memcpy(words, (const char *[]){"/bin/sh", "-c", chooser, "sh", driver, session->word, NULL},
           7 * sizeof(*words));
    session->run.command.argv = words;
    session->run.command.has_input = true;
    return session;
}
