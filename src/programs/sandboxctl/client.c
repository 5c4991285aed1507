/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and their answers. */
#include "programs/sandboxctl/ctl.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_WAIT_MS = 24 * 60 * 60 * 1000 }; /* a build or a command may be silent for long */

void ctl_write(int fd, struct str text)
{
    while (text.len > 0) {
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        ssize_t written = write(fd, text.ptr, text.len);

        /* Standard input may be the same terminal, and does not block while it is read. */
        if (written < 0 && errno == EAGAIN)
            (void)poll(&wait, 1, -1);
        else if (written < 0 && errno != EINTR)
            return; /* nobody reads */
        if (written > 0)
            text = str_slice(text, (size_t)written, text.len);
    }
}

void ctl_progress(const char *words)
{
    static bool is_shown;

    if (!isatty(STDERR_FILENO) || (words == NULL && !is_shown))
        return;
    is_shown = words != NULL;
    fprintf(stderr, "\r\033[K%s", words != NULL ? words : "");
    fflush(stderr);
}

/* ---- one request ---- */

void request_init(struct ctl_request *request, struct ctl *ctl)
{
    *request = (struct ctl_request){.ctl = ctl, .body = BUF_INIT(CTL_MAX_TEXT_BYTES)};
}

void request_done(struct ctl_request *request)
{
    if (request->call != NULL)
        httpclient_cancel(request->call);
    request->call = NULL;
    buf_done(&request->body);
}

static void on_head(void *data, const struct http_response *response)
{
    struct ctl_request *request = data;
    struct str text;

    request->status = response->status;
    request->is_restarted = http_response_header(response, STR("X-Sandbox-Restarted"), &text);
    request->is_executable = http_response_header(response, STR("X-File-Executable"), &text);
}

static void on_bytes(void *data, struct str bytes)
{
    struct ctl_request *request = data;
    struct str rest;
    struct str line;
    size_t end;

    if (request->take != NULL && request->status == 200) {
        request->take(request->data, bytes);
        return;
    }
    if (buf_append_str(&request->body, bytes) < 0 && request->error == 0)
        request->error = err_set(&request->err, ERR_TOO_LARGE, "the service's answer is too large");
    if (request->take_line == NULL || request->status != 200)
        return;
    rest = buf_view(&request->body);
    while ((end = str_find(rest, STR("\n"))) != SIZE_MAX) {
        line = str_slice(rest, 0, end);
        rest = str_slice(rest, end + 1, rest.len);
        request->take_line(request->data, line);
    }
    buf_drop_front(&request->body, request->body.len - rest.len);
}

/* Once: what it was asked was not done, but can be now. */
static bool repeat(struct ctl_request *request, struct buf *sent)
{
    struct err err = ERR_INIT;

    if (request->is_repeated || !request->is_restarted || request->status != 409)
        return false;
    request->is_repeated = true;
    buf_clear(&request->body);
    ctl_progress(NULL);
    fprintf(stderr, "gatehouse sandbox: the sandbox was restarted: its files are there, its "
                    "processes are not\n");
    return request_send(request, request->method, request->has_body ? sent : NULL, &err) == 0;
}

static void on_done(void *data, const struct httpclient_result *result)
{
    struct ctl_request *request = data;

    request->call = NULL;
    if (result->code < 0 && request->error == 0) {
        request->error = result->code;
        request->err = result->err;
    }
    if (request->error == 0 && repeat(request, result->sent))
        return;
    request->is_over = true;
    if (request->done != NULL)
        request->done(request->data);
}

int request_send(struct ctl_request *request, enum http_method method, struct buf *body,
                 struct err *err)
{
    static const struct httpclient_events events = {
        .on_head = on_head, .on_bytes = on_bytes, .on_done = on_done};
    struct ctl *ctl = request->ctl;
    const struct http_field fields[] = {
        {STR("X-Api-Key"), secret_reveal(&ctl->key)}, /* to send it */
        {STR("Content-Type"), STR("application/json")},
    };
    const struct httpclient_request sent = {.method = method,
                                            .url = &ctl->url,
                                            .target = str_from(request->target),
                                            .fields = fields,
                                            .field_count = body != NULL ? 2 : 1,
                                            .body = body,
                                            .may_repeat = method == HTTP_METHOD_GET,
                                            .head_ms = MAX_WAIT_MS,
                                            .idle_ms = MAX_WAIT_MS};

    request->method = method;
    request->has_body = body != NULL;
    request->is_over = false;
    request->status = 0;
    return httpclient_send(ctl->client, &sent, &events, request, &request->call, err);
}

/* The service's own words for a refusal. */
static int explain(const struct ctl_request *request, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(2 * (size_t)CTL_MAX_TEXT_BYTES);
    const struct json_limits limits = {CTL_MAX_TEXT_BYTES, 4};
    const struct json_value *answer;
    struct str first = STR_EMPTY;
    struct str text;

    if (json_parse(&arena, buf_view(&request->body), limits, &answer, NULL) < 0 ||
        !json_get_str(answer, STR("error"), &text))
        return err_set(err, ERR_TOOL_FAILED, "the service answered %d", request->status);
    (void)str_cut(&text, '\n', &first);
    if (text.len > 0) { /* the output of a step */
        ctl_progress(NULL);
        ctl_write(STDERR_FILENO, text);
        if (text.ptr[text.len - 1] != '\n')
            ctl_write(STDERR_FILENO, STR("\n"));
    }
    return err_set(err, ERR_TOOL_FAILED, "%.*s", STR_ARG(first));
}

/* What the user can do about a certificate. */
static const char *advice_for(int code)
{
    if (code == ERR_TLS_UNTRUSTED)
        return ": install the certificate of its authority, or give it with --ca-file";
    if (code == ERR_TLS_WRONG_HOST)
        return ": use the host name in the certificate with --url, or serve with --public-url";
    return "";
}

int request_result(const struct ctl_request *request, struct err *err)
{
    if (request->error < 0)
        return err_set(err, request->error, "%s%s", request->err.message,
                       advice_for(request->error));
    return request->status >= 300 ? explain(request, err) : 0;
}

int request_wait(struct ctl_request *request, struct err *err)
{
    while (!request->is_over)
        loop_run_once(request->ctl->loop);
    return request_result(request, err);
}

int ctl_ask(struct ctl *ctl, enum http_method method, const char *target, struct buf *body,
            struct err *err)
{
    struct ctl_request request;
    int r;

    request_init(&request, ctl);
    if (snprintf(request.target, sizeof(request.target), "%s", target) >=
        (int)sizeof(request.target))
        return err_set(err, ERR_INVALID_PATH, "the name is too long");
    r = request_send(&request, method, body, err);
    if (r == 0)
        r = request_wait(&request, err);
    buf_done(&ctl->body);
    ctl->body = request.body;
    request.body = (struct buf)BUF_INIT(0);
    request_done(&request);
    return r;
}

void ctl_put_list(struct json_writer *json, struct str name, struct option_list list)
{
    json_key(json, name);
    json_begin_array(json);
    for (size_t i = 0; i < list.count; i++)
        json_write_str(json, str_from(list.items[i]));
    json_end_array(json);
}

int ctl_ask_json(struct ctl *ctl, enum http_method method, const char *target, struct buf *body,
                 struct arena *arena, const struct json_value **out_answer, struct err *err)
{
    const struct json_limits limits = {CTL_MAX_TEXT_BYTES, 8};
    int r = ctl_ask(ctl, method, target, body, err);

    if (r == 0 && json_parse(arena, buf_view(&ctl->body), limits, out_answer, NULL) < 0)
        r = err_set(err, ERR_TOOL_FAILED, "the service's answer makes no sense");
    return r;
}

/* ---- words ---- */

/* Only what an id may have, so that it stays one part of a path. */
static bool is_id(const char *text)
{
    size_t len = strlen(text);

    return len > 0 && len < CTL_ID_BYTES && strspn(text, "0123456789abcdef-") == len;
}

int ctl_find_id(struct ctl *ctl, const char *list, const char *given, char out_id[CTL_ID_BYTES],
                struct err *err)
{
    enum { UUID_CHARS = 36 };
    cleanup_arena struct arena arena = ARENA_INIT(2 * (size_t)CTL_MAX_TEXT_BYTES);
    const struct json_value *answer = NULL;
    size_t found = 0;
    int r;

    if (!is_id(given))
        return err_set(err, ERR_INVALID_OPTION,
                       "'%.40s' is no id: that has only digits, a to f and dashes", given);
    snprintf(out_id, CTL_ID_BYTES, "%s", given);
    if (strlen(given) == UUID_CHARS || strlen(given) == CTL_ID_BYTES - 1)
        return 0;
    r = ctl_ask_json(ctl, HTTP_METHOD_GET, list, NULL, &arena, &answer, err);
    if (r < 0 || answer == NULL)
        return r;
    json_each_item (item, answer) {
        struct str id = STR_EMPTY;

        if (!json_get_str(item, STR("id"), &id) || id.len >= CTL_ID_BYTES ||
            !str_starts_with(id, str_from(given)))
            continue;
        found++;
        snprintf(out_id, CTL_ID_BYTES, "%.*s", STR_ARG(id));
    }
    if (found == 1 && is_id(out_id))
        return 0;
    return err_set(err, ERR_NOT_FOUND,
                   found == 0 ? "no id begins with '%s': 'gatehouse sandbox ls' lists yours"
                              : "several ids begin with '%s': write more of it",
                   given);
}

int ctl_encode(struct buf *out, struct str text)
{
    int r = 0;

    for (size_t i = 0; i < text.len && r == 0; i++) {
        const unsigned char byte = (unsigned char)text.ptr[i];

        if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
            (byte >= '0' && byte <= '9') || strchr("/-_.~", byte) != NULL)
            r = buf_append_char(out, (char)byte);
        else
            r = buf_printf(out, "%%%02X", byte);
    }
    return r;
}
