/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/cdp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/list.h"

enum {
    ARENA_BYTES = 1 << 30,
    MESSAGE_BYTES = 64 << 20,
    EARLY_BYTES = 4096, /* the writing of more may be interrupted */
    METHOD_BYTES = 64,
    SESSION_BYTES = 72,
};

struct cdp_command {
    struct list node;
    int64_t id;
    bool is_done;
    bool is_forgotten;
    bool is_watched; /* and forgotten */
    int error;
    char message[ERR_MESSAGE_BYTES];
    char method[METHOD_BYTES];
    char session[SESSION_BYTES];
    struct cdp_answer answer;
};

struct cdp {
    struct cdp_config config;
    struct buf bytes; /* of a message that is not whole */
    bool is_end_due;  /* the last message was taken before its NUL */
    struct list commands;
    size_t waiting;
    int64_t last_id;
    bool has_ended;
};

int cdp_new(const struct cdp_config *config, struct cdp **out_cdp)
{
    struct cdp *cdp = calloc(1, sizeof(*cdp));

    if (cdp == NULL)
        return ERR_NO_MEMORY;
    cdp->config = *config;
    buf_init(&cdp->bytes, CDP_MAX_MESSAGE);
    list_init(&cdp->commands);
    *out_cdp = cdp;
    return 0;
}

void cdp_answer_done(struct cdp_answer *answer)
{
    arena_done(&answer->arena);
    free(answer->text);
    *answer = (struct cdp_answer)CDP_ANSWER_INIT;
}

static void free_command(struct cdp *cdp, struct cdp_command *command)
{
    list_remove(&command->node);
    cdp->waiting--;
    cdp_answer_done(&command->answer);
    free(command);
}

void cdp_free(struct cdp *cdp)
{
    if (cdp == NULL)
        return;
    list_each_safe (node, &cdp->commands)
        free_command(cdp, list_entry(node, struct cdp_command, node));
    buf_done(&cdp->bytes);
    free(cdp);
}

bool cdp_has_ended(const struct cdp *cdp)
{
    return cdp->has_ended;
}

void cdp_end(struct cdp *cdp)
{
    cdp->has_ended = true;
    list_each_safe (node, &cdp->commands) {
        struct cdp_command *command = list_entry(node, struct cdp_command, node);

        if (!command->is_done)
            command->error = ERR_CONNECTION_LOST;
        command->is_done = true;
        if (command->is_forgotten)
            free_command(cdp, command);
    }
    monitor_tell(cdp->config.monitor);
}

/* ---- what comes ---- */

static struct cdp_command *find_command(struct cdp *cdp, int64_t id)
{
    list_each (node, &cdp->commands) {
        struct cdp_command *command = list_entry(node, struct cdp_command, node);

        if (command->id == id)
            return command;
    }
    return NULL;
}

static void take_refusal(struct cdp_command *command, const struct json_value *error)
{
    struct str words = STR("no reason");

    (void)json_get_str(error, STR("message"), &words);
    command->error = ERR_TOOL_FAILED;
    snprintf(command->message, sizeof(command->message), "%.*s", STR_ARG(words));
}

static void tell_answer(struct cdp *cdp, const struct cdp_command *command)
{
    cdp->config.on_answer(cdp->config.data, str_from(command->session), command->method,
                          command->error < 0 ? command->message : NULL);
}

/* Takes the answer's memory over. */
static void take_answer(struct cdp *cdp, const struct json_value *message, int64_t id,
                        struct cdp_answer *answer)
{
    struct cdp_command *command = find_command(cdp, id);
    const struct json_value *error = json_get(message, STR("error"));
    const struct json_value *result = json_get(message, STR("result"));

    if (command == NULL || command->is_done)
        return; /* it was late */
    if (error != NULL || result == NULL || result->type != JSON_OBJECT)
        take_refusal(command, error != NULL ? error : message);
    command->is_done = true;
    if (command->is_forgotten) {
        if (command->is_watched)
            tell_answer(cdp, command);
        free_command(cdp, command);
        return;
    }
    if (command->error == 0) {
        answer->result = result;
        command->answer = *answer;
        *answer = (struct cdp_answer)CDP_ANSWER_INIT;
    }
    monitor_tell(cdp->config.monitor);
}

int cdp_take(struct cdp *cdp, struct str message)
{
    cleanup_cdp_answer struct cdp_answer answer = {.arena = ARENA_INIT(ARENA_BYTES)};
    const struct json_limits limits = {CDP_MAX_MESSAGE, CDP_MAX_DEPTH};
    const struct json_value *root;
    const struct json_value *params;
    struct str method;
    struct str session = STR_EMPTY;
    int64_t id;
    int r;

    if (cdp->has_ended)
        return ERR_CONNECTION_LOST;
    answer.text = malloc(message.len > 0 ? message.len : 1);
    if (answer.text == NULL)
        return ERR_NO_MEMORY;
    memcpy(answer.text, message.ptr, message.len);
    r = json_parse_mended(&answer.arena, (struct str){answer.text, message.len}, limits, &root,
                          NULL);
    if (r < 0)
        return r;
    if (json_get_int(root, STR("id"), &id)) {
        take_answer(cdp, root, id, &answer);
        return 0;
    }
    if (!json_get_str(root, STR("method"), &method))
        return ERR_INVALID_JSON;
    (void)json_get_str(root, STR("sessionId"), &session);
    params = json_get(root, STR("params"));
    if (params != NULL && params->type == JSON_OBJECT)
        cdp->config.on_event(cdp->config.data, session, method, params);
    return 0;
}

/*
 * Takes a message whose NUL is still to come: Chromium writes that by itself, and to wait for it
 * delays each answer. Nothing but a whole message can be parsed.
 */
static bool is_whole(struct cdp *cdp, struct str part)
{
    return part.len <= EARLY_BYTES && part.ptr[part.len - 1] == '}' && cdp_take(cdp, part) == 0;
}

/* The NUL of a message that was taken early, and white space before it. */
static int skip_end(struct cdp *cdp, struct str *bytes)
{
    while (cdp->is_end_due && bytes->len > 0) {
        cdp->is_end_due = bytes->ptr[0] != '\0';
        if (cdp->is_end_due && strchr(" \t\r\n", bytes->ptr[0]) == NULL)
            return ERR_INVALID_JSON;
        *bytes = str_slice(*bytes, 1, bytes->len);
    }
    return 0;
}

int cdp_receive(struct cdp *cdp, struct str bytes)
{
    int r = skip_end(cdp, &bytes);

    while (bytes.len > 0 && r == 0) {
        const char *end = memchr(bytes.ptr, '\0', bytes.len);
        size_t len = end != NULL ? (size_t)(end - bytes.ptr) : bytes.len;
        struct str part = {bytes.ptr, len};

        if (end == NULL) {
            cdp->is_end_due = cdp->bytes.len == 0 && is_whole(cdp, part);
            return cdp->is_end_due ? 0 : buf_append_str(&cdp->bytes, part);
        }
        bytes = str_slice(bytes, len + 1, bytes.len);
        if (cdp->bytes.len == 0) {
            r = cdp_take(cdp, part);
            continue;
        }
        r = buf_append_str(&cdp->bytes, part);
        if (r == 0)
            r = cdp_take(cdp, buf_view(&cdp->bytes));
        if (cdp->bytes.capacity > MESSAGE_BYTES / 64)
            buf_done(&cdp->bytes); /* one large picture is no reason to keep the room */
        else
            buf_clear(&cdp->bytes);
    }
    return r;
}

/* ---- what goes ---- */

static int write_command(struct buf *out, int64_t id, struct str session, const char *method,
                         struct str params)
{
    int r = buf_printf(out, "{\"id\":%lld,\"method\":\"%s\"", (long long)id, method);

    if (r == 0 && session.len > 0)
        r = buf_printf(out, ",\"sessionId\":\"%.*s\"", STR_ARG(session));
    if (r == 0 && params.len > 0)
        r = buf_append_str(out, STR(",\"params\":"));
    if (r == 0)
        r = buf_append_str(out, params);
    return r == 0 ? buf_append_char(out, '}') : r;
}

int cdp_begin(struct cdp *cdp, struct str session, const char *method, struct str params,
              struct cdp_command **out_command, struct err *err)
{
    cleanup_buf struct buf message = BUF_INIT(MESSAGE_BYTES);
    struct cdp_command *command;
    int r;

    if (cdp->has_ended)
        return err_set(err, ERR_CONNECTION_LOST, "the browser has ended");
    if (cdp->waiting >= CDP_MAX_WAITING)
        return err_set(err, ERR_BUSY, "the browser does not answer");
    r = write_command(&message, cdp->last_id + 1, session, method, params);
    command = r == 0 ? calloc(1, sizeof(*command)) : NULL;
    if (command == NULL)
        return err_set_plain(err, r < 0 ? r : ERR_NO_MEMORY);
    command->id = ++cdp->last_id;
    snprintf(command->method, sizeof(command->method), "%s", method);
    snprintf(command->session, sizeof(command->session), "%.*s", STR_ARG(session));
    list_append(&cdp->commands, &command->node);
    cdp->waiting++;
    r = cdp->config.send(cdp->config.data, buf_view(&message));
    if (r < 0) {
        free_command(cdp, command);
        return err_set(err, r, "cannot send %s to the browser", method);
    }
    *out_command = command;
    return 0;
}

int cdp_finish(struct cdp *cdp, struct cdp_command *command, int64_t deadline_ms,
               bool (*is_over)(void *data), void *data, struct cdp_answer *out_answer,
               struct err *err)
{
    bool is_late = false;
    int r;

    while (!command->is_done && !is_late && (is_over == NULL || !is_over(data)))
        is_late = !monitor_wait(cdp->config.monitor, deadline_ms);
    if (!command->is_done) {
        r = err_set(err, is_late ? ERR_TIMED_OUT : ERR_CANCELLED,
                    is_late ? "the browser did not answer %s in time" : "%s was interrupted",
                    command->method);
        cdp_forget(cdp, command);
        return r;
    }
    r = command->error;
    if (r == ERR_CONNECTION_LOST)
        err_set(err, r, "the browser has ended");
    else if (r < 0)
        err_set(err, r, "%s: %s", command->method, command->message);
    if (r == 0 && out_answer != NULL) {
        *out_answer = command->answer;
        command->answer = (struct cdp_answer)CDP_ANSWER_INIT;
    }
    free_command(cdp, command);
    return r;
}

bool cdp_is_done(const struct cdp_command *command)
{
    return command->is_done;
}

void cdp_forget(struct cdp *cdp, struct cdp_command *command)
{
    if (command->is_done)
        free_command(cdp, command);
    else
        command->is_forgotten = true;
}

void cdp_watch(struct cdp *cdp, struct cdp_command *command)
{
    command->is_watched = true;
    cdp_forget(cdp, command); /* its answer cannot be there: it comes through this thread */
}
