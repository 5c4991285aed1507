/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "loop_until.h"
#include "net/address.h"
#include "programs/connect/port.h"

enum { GOT_BYTES = 1 << 20, TEXT_BYTES = 4096 };

/* What the owner was asked, and what it answers with. */
static struct {
    struct report report;
    size_t connects;
    size_t disconnects;
    size_t gone;
    uint64_t connect_number;
    uint64_t disconnect_number;
    char origin[TEXT_BYTES];
    char url[TEXT_BYTES];
    char host[HTTPURL_HOST_BYTES];
    char token[SECRET_MAX_BYTES + 1];
    bool answers_at_once;
} owner;

static struct clock fake_clock;
static struct loop *loop;
static struct origins origins;
static struct port *port;

static void on_report(void *data, struct report *out_report)
{
    (void)data;
    *out_report = owner.report;
}

static void on_connect(void *data, uint64_t number, const struct port_connect *request)
{
    struct str token = secret_reveal(request->token); /* to see that it is the page's */

    (void)data;
    owner.connects++;
    owner.connect_number = number;
    snprintf(owner.origin, sizeof(owner.origin), "%.*s", STR_ARG(request->origin));
    snprintf(owner.url, sizeof(owner.url), "%.*s", STR_ARG(request->url_text));
    snprintf(owner.host, sizeof(owner.host), "%s", request->url->host);
    snprintf(owner.token, sizeof(owner.token), "%.*s", STR_ARG(token));
    if (owner.answers_at_once)
        port_done(port, number);
}

static void on_connect_gone(void *data, uint64_t number)
{
    (void)data;
    assert_true(number == owner.connect_number);
    owner.gone++;
}

static void on_disconnect(void *data, uint64_t number)
{
    (void)data;
    owner.disconnects++;
    owner.disconnect_number = number;
}

static const struct port_owner OWNER = {
    .report = on_report,
    .connect = on_connect,
    .connect_gone = on_connect_gone,
    .disconnect = on_disconnect,
};

static int begin(void **state)
{
    int fd;

    (void)state;
    memset(&owner, 0, sizeof(owner));
    owner.report = (struct report){.dir = STR("/srv/work"), .url = STR_EMPTY};
    clock_fake_init(&fake_clock, 0);
    assert_int_equal(loop_new(&fake_clock, &loop), 0);
    origins_init(&origins);
    assert_int_equal(origins_add_pattern(&origins, STR("https://n8n.example"), NULL), 0);
    assert_int_equal(origins_add_pattern(&origins, STR("https://*.cloud.example"), NULL), 0);
    assert_int_equal(port_listen(0, &fd, NULL), 0);
    assert_int_equal(
        port_new(&(struct port_config){.loop = loop, .origins = &origins, .owner = &OWNER}, fd,
                 &port, NULL),
        0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    port_free(port);
    port = NULL;
    loop_free(loop);
    return 0;
}

/* ---- a browser ---- */

static int connect_to(uint16_t number)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(number),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static int ask(const char *text)
{
    int fd = connect_to(port_number(port));

    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    return fd;
}

/* How much has come by now. */
static size_t receive(int fd, struct buf *out)
{
    ssize_t got;

    assert_int_equal(buf_reserve(out, TEXT_BYTES), 0);
    got = recv(fd, out->data + out->len, TEXT_BYTES, MSG_DONTWAIT);
    if (got > 0)
        out->len += (size_t)got;
    return out->len;
}

static bool has(const struct buf *got, const char *words)
{
    return str_find(buf_view(got), str_from(words)) != SIZE_MAX;
}

static void wait_for(int fd, const char *words, struct buf *out)
{
    loop_until(loop, receive(fd, out) > 0 && has(out, words));
}

static void wait_for_answer(int fd, struct buf *out)
{
    size_t length_at;
    size_t whole;

    wait_for(fd, "\r\n\r\n", out);
    whole = str_find(buf_view(out), STR("\r\n\r\n")) + 4;
    length_at = str_find(buf_view(out), STR("Content-Length: "));
    if (length_at != SIZE_MAX)
        whole += (size_t)strtol(out->data + length_at + 16, NULL, 10);
    loop_until(loop, receive(fd, out) >= whole);
}

#define HOST    " HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
#define ALLOWED "Origin: https://n8n.example\r\n"

/* `format` has one %u where it names the port. */
static const char *request_text(const char *format)
{
    static char text[TEXT_BYTES];
    const char *at = strstr(format, "%u");
    int len;

    if (at == NULL)
        len = snprintf(text, sizeof(text), "%s", format);
    else
        len = snprintf(text, sizeof(text), "%.*s%u%s", (int)(at - format), format,
                       port_number(port), at + 2);
    assert_in_range(len, 1, sizeof(text) - 1);
    return text;
}

static const char *with_body(const char *line, const char *body)
{
    static char text[TEXT_BYTES];
    int len = snprintf(text, sizeof(text),
                       "%s HTTP/1.1\r\nHost: localhost:%u\r\n" ALLOWED
                       "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                       line, port_number(port), strlen(body), body);

    assert_in_range(len, 1, sizeof(text) - 1);
    return text;
}

static void check(const char *text, struct buf *got, const char *status, const char *words)
{
    char line[32];

    snprintf(line, sizeof(line), "HTTP/1.1 %s ", status);
    if (!str_starts_with(buf_view(got), str_from(line)) || (words != NULL && !has(got, words)))
        fail_msg("%s\n%.*s", text, STR_ARG(buf_view(got)));
}

static void assert_answer(const char *format, const char *status, const char *words)
{
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    int fd = ask(request_text(format));

    wait_for_answer(fd, &got);
    check(format, &got, status, words);
    close(fd);
}

static void assert_lacks(const char *format, const char *words)
{
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    int fd = ask(request_text(format));

    wait_for_answer(fd, &got);
    if (has(&got, words))
        fail_msg("%s\n%.*s", format, STR_ARG(buf_view(&got)));
    close(fd);
}

/* ---- rows ---- */

static void health_tells_folder_and_connection(void **state)
{
    (void)state;
    assert_answer("GET /health" HOST ALLOWED "\r\n", "200",
                  "\r\n\r\n{\"status\":\"ok\",\"dir\":\"/srv/work\",\"connected\":false}");
    owner.report.is_connected = true;
    assert_answer("GET /health" HOST ALLOWED "\r\n", "200", "\"connected\":true}");
    assert_answer("GET /health" HOST ALLOWED "\r\n", "200",
                  "Access-Control-Allow-Origin: https://n8n.example\r\n");
    assert_answer("GET /health" HOST ALLOWED "\r\n", "200", "Vary: Origin\r\n");
}

static void status_has_nulls_while_not_connected(void **state)
{
    (void)state;
    assert_answer("GET /status" HOST ALLOWED "\r\n", "200",
                  "\r\n\r\n{\"connected\":false,\"dir\":\"/srv/work\",\"connectedAt\":null,"
                  "\"url\":null}");
    owner.report.is_connected = true;
    owner.report.url = STR("https://n8n.example");
    owner.report.connected_wall_ms = 1772366400123;
    assert_answer("GET /status" HOST ALLOWED "\r\n", "200",
                  "\"connectedAt\":\"2026-03-01T12:00:00.123Z\",\"url\":\"https://n8n.example\"}");
}

static void a_folder_of_any_bytes_is_told_as_json(void **state)
{
    (void)state;
    owner.report.dir = STR("/a\"b\xff");
    assert_answer("GET /status" HOST ALLOWED "\r\n", "200", "\"dir\":\"/a\\\"b\xef\xbf\xbd\"");
}

static void options_are_answered_as_browsers_want(void **state)
{
    static const char *const fields[] = {
        "Access-Control-Allow-Origin: https://a.cloud.example\r\n",
        "Vary: Origin\r\n",
        "Access-Control-Allow-Methods: GET, POST, OPTIONS\r\n",
        "Access-Control-Allow-Headers: Content-Type\r\n",
        "Access-Control-Max-Age: 86400\r\n",
    };

    (void)state;
    for (size_t i = 0; i < array_size(fields); i++)
        assert_answer("OPTIONS /connect" HOST "Origin: https://a.cloud.example\r\n\r\n", "204",
                      fields[i]);
    assert_lacks("OPTIONS /connect" HOST ALLOWED "\r\n", "Private-Network");
    assert_answer("OPTIONS /connect" HOST ALLOWED
                  "Access-Control-Request-Private-Network: true\r\n\r\n",
                  "204", "Access-Control-Allow-Private-Network: true\r\n");
    assert_answer("OPTIONS /connect" HOST "Origin: https://evil.example\r\n\r\n", "403", NULL);
    assert_lacks("OPTIONS /connect" HOST "Origin: https://evil.example\r\n\r\n", "Access-Control");
}

static void all_else_is_not_found(void **state)
{
    static const char *const lines[] = {
        "GET /",           "GET /connect",  "POST /health", "PUT /connect",
        "DELETE /connect", "GET /health/x", "GET /Health",  "GET /disconnect",
    };

    (void)state;
    for (size_t i = 0; i < array_size(lines); i++) {
        char text[TEXT_BYTES];

        snprintf(text, sizeof(text), "%s" HOST ALLOWED "\r\n", lines[i], port_number(port));
        assert_answer(text, "404", "\r\n\r\n{\"error\":\"Not found\"}");
    }
    assert_int_equal(owner.connects + owner.disconnects, 0);
}

/* ---- who is let in ---- */

static void strangers_get_nothing_and_nothing_happens(void **state)
{
    static const char *const headers[] = {
        "",
        "Origin: null\r\n",
        "Origin: https://evil.example\r\n",
        "Origin: http://n8n.example\r\n",
        "Origin: https://n8n.example:8443\r\n",
        "Origin: https://n8n.example.evil.test\r\n",
        "Origin: https://a.b.cloud.example\r\n",
        "Referer: https://n8n.example/\r\n",
        /* a page that something on this very port would serve */
        "Origin: http://127.0.0.1:7655\r\n",
    };
    static const char *const lines[] = {"GET /health",   "GET /status",      "GET /events",
                                        "POST /connect", "POST /disconnect", "GET /nowhere"};

    (void)state;
    for (size_t i = 0; i < array_size(headers); i++)
        for (size_t j = 0; j < array_size(lines); j++) {
            const char *body = "{\"url\":\"https://n8n.example\",\"token\":\"gw_1\"}";
            char text[TEXT_BYTES];

            snprintf(text, sizeof(text), "%s" HOST "%sContent-Length: %zu\r\n\r\n%s", lines[j],
                     port_number(port), headers[i], strlen(body), body);
            assert_answer(text, "403", "\r\n\r\n{\"error\":\"Forbidden.\"}");
            assert_lacks(text, "Access-Control");
        }
    assert_int_equal(owner.connects + owner.disconnects, 0);
}

static void a_name_that_was_bent_to_this_machine_is_refused(void **state)
{
    static const char *const hosts[] = {"evil.example", "evil.example:%u", "127.0.0.1",
                                        "127.0.0.1:1",  "127.0.0.2:%u",    "localhost.evil.test:%u",
                                        "n8n.example"};

    (void)state;
    for (size_t i = 0; i < array_size(hosts); i++) {
        char format[TEXT_BYTES];

        snprintf(format, sizeof(format), "GET /health HTTP/1.1\r\nHost: %s\r\n" ALLOWED "\r\n",
                 hosts[i]);
        assert_answer(format, "403", "{\"error\":\"Forbidden.\"}");
    }
    assert_answer("GET /health HTTP/1.1\r\nHost: localhost:%u\r\n" ALLOWED "\r\n", "200", NULL);
}

static bool has_closed(int fd)
{
    char byte;

    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

/* A page that is turned away could hold all connections by and by. */
static void who_asks_no_more_is_not_waited_for(void **state)
{
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    int fds[] = {ask(request_text("GET /health" HOST "Origin: https://evil.example\r\n\r\n")),
                 connect_to(port_number(port))};

    (void)state;
    wait_for_answer(fds[0], &got);
    /* Both were accepted: this one came later. */
    assert_answer("GET /health" HOST ALLOWED "\r\n", "200", NULL);
    clock_fake_advance(&fake_clock, 10000);
    loop_run_due_timers(loop);
    for (size_t i = 0; i < array_size(fds); i++) {
        loop_until(loop, has_closed(fds[i]));
        close(fds[i]);
    }
}

/* ---- connecting ---- */

static const char GOOD[] = "{\"url\":\"https://n8n.example/base\",\"token\":\"gw_secret\"}";

static void connecting_asks_the_owner_and_waits(void **state)
{
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    int fd = ask(with_body("POST /connect", GOOD));

    (void)state;
    loop_until(loop, owner.connects != 0);
    assert_string_equal(owner.origin, "https://n8n.example");
    assert_string_equal(owner.url, "https://n8n.example/base");
    assert_string_equal(owner.host, "n8n.example");
    assert_string_equal(owner.token, "gw_secret");
    /* While the user thinks, others are served. */
    assert_answer("GET /health" HOST ALLOWED "\r\n", "200", NULL);
    assert_int_equal(receive(fd, &got), 0);
    owner.report.is_connected = true;
    port_done(port, owner.connect_number);
    wait_for_answer(fd, &got);
    check("connect", &got, "200", "\r\n\r\n{\"status\":\"connected\",\"dir\":\"/srv/work\"}");
    close(fd);
    /* Nobody waits for a second answer. */
    port_done(port, owner.connect_number);
    port_failed(port, owner.connect_number, &(struct err){.code = ERR_IO});
}

static void an_owner_may_answer_at_once(void **state)
{
    (void)state;
    owner.answers_at_once = true;
    assert_answer(with_body("POST /connect", GOOD), "200", "\"status\":\"connected\"");
    assert_answer(with_body("POST /connect", GOOD), "200", "\"status\":\"connected\"");
    assert_int_equal(owner.connects, 2);
}

static void what_cannot_be_connected_to_is_not_asked_about(void **state)
{
    static const struct {
        const char *body;
        const char *status;
        const char *has;
    } rows[] = {
        {"", "400", "not JSON"},
        {"{", "400", "not JSON"},
        {"{\"url\":1,\"url\":2}", "400", "not JSON"},
        {"[]", "400", "needs"},
        {"{}", "400", "needs"},
        {"{\"url\":\"https://n8n.example\"}", "400", "needs"},
        {"{\"token\":\"gw_1\"}", "400", "needs"},
        {"{\"url\":1,\"token\":\"gw_1\"}", "400", "needs"},
        {"{\"url\":\"https://n8n.example\",\"token\":null}", "400", "needs"},
        {"{\"url\":\"n8n.example\",\"token\":\"gw_1\"}", "400", "not a server URL"},
        {"{\"url\":\"file:///etc/passwd\",\"token\":\"gw_1\"}", "400", "not a server URL"},
        {"{\"url\":\"https://n8n.example?x\",\"token\":\"gw_1\"}", "400", "not a server URL"},
        {"{\"url\":\"https://n8n.example\",\"token\":\"\"}", "400", "not a pairing token"},
        {"{\"url\":\"https://n8n.example\",\"token\":\"a\\r\\nX: y\"}", "400",
         "not a pairing token"},
        {"{\"url\":\"https://evil.example\",\"token\":\"gw_1\"}", "403", "Forbidden."},
        {"{\"url\":\"https://n8n.example:8443\",\"token\":\"gw_1\"}", "403", "Forbidden."},
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++)
        assert_answer(with_body("POST /connect", rows[i].body), rows[i].status, rows[i].has);
    assert_int_equal(owner.connects, 0);
}

static void long_bodies_are_refused(void **state)
{
    char text[TEXT_BYTES];

    (void)state;
    snprintf(text, sizeof(text), "POST /connect" HOST ALLOWED "Content-Length: %d\r\n\r\n",
             port_number(port), PORT_MAX_BODY_BYTES + 1);
    assert_answer(text, "413", NULL);
    assert_int_equal(owner.connects, 0);
}

static void tokens_have_a_ceiling(void **state)
{
    char body[TEXT_BYTES];

    (void)state;
    snprintf(body, sizeof(body), "{\"url\":\"https://n8n.example\",\"token\":\"%0*d\"}",
             SECRET_MAX_BYTES + 1, 1);
    assert_answer(with_body("POST /connect", body), "400", "not a pairing token");
    snprintf(body, sizeof(body), "{\"url\":\"https://n8n.example\",\"token\":\"%0*d\"}",
             SECRET_MAX_BYTES, 1);
    owner.answers_at_once = true;
    assert_answer(with_body("POST /connect", body), "200", NULL);
}

static void what_is_connected_is_not_connected_again(void **state)
{
    (void)state;
    owner.report.has_session = true; /* also while the way to the server is lost */
    assert_answer(with_body("POST /connect", GOOD), "409", "Already connected");
    assert_int_equal(owner.connects, 0);
}

static void there_is_one_confirmation_at_a_time(void **state)
{
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    int fd = ask(with_body("POST /connect", GOOD));

    (void)state;
    loop_until(loop, owner.connects != 0);
    assert_answer(with_body("POST /connect", GOOD), "409", "already on screen");
    assert_int_equal(owner.connects, 1);
    port_failed(port, owner.connect_number,
                &(struct err){.code = ERR_DENIED_BY_POLICY, .message = "The user said no."});
    wait_for_answer(fd, &got);
    check("connect", &got, "403", "{\"error\":\"The user said no.\"}");
    close(fd);
    owner.answers_at_once = true;
    assert_answer(with_body("POST /connect", GOOD), "200", NULL);
}

static void failures_have_their_status(void **state)
{
    static const struct {
        int code;
        const char *status;
    } rows[] = {
        {ERR_DENIED_BY_POLICY, "403"}, {ERR_BUSY, "409"},         {ERR_ALREADY_EXISTS, "409"},
        {ERR_INVALID_ARGUMENT, "400"}, {ERR_INVALID_PATH, "400"}, {ERR_GATEWAY_DENIED, "500"},
        {ERR_UNREACHABLE, "500"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
        struct err err = {.code = rows[i].code};
        int fd = ask(with_body("POST /connect", GOOD));

        loop_until(loop, owner.connects != i);
        snprintf(err.message, sizeof(err.message), "no: gw_abcdefghijklmnopqrstuvwxyz0123456");
        port_failed(port, owner.connect_number, &err);
        wait_for_answer(fd, &got);
        check("connect", &got, rows[i].status, "{\"error\":\"no: gw_[redacted]\"}");
        close(fd);
    }
}

static void a_page_that_leaves_is_told_of_and_keeps_its_place(void **state)
{
    int fd = ask(with_body("POST /connect", GOOD));

    (void)state;
    loop_until(loop, owner.connects != 0);
    close(fd);
    loop_until(loop, owner.gone != 0);
    /* The question may still be on screen. */
    assert_answer(with_body("POST /connect", GOOD), "409", "already on screen");
    port_done(port, owner.connect_number);
    owner.answers_at_once = true;
    assert_answer(with_body("POST /connect", GOOD), "200", NULL);
    assert_int_equal(owner.gone, 1);
}

static void disconnecting_asks_the_owner(void **state)
{
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    int fd = ask(with_body("POST /disconnect", ""));

    (void)state;
    loop_until(loop, owner.disconnects != 0);
    port_done(port, owner.disconnect_number);
    wait_for_answer(fd, &got);
    check("disconnect", &got, "200", "\r\n\r\n{\"status\":\"disconnected\"}");
    close(fd);
}

static void requests_to_disconnect_have_a_ceiling(void **state)
{
    int fds[PORT_MAX_LEAVING];

    (void)state;
    for (size_t i = 0; i < PORT_MAX_LEAVING; i++) {
        fds[i] = ask(with_body("POST /disconnect", ""));
        loop_until(loop, owner.disconnects != i);
    }
    assert_answer(with_body("POST /disconnect", ""), "503", NULL);
    assert_int_equal(owner.disconnects, PORT_MAX_LEAVING);
    /* Who leaves makes room, as soon as it was noticed. */
    close(fds[0]);
    do {
        cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);

        fds[0] = ask(with_body("POST /disconnect", ""));
        loop_until(loop, owner.disconnects > PORT_MAX_LEAVING || receive(fds[0], &got) > 0);
        if (got.len > 0)
            close(fds[0]);
    } while (owner.disconnects == PORT_MAX_LEAVING);
    for (size_t i = 0; i < PORT_MAX_LEAVING; i++)
        close(fds[i]);
}

/* ---- events ---- */

static void events_begin_with_ready_and_tell_changes(void **state)
{
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    int fd = ask(request_text("GET /events" HOST ALLOWED "\r\n"));

    (void)state;
    wait_for(fd, "event: ready\ndata: {\"connected\":false,", &got);
    check("events", &got, "200", "Content-Type: text/event-stream\r\n");
    check("events", &got, "200", "Access-Control-Allow-Origin: https://n8n.example\r\n");
    check("events", &got, "200", "Vary: Origin\r\n");
    owner.report.is_connected = true;
    port_tell(port);
    wait_for(fd, "event: status\ndata: {\"connected\":true,", &got);
    close(fd);
}

static void streams_of_events_have_a_ceiling(void **state)
{
    int fds[PORT_MAX_STREAMS];

    (void)state;
    for (size_t i = 0; i < PORT_MAX_STREAMS; i++) {
        cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);

        fds[i] = ask(request_text("GET /events" HOST ALLOWED "\r\n"));
        wait_for(fds[i], "event: ready", &got);
    }
    assert_answer("GET /events" HOST ALLOWED "\r\n", "503", NULL);
    for (size_t i = 0; i < PORT_MAX_STREAMS; i++)
        close(fds[i]);
}

/* ---- the socket ---- */

static void a_taken_port_is_told_with_what_to_do(void **state)
{
    struct err err = ERR_INIT;
    int fd = -1;

    (void)state;
    assert_int_equal(port_listen(port_number(port), &fd, &err), ERR_ALREADY_EXISTS);
    assert_int_equal(fd, -1);
    assert_non_null(strstr(err.message, "is in use"));
    assert_non_null(strstr(err.message, "--port"));
}

static void it_listens_on_this_machine_only(void **state)
{
    struct address address;
    int fd;

    (void)state;
    assert_int_equal(port_listen(0, &fd, NULL), 0);
    assert_int_equal(address_of(fd, &address), 0);
    assert_true(address_is_loopback(&address));
    close(fd);
}

static void what_waits_ends_with_the_port(void **state)
{
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    int fds[3] = {ask(with_body("POST /connect", GOOD)), ask(with_body("POST /disconnect", "")),
                  ask(request_text("GET /events" HOST ALLOWED "\r\n"))};

    (void)state;
    loop_until(loop, owner.connects == 1 && owner.disconnects == 1);
    wait_for(fds[2], "event: ready", &got);
    port_free(port);
    port = NULL;
    assert_int_equal(owner.gone, 0);
    for (size_t i = 0; i < array_size(fds); i++)
        close(fds[i]);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

TEST_MAIN(TEST(health_tells_folder_and_connection), TEST(status_has_nulls_while_not_connected),
          TEST(a_folder_of_any_bytes_is_told_as_json), TEST(options_are_answered_as_browsers_want),
          TEST(all_else_is_not_found), TEST(strangers_get_nothing_and_nothing_happens),
          TEST(a_name_that_was_bent_to_this_machine_is_refused),
          TEST(who_asks_no_more_is_not_waited_for), TEST(connecting_asks_the_owner_and_waits),
          TEST(an_owner_may_answer_at_once), TEST(what_cannot_be_connected_to_is_not_asked_about),
          TEST(long_bodies_are_refused), TEST(tokens_have_a_ceiling),
          TEST(what_is_connected_is_not_connected_again), TEST(there_is_one_confirmation_at_a_time),
          TEST(failures_have_their_status), TEST(a_page_that_leaves_is_told_of_and_keeps_its_place),
          TEST(disconnecting_asks_the_owner), TEST(requests_to_disconnect_have_a_ceiling),
          TEST(events_begin_with_ready_and_tell_changes), TEST(streams_of_events_have_a_ceiling),
          TEST(a_taken_port_is_told_with_what_to_do), TEST(it_listens_on_this_machine_only),
          TEST(what_waits_ends_with_the_port))
