/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/handover.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/jsonwrite.h"
#include "base/plain.h"
#include "cli/daemonquery.h"

enum {
    ARENA_BYTES = 16 * HANDOVER_MAX_BYTES,
    HEAD_BYTES = 256,
    URL_BYTES = HTTPURL_HOST_BYTES + HTTPURL_PATH_BYTES + 24,
    ANSWER_BYTES = 16 << 10,
    DEPTH = 4,
    /* For each step of a daemon that only has to say whether it wants a token. */
    QUESTION_MS = 15000,
    /* Init and the first stream, each with its own limit (gateway/client.h), and in two dialects.
     */
    TOKEN_MS = 2 * (GATEWAY_INIT_MS + GATEWAY_STREAM_HEAD_MS),
};

static const struct json_limits LIMITS = {ANSWER_BYTES, DEPTH};

#define ANSWER_START "HTTP/1.1 "

/* ---- the message ---- */

static bool is_digest(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!(text.ptr[i] >= '0' && text.ptr[i] <= '9') &&
            !(text.ptr[i] >= 'a' && text.ptr[i] <= 'f'))
            return false;
    return text.len == SAVED_SESSION_TERMS_BYTES - 1;
}

static int read_message(const struct json_value *document, struct handover *handover)
{
    struct str url;
    struct str terms;
    struct str token = STR_EMPTY;

    if (!json_get_str(document, STR("url"), &url) ||
        !json_get_str(document, STR("terms"), &terms) || !is_digest(terms) ||
        httpurl_parse(url, &handover->url, NULL) < 0)
        return ERR_INVALID_ARGUMENT;
    snprintf(handover->terms, sizeof(handover->terms), "%.*s", STR_ARG(terms));
    if (json_get(document, STR("token")) == NULL)
        return 0;
    if (!json_get_str(document, STR("token"), &token) ||
        (token.len > 0 && !saved_session_is_key(token)) || secret_set(&handover->token, token) < 0)
        return ERR_INVALID_ARGUMENT;
    return 0;
}

int handover_parse(struct str text, struct handover *out_handover)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_limits limits = {HANDOVER_MAX_BYTES, DEPTH};
    struct handover handover = {.token = SECRET_INIT};
    const struct json_value *document;
    int r = json_parse(&arena, text, limits, &document, NULL);

    if (r == 0)
        r = read_message(document, &handover);
    if (r == 0)
        *out_handover = handover;
    secret_done(&handover.token);
    return r;
}

static int append_url(const struct httpurl *url, struct buf *out)
{
    int r = httpurl_append_origin(url, out);

    return r == 0 ? buf_append_str(out, str_from(url->path)) : r;
}

int handover_format(const struct handover *handover, struct buf *out)
{
    cleanup_buf struct buf url = BUF_INIT(URL_BYTES);
    struct json_writer json;
    int r = append_url(&handover->url, &url);

    if (r == 0)
        r = buf_reserve(out, HANDOVER_MAX_BYTES);
    if (r < 0)
        return r;
    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_str(&json, STR("url"), buf_view(&url));
    json_put_str(&json, STR("terms"), str_from(handover->terms));
    if (handover->token.len > 0) {
        json_put_str(&json, STR("token"),
                     secret_reveal(&handover->token)); /* what this is all about */
    }
    json_end_object(&json);
    return json_writer_finish(&json);
}

/* ---- the answer ---- */

int handover_parse_answer(struct str bytes, struct handover_answer *out_answer)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    cleanup_buf struct buf line = BUF_INIT(HANDOVER_WORDS_BYTES);
    struct handover_answer answer = {.status = 0};
    const struct json_value *document;
    size_t end = str_find(bytes, STR("\r\n\r\n"));
    struct str rest = str_slice(bytes, strlen(ANSWER_START), SIZE_MAX);
    struct str number;
    struct str words = STR_EMPTY;
    int64_t status;

    if (!str_starts_with(bytes, STR(ANSWER_START)) || end == SIZE_MAX ||
        !str_cut(&rest, ' ', &number) || number.len != 3 || !str_to_int64(number, &status) ||
        json_parse(&arena, str_slice(bytes, end + 4, SIZE_MAX), LIMITS, &document, NULL) < 0)
        return ERR_HTTP_ANSWER;
    answer.status = (int)status;
    /* What does not fit is left out. */
    if (json_get_str(document, STR("error"), &words))
        (void)plain_line(words, HANDOVER_WORDS_BYTES - 1, &line);
    snprintf(answer.words, sizeof(answer.words), "%.*s", STR_ARG(buf_view(&line)));
    *out_answer = answer;
    return 0;
}

/* ---- asking ---- */

int handover_send(uint16_t port, const struct handover *handover,
                  struct handover_answer *out_answer, struct err *err)
{
    cleanup_with(saved_session_wipe) struct buf message = BUF_INIT(HANDOVER_MAX_BYTES);
    cleanup_buf struct buf bytes = BUF_INIT(ANSWER_BYTES);
    struct handover_answer answer = {.status = 0};
    struct str parts[2];
    struct daemon_query query = {.port = port,
                                 .wait_ms = handover->token.len > 0 ? TOKEN_MS : QUESTION_MS,
                                 .parts = parts,
                                 .part_count = array_size(parts)};
    char head[HEAD_BYTES];
    pid_t pid = 0;
    int r = handover_format(handover, &message);

    if (r < 0)
        return err_set_plain(err, r);
    snprintf(head, sizeof(head),
             "POST " HANDOVER_PATH " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
             message.len);
    parts[0] = str_from(head);
    parts[1] = buf_view(&message);
    r = daemon_query_ask(&query, &bytes, &pid, err);
    if (r < 0)
        return r;
    if (handover_parse_answer(buf_view(&bytes), &answer) < 0)
        return err_set(err, ERR_HTTP_ANSWER, "%s",
                       bytes.len == 0 ? "it has exited" : "it sent an invalid response");
    answer.pid = pid;
    *out_answer = answer;
    return 0;
}
