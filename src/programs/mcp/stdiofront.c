/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/mcp/stdiofront.h"

#include <stdlib.h>

#include "base/buf.h"
#include "files/clientroots.h"
#include "files/resources.h"
#include "loop/reader.h"
#include "loop/timer.h"
#include "loop/writer.h"
#include "mcp/mcp.h"
#include "programs/mcp/about.h"
#include "programs/mcp/calls.h"
#include "programs/mcp/lines.h"
#include "protocol/requestid.h"

enum {
    /* A client that sends and does not read is neither read from nor worked for. */
    OUTPUT_PAUSE_BYTES = 4 << 20,
    OUTPUT_MAX_BYTES = 1 << 30,
};

struct stdiofront {
    struct calls *calls; /* the first member: see programs/mcp/calls.h */
    struct front_config config;
    struct about about;
    struct mcp_service *service;
    struct mcp_session *session;
    struct reader *reader;
    struct writer *writer;
    struct lines lines;
    struct requestid long_line; /* finds the id of the skipped line */
    struct loop_task give_up;
    struct loop_task finish;
    struct timer questions; /* to the client, while some are open */
    bool knows_roots;       /* of the client, as far as it was asked */
    bool has_input;
    bool is_over;
};

/* ---- the end ---- */

static void finish(void *data)
{
    struct stdiofront *front = data;

    front->is_over = true;
    front->config.on_end(front->config.data);
}

/* After the input has ended, ends once the last answer is written. */
static void finish_if_idle(struct stdiofront *front)
{
    if (front->has_input || front->is_over || mcp_session_call_count(front->session) > 0 ||
        writer_kept(front->writer) > 0)
        return;
    loop_defer(front->config.loop, &front->finish);
}

static void give_up(void *data)
{
    struct stdiofront *front = data;

    calls_give_up(front->calls);
    finish_if_idle(front);
}

void stdiofront_run(struct stdiofront *front)
{
    calls_run(front->calls);
}

void stdiofront_stop(struct stdiofront *front)
{
    front->has_input = false;
    calls_close(front->calls);
    reader_pause(front->reader);
    /* Later: this may be in the middle of an answer. */
    loop_defer(front->config.loop, &front->give_up);
}

/* ---- work ---- */

/* False while the client does not read finished answers. */
static bool may_begin(void *data)
{
    const struct stdiofront *front = data;

    return writer_kept(front->writer) <= OUTPUT_PAUSE_BYTES;
}

static void on_answered(void *data)
{
    struct stdiofront *front = data;

    front->config.on_answered(front->config.data);
    finish_if_idle(front);
}

/* The folders as far as they are also the client's roots; what is neither is not served. */
static void narrow(struct stdiofront *front, const struct json_value *roots)
{
    struct client_roots *narrowed = front->config.client_roots;
    struct str uris[CLIENT_ROOTS_MAX] = {{NULL, 0}};
    bool is_used[CLIENT_ROOTS_MAX] = {false};
    size_t count = 0;
    size_t used = 0;
    int r = 0;

    front->knows_roots = roots != NULL;
    if (roots == NULL) {
        client_roots_unknown(narrowed);
        return;
    }
    json_each_item (root, roots) {
        if (count == CLIENT_ROOTS_MAX)
            r = ERR_TOO_LARGE;
        else if (json_get_str(root, STR("uri"), &uris[count]))
            count++;
    }
    if (r == 0)
        r = client_roots_set(narrowed, uris, count, is_used);
    if (r < 0) {
        client_roots_unknown(narrowed);
        log_write(front->config.log, LOG_WARN,
                  "the client's roots cannot be used, so nothing is served",
                  LOG_TEXT("error", err_text(r)));
        return;
    }
    for (size_t i = 0; i < count; i++) {
        used += is_used[i];
        if (!is_used[i])
            log_write(front->config.log, LOG_WARN,
                      "a root of the client is ignored: it is in none of the folders",
                      LOG_STR("root", uris[i]));
    }
    if (used == 0)
        log_write(front->config.log, LOG_WARN,
                  "none of the client's roots is in a folder that Gatehouse serves, so nothing is "
                  "served");
}

/*
 * The client's roots. Without --roots we serve what the user named, and only log if that is
 * elsewhere.
 */
static void on_roots(void *data, struct mcp_session *session, const struct json_value *roots)
{
    struct stdiofront *front = data;
    char name[PATH_MAX];
    size_t len;

    (void)session;
    if (front->config.client_roots != NULL) {
        narrow(front, roots);
        return;
    }
    if (roots == NULL)
        return;
    json_each_item (root, roots) {
        struct str uri;

        if (json_get_str(root, STR("uri"), &uri) &&
            resource_name_of_uri(front->config.box, uri, name, &len, NULL) == 0)
            return;
    }
    log_write(front->config.log, LOG_WARN,
              "none of the client's roots is in the folder that Gatehouse serves");
}

/*
 * A modern client can be asked only in the answer to a call, which it repeats with its roots, and
 * has no way to say that they changed: each call asks. Requests that cannot ask see what the last
 * answer left. False: the call has ended with the question.
 */
static bool settle_roots(struct stdiofront *front, struct mcp_call *call)
{
    const struct str key = STR("roots");
    const struct mcp_question question = {.key = key, .kind = MCP_ASK_ROOTS};
    const struct mcp_round round = {.questions = &question, .count = 1, .state = key};

    if (front->config.client_roots == NULL || !mcp_call_is_modern(call))
        return true;
    if (str_eq(mcp_call_state(call), key)) {
        struct mcp_answer answer = mcp_call_answer(call, key);

        narrow(front, answer.status == MCP_ACCEPTED ? answer.content : NULL);
        return true;
    }
    if (mcp_call_round(call) > 0 || !mcp_call_can_ask(call, MCP_ASK_ROOTS))
        return true;
    if (!front->knows_roots)
        narrow(front, NULL);
    return mcp_call_ask(call, &round, NULL) != 1;
}

static void take(void *data, struct mcp_call *call)
{
    struct stdiofront *front = data;

    if (settle_roots(front, call))
        calls_take(front, call);
    else
        on_answered(front);
}

static void expire_questions(void *data)
{
    struct stdiofront *front = data;
    int64_t next_ms = mcp_service_expire(front->service);

    if (next_ms >= 0)
        timer_start(&front->questions, next_ms + 1);
}

/* ---- bytes ---- */

/* A list of tools has more parts than one write takes. */
static int join(struct buf *joined, const struct str *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int r = buf_append_str(joined, parts[i]);

        if (r < 0)
            return r;
    }
    return 0;
}

static int send_line(struct stdiofront *front, const struct str *parts, size_t count)
{
    cleanup_buf struct buf joined = BUF_INIT(OUTPUT_MAX_BYTES);
    struct str all[WRITER_MAX_PARTS];

    if (count < WRITER_MAX_PARTS) {
        for (size_t i = 0; i < count; i++)
            all[i] = parts[i];
    } else {
        int r = join(&joined, parts, count);

        if (r < 0)
            return r;
        all[0] = buf_view(&joined);
        count = 1;
    }
    all[count] = STR("\n");
    return writer_send(front->writer, all, count + 1);
}

static void on_send(void *data, const struct mcp_outgoing *about, const struct str *parts,
                    size_t count)
{
    struct stdiofront *front = data;
    int r = send_line(front, parts, count);

    if (about->kind == MCP_SENT_QUESTION && !front->questions.is_started)
        timer_start(&front->questions, MCP_DEFAULT_ASK_MS);
    /* on_broken reports what cannot be sent; a backlog that large counts as broken too. */
    if (r == ERR_TOO_LARGE || r == ERR_NO_MEMORY)
        stdiofront_stop(front);
    if (writer_kept(front->writer) > OUTPUT_PAUSE_BYTES)
        reader_pause(front->reader);
}

static void on_drained(void *data)
{
    struct stdiofront *front = data;

    if (front->has_input)
        reader_resume(front->reader);
    calls_go_on(front->calls);
    finish_if_idle(front);
}

static void on_broken(void *data, int error)
{
    struct stdiofront *front = data;

    log_write(front->config.log, LOG_INFO, "the client closed the output",
              LOG_TEXT("error", err_text(error)));
    stdiofront_stop(front);
}

static void on_line(void *data, struct str line)
{
    struct stdiofront *front = data;

    mcp_session_receive(front->session, line);
}

static void on_long_piece(void *data, struct str piece)
{
    struct stdiofront *front = data;

    requestid_feed(&front->long_line, piece);
}

static void on_long_line(void *data)
{
    struct stdiofront *front = data;
    struct err err = ERR_INIT;

    err_set(&err, ERR_TOO_LARGE, "a message must not exceed %zu bytes", front->lines.begun.max);
    mcp_session_refuse(front->session, requestid_end(&front->long_line), &err);
    requestid_init(&front->long_line);
}

static struct lines_events line_events(struct stdiofront *front)
{
    return (struct lines_events){.on_line = on_line,
                                 .on_long_piece = on_long_piece,
                                 .on_long_line = on_long_line,
                                 .data = front};
}

static void on_bytes(void *data, struct str bytes)
{
    struct stdiofront *front = data;
    const struct lines_events events = line_events(front);

    lines_feed(&front->lines, bytes, &events);
}

/* Requests received before the end are answered. */
static void on_input_end(void *data, int error)
{
    struct stdiofront *front = data;
    const struct lines_events events = line_events(front);

    if (error < 0)
        log_write(front->config.log, LOG_WARN, "reading the input failed",
                  LOG_TEXT("error", err_text(error)));
    lines_end(&front->lines, &events);
    front->has_input = false;
    calls_client_leaves(front->calls);
    finish_if_idle(front);
}

/* ---- making ---- */

static int make_parts(struct stdiofront *front, int input_fd, int output_fd)
{
    static const struct mcp_host host = {
        .start = take,
        .answered = calls_answered,
        .cancel = calls_cancel,
        .unsubscribe = calls_unsubscribe,
        .roots = on_roots,
        .send = on_send,
    };
    const struct reader_events reader = {
        .on_bytes = on_bytes, .on_end = on_input_end, .data = front};
    const struct writer_events writer = {
        .on_drained = on_drained, .on_broken = on_broken, .data = front};
    const struct calls_events events = {
        .may_begin = may_begin, .on_answered = on_answered, .data = front};
    const struct front_config *config = &front->config;
    const struct mcp_session_config session = {.data = front, .principal = STR_EMPTY};
    int r = mcp_service_new(&front->about.server, &host, &front->service);

    if (r == 0)
        r = mcp_session_new(front->service, &session, &front->session);
    if (r == 0)
        r = calls_new(config, &events, &front->calls);
    if (r == 0)
        r = writer_new(config->loop, output_fd, OUTPUT_MAX_BYTES, &writer, &front->writer);
    if (r == 0)
        r = reader_new(config->loop, input_fd, &reader, &front->reader);
    return r;
}

int stdiofront_new(const struct front_config *config, int input_fd, int output_fd,
                   struct stdiofront **out_front, struct err *err)
{
    struct stdiofront *front = calloc(1, sizeof(*front));
    int r;

    if (front == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    front->config = *config;
    front->has_input = true;
    requestid_init(&front->long_line);
    loop_task_init(&front->give_up, give_up, front);
    loop_task_init(&front->finish, finish, front);
    timer_init(&front->questions, config->loop, expire_questions, front);
    r = about_init(&front->about, config);
    front->about.server.offer.hides_output_schemas = config->result_form == TOOLRESULT_TEXT;
    lines_init(&front->lines, front->about.server.max_message_bytes);
    if (r == 0)
        r = make_parts(front, input_fd, output_fd);
    if (r < 0) {
        stdiofront_free(front);
        return err_set(err, r, "cannot serve the connection: %s", err_text(r));
    }
    *out_front = front;
    return 0;
}

void stdiofront_free(struct stdiofront *front)
{
    if (front == NULL)
        return;
    front->is_over = true;
    timer_stop(&front->questions);
    reader_free(front->reader);
    calls_end(front->calls);
    mcp_session_free(front->session);
    calls_free(front->calls);
    mcp_service_free(front->service);
    writer_free(front->writer);
    loop_task_cancel(&front->give_up);
    loop_task_cancel(&front->finish);
    lines_done(&front->lines);
    about_done(&front->about);
    free(front);
}
