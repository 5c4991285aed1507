/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/port.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/json.h"
#include "net/address.h"
#include "net/http/origin.h"
#include "net/http/server.h"
#include "net/sse/writer.h"
#include "programs/connect/localanswer.h"
#include "programs/connect/peer.h"

enum {
    PARSE_BYTES = 64 << 10, /* of a body, read */
    PARSE_DEPTH = 8,
    EVENT_BYTES = 64 << 10, /* that a page leaves unread before it is cut off */
    MAX_FIELDS = 8,
    /* Pages that are turned away do not keep others out for long. */
    HEAD_MS = 5000,
    IDLE_MS = 10000,
};

/* A request that waits for the owner. */
struct asked {
    struct port *port;
    uint64_t number;           /* 0: free */
    struct exchange *exchange; /* NULL: its page has left */
    bool is_connect;
};

struct port {
    struct port_config config;
    struct address address;
    struct peer_lookup lookup;
    struct origin_policy hosts;
    struct httpserver *server;
    struct sse_hub *hub;
    uint64_t last_number;
    struct asked connect; /* one confirmation at a time */
    struct asked leaving[PORT_MAX_LEAVING];
    uint64_t strangers[PORT_MAX_STRANGERS]; /* hashes of origins that the owner knows of */
    size_t stranger_count;
};

/* ---- answers ---- */

/* The headers that a browser needs before it shows the answer to the page. */
static size_t page_fields(struct str origin, struct http_field out_fields[MAX_FIELDS])
{
    size_t count = 0;

    out_fields[count++] = (struct http_field){STR("Vary"), STR("Origin")};
    out_fields[count++] = (struct http_field){STR("Access-Control-Allow-Origin"), origin};
    return count;
}

static struct str origin_of(const struct exchange *exchange)
{
    struct str origin = STR_EMPTY;

    http_header(exchange_request(exchange), STR("origin"), &origin);
    return origin;
}

/* For a page that was accepted. */
static struct localanswer answer_to(struct exchange *exchange, struct http_field fields[MAX_FIELDS])
{
    size_t count = page_fields(origin_of(exchange), fields);

    fields[count++] = (struct http_field){STR("Cache-Control"), STR("no-store")};
    return (struct localanswer){exchange, fields, count, false};
}

static void answer_words(struct exchange *exchange, int status, struct str words)
{
    struct http_field fields[MAX_FIELDS];
    struct localanswer to = answer_to(exchange, fields);

    localanswer_words(&to, status, "error", words);
}

static void report_of(const struct port *port, struct report *out_report)
{
    *out_report = (struct report){.dir = STR_EMPTY, .url = STR_EMPTY};
    port->config.owner->report(port->config.data, out_report);
}

static void answer_report(const struct port *port, struct exchange *exchange,
                          int (*write)(const struct report *report, struct buf *out))
{
    struct http_field fields[MAX_FIELDS];
    struct localanswer to = answer_to(exchange, fields);
    struct report report;

    report_of(port, &report);
    localanswer_report(&to, &report, write);
}

/* ---- what waits for the owner ---- */

static void on_asker_gone(void *data)
{
    struct asked *asked = data;
    struct port *port = asked->port;
    uint64_t number = asked->number;
    bool is_connect = asked->is_connect;

    /* Its question may still be on screen, so the place stays taken until the owner has answered.
     */
    asked->exchange = NULL;
    if (!is_connect)
        asked->number = 0;
    else
        port->config.owner->connect_gone(port->config.data, number);
}

static void await(struct port *port, struct asked *asked, struct exchange *exchange,
                  bool is_connect)
{
    static const struct exchange_events events = {.on_gone = on_asker_gone};

    *asked = (struct asked){.port = port,
                            .number = ++port->last_number,
                            .exchange = exchange,
                            .is_connect = is_connect};
    exchange_watch(exchange, &events, asked);
}

/* The entry is free when this returns; NULL if nobody waits. */
static struct exchange *take_asked(struct port *port, uint64_t number, bool *out_is_connect)
{
    struct asked *found = port->connect.number == number ? &port->connect : NULL;
    struct exchange *exchange;

    for (size_t i = 0; i < PORT_MAX_LEAVING && found == NULL; i++)
        if (port->leaving[i].number == number)
            found = &port->leaving[i];
    if (number == 0 || found == NULL)
        return NULL;
    exchange = found->exchange;
    *out_is_connect = found->is_connect;
    found->number = 0;
    found->exchange = NULL;
    return exchange;
}

void port_done(struct port *port, uint64_t number)
{
    bool is_connect = false;
    struct exchange *exchange = take_asked(port, number, &is_connect);
    struct http_field fields[MAX_FIELDS];
    struct localanswer to;

    if (exchange == NULL)
        return;
    if (is_connect) {
        answer_report(port, exchange, report_connected);
        return;
    }
    to = answer_to(exchange, fields);
    localanswer_body(&to, 200, STR("{\"status\":\"disconnected\"}"));
}

static int status_of(int code)
{
    switch (code) {
    case ERR_DENIED_BY_POLICY:
        return 403;
    case ERR_BUSY:
    case ERR_ALREADY_EXISTS:
        return 409;
    case ERR_INVALID_ARGUMENT:
    case ERR_INVALID_PATH:
        return 400;
    default:
        return 500;
    }
}

void port_failed(struct port *port, uint64_t number, const struct err *err)
{
    bool is_connect;
    struct exchange *exchange = take_asked(port, number, &is_connect);

    if (exchange != NULL)
        answer_words(exchange, status_of(err->code),
                     str_from(err->message[0] != '\0' ? err->message : err_text(err->code)));
}

/* ---- who is not let in ---- */

static const char NOT_OF_USER[] =
    "the request comes from another user's process, or its user is unknown";

/* A header proves nothing about a program that is no browser, but its user can be determined. */
static bool is_of_user_now(struct port *port, struct exchange *exchange)
{
    uid_t uid;

    return peer_uid(&port->lookup, exchange_peer(exchange), &port->address, &uid) == 0 &&
           (uid == geteuid() || uid == 0);
}

/* Once for each page, and for a limited number: any page can come, as often as it likes. */
static void tell_stranger(struct port *port, struct exchange *exchange, const char *why)
{
    struct str origin = STR_EMPTY;
    uint64_t hash;

    (void)http_header(exchange_request(exchange), STR("origin"), &origin);
    hash = hash_str(hash_process_key(), origin);
    for (size_t i = 0; i < port->stranger_count; i++)
        if (port->strangers[i] == hash)
            return;
    if (port->config.owner->stranger == NULL || port->stranger_count == PORT_MAX_STRANGERS)
        return;
    port->strangers[port->stranger_count++] = hash;
    port->config.owner->stranger(port->config.data, origin, why);
}

/* Reveals nothing, and the page may not even read this answer. */
static void turn_away(struct port *port, struct exchange *exchange, const char *why)
{
    const struct http_field vary = {STR("Vary"), STR("Origin")};

    tell_stranger(port, exchange, why);
    localanswer_words(&(struct localanswer){exchange, &vary, 1, true}, 403, "error",
                      STR("Forbidden."));
}

/*
 * The earlier check of the connection does not suffice for a request that changes something: the
 * process that sent it may have ended since.
 */
static bool is_let_in_now(struct port *port, struct exchange *exchange)
{
    if (is_of_user_now(port, exchange))
        return true;
    turn_away(port, exchange, NOT_OF_USER);
    return false;
}

/* ---- requests ---- */

/* 0, or a status with a message. */
static int read_connect(const struct port *port, struct arena *arena, struct str body,
                        struct port_connect *out_request, struct httpurl *out_url,
                        struct secret *out_token, const char **out_words)
{
    const struct json_limits limits = {PORT_MAX_BODY_BYTES, PARSE_DEPTH};
    const struct json_value *document;
    struct str token;

    *out_words = "The body is not JSON.";
    if (json_parse(arena, body, limits, &document, NULL) < 0)
        return 400;
    *out_words = "The body needs \"url\" and \"token\", both strings.";
    if (!json_get_str(document, STR("url"), &out_request->url_text) ||
        !json_get_str(document, STR("token"), &token))
        return 400;
    *out_words = "\"url\" is not a server URL.";
    if (httpurl_parse(out_request->url_text, out_url, NULL) < 0)
        return 400;
    *out_words = "\"token\" is not a pairing token.";
    /* It is sent in a header later. */
    if (!http_is_field_value(token) || secret_set(out_token, token) < 0)
        return 400;
    *out_words = "Forbidden.";
    return origins_allow_server(port->config.origins, out_url) ? 0 : 403;
}

static void on_connect(void *data, struct exchange *exchange)
{
    struct port *port = data;
    cleanup_arena struct arena arena = ARENA_INIT(PARSE_BYTES);
    cleanup_secret struct secret token = SECRET_INIT;
    struct port_connect request = {.origin = origin_of(exchange)};
    struct report report;
    struct httpurl url;
    const char *words;
    int status;

    if (!is_let_in_now(port, exchange))
        return;
    status = read_connect(port, &arena, exchange_request(exchange)->body, &request, &url, &token,
                          &words);
    if (status != 0) {
        answer_words(exchange, status, str_from(words));
        return;
    }
    report_of(port, &report);
    if (report.has_session) {
        answer_words(exchange, 409, STR("Already connected. Disconnect first."));
        return;
    }
    if (port->connect.number != 0) {
        answer_words(exchange, 409,
                     STR("A confirmation is already on screen. Answer that one first."));
        return;
    }
    request.url = &url;
    request.token = &token;
    await(port, &port->connect, exchange, true);
    port->config.owner->connect(port->config.data, port->connect.number, &request);
}

static void on_disconnect(void *data, struct exchange *exchange)
{
    struct port *port = data;

    if (!is_let_in_now(port, exchange))
        return;
    for (size_t i = 0; i < PORT_MAX_LEAVING; i++)
        if (port->leaving[i].number == 0) {
            await(port, &port->leaving[i], exchange, false);
            port->config.owner->disconnect(port->config.data, port->leaving[i].number);
            return;
        }
    answer_words(exchange, 503, STR("Too many requests are already waiting."));
}

static void on_health(void *data, struct exchange *exchange)
{
    answer_report(data, exchange, report_health);
}

static void on_status(void *data, struct exchange *exchange)
{
    answer_report(data, exchange, report_status);
}

static void on_preflight(struct exchange *exchange)
{
    struct http_field fields[MAX_FIELDS];
    size_t count = page_fields(origin_of(exchange), fields);
    struct str wanted;

    fields[count++] =
        (struct http_field){STR("Access-Control-Allow-Methods"), STR("GET, POST, OPTIONS")};
    fields[count++] = (struct http_field){STR("Access-Control-Allow-Headers"), STR("Content-Type")};
    fields[count++] = (struct http_field){STR("Access-Control-Max-Age"), STR("86400")};
    if (http_header(exchange_request(exchange), STR("access-control-request-private-network"),
                    &wanted) &&
        str_eq_nocase(wanted, STR("true")))
        fields[count++] =
            (struct http_field){STR("Access-Control-Allow-Private-Network"), STR("true")};
    exchange_answer(exchange,
                    &(struct http_answer){.status = 204, .fields = fields, .field_count = count});
}

/* ---- events ---- */

static void on_listener_gone(void *data)
{
    (void)data; /* the hub has forgotten it, and nothing else knew it */
}

static void on_events(struct port *port, struct exchange *exchange)
{
    cleanup_buf struct buf status = BUF_INIT(REPORT_MAX_BYTES);
    struct http_field fields[MAX_FIELDS];
    struct sse_stream *stream;
    struct report report;
    size_t count;

    if (sse_hub_count(port->hub) >= PORT_MAX_STREAMS) {
        answer_words(exchange, 503, STR("Too many listeners."));
        return;
    }
    count = page_fields(origin_of(exchange), fields);
    report_of(port, &report);
    if (report_status(&report, &status) < 0) {
        exchange_answer_error(exchange, ERR_NO_MEMORY);
        return;
    }
    if (sse_open_with(port->hub, exchange, fields, count, on_listener_gone, NULL, &stream) == 0)
        sse_send(stream, &(struct sse_event){.event = STR("ready"), .data = buf_view(&status)});
}

void port_cut(struct port *port)
{
    httpserver_cut_unwatched(port->server);
}

void port_tell(struct port *port)
{
    cleanup_buf struct buf status = BUF_INIT(REPORT_MAX_BYTES);
    struct report report;

    report_of(port, &report);
    /* Without memory they hear of the next change. */
    if (report_status(&report, &status) == 0)
        (void)sse_hub_send(port->hub,
                           &(struct sse_event){.event = STR("status"), .data = buf_view(&status)});
}

/* ---- who asks, and for what ---- */

/* Once per connection: if the kernel has only tables, all others wait while they are read. */
static bool is_of_user(struct port *port, struct exchange *exchange)
{
    if (!exchange_is_connection_marked(exchange) && is_of_user_now(port, exchange))
        exchange_mark_connection(exchange);
    return exchange_is_connection_marked(exchange);
}

/* NULL: nothing. The text is for the user's own log. */
static const char *what_keeps_out(struct port *port, struct exchange *exchange)
{
    const struct http_request *request = exchange_request(exchange);
    struct str origin;

    if (origin_check_host(&port->hosts, request->host) != 0)
        return "the Host header is not this machine";
    if (!http_header(request, STR("origin"), &origin))
        return "the request has no Origin header";
    if (!origins_allow(port->config.origins, origin))
        return "the origin is neither that of the given server URL nor in --allowed-origins";
    return is_of_user(port, exchange) ? NULL : NOT_OF_USER;
}

static void on_request(void *data, struct exchange *exchange)
{
    struct port *port = data;
    const struct http_request *request = exchange_request(exchange);
    const char *obstacle = what_keeps_out(port, exchange);
    bool is_get = request->method == HTTP_METHOD_GET;
    bool is_post = request->method == HTTP_METHOD_POST;

    if (obstacle != NULL)
        turn_away(port, exchange, obstacle);
    else if (request->method == HTTP_METHOD_OPTIONS)
        on_preflight(exchange);
    else if (is_get && str_eq(request->path, STR("/health")))
        on_health(port, exchange);
    else if (is_get && str_eq(request->path, STR("/status")))
        on_status(port, exchange);
    else if (is_get && str_eq(request->path, STR("/events")))
        on_events(port, exchange);
    else if (is_post && str_eq(request->path, STR("/connect")))
        exchange_collect(exchange, PORT_MAX_BODY_BYTES, on_connect, port);
    else if (is_post && str_eq(request->path, STR("/disconnect")))
        on_disconnect(port, exchange);
    else
        answer_words(exchange, 404, STR("Not found"));
}

/* ---- making ---- */

int port_listen(uint16_t number, int *out_fd, struct err *err)
{
    struct address address;
    int r = address_parse(STR("127.0.0.1:0"), &address);

    if (r < 0)
        return err_set_plain(err, r);
    address.port = number;
    r = address_listen(&address, err, out_fd);
    if (r == ERR_ALREADY_EXISTS)
        return err_set_field(err, r, "--port",
                             "port %u is in use, perhaps by a running daemon: see 'gatehouse "
                             "status', stop that one, or choose another port with --port",
                             number);
    return r;
}

static int make_parts(struct port *port, int listen_fd)
{
    const struct httpserver_config config = {
        .on_request = on_request,
        .data = port,
        .max_connections = PORT_MAX_CONNECTIONS,
        .max_per_address = PORT_MAX_CONNECTIONS,
        .max_unmarked = PORT_MAX_CONNECTIONS / 2, /* not let in yet: any user can open them */
        .max_kept_bytes = EVENT_BYTES * 2,
        .head_ms = HEAD_MS,
        .idle_ms = IDLE_MS,
        .max_collected_bytes = PORT_MAX_CONNECTIONS * PORT_MAX_BODY_BYTES,
    };
    struct address address;
    int r = address_of(listen_fd, &address);

    if (r == 0) {
        port->address = address;
        port->hosts = (struct origin_policy){.is_loopback = true, .port = address.port};
        r = sse_hub_new(port->config.loop, &(struct sse_hub_config){.max_kept_bytes = EVENT_BYTES},
                        &port->hub);
    }
    if (r < 0) {
        close(listen_fd);
        return r;
    }
    return httpserver_new(port->config.loop, listen_fd, &config, &port->server);
}

int port_new(const struct port_config *config, int listen_fd, struct port **out_port,
             struct err *err)
{
    struct port *port = calloc(1, sizeof(*port));
    int r;

    if (port == NULL) {
        close(listen_fd);
        return err_set_plain(err, ERR_NO_MEMORY);
    }
    port->config = *config;
    port->lookup = PEER_LOOKUP_INIT;
    r = make_parts(port, listen_fd);
    if (r < 0) {
        port_free(port);
        return err_set(err, r, "cannot open the local port: %s", err_text(r));
    }
    *out_port = port;
    return 0;
}

void port_free(struct port *port)
{
    if (port == NULL)
        return;
    /* Before freeing the server, which would report those it disconnects. */
    for (size_t i = 0; i <= PORT_MAX_LEAVING; i++) {
        struct asked *asked = i < PORT_MAX_LEAVING ? &port->leaving[i] : &port->connect;

        if (asked->exchange != NULL)
            exchange_cut(asked->exchange);
    }
    sse_hub_free(port->hub);
    if (port->server != NULL)
        httpserver_free(port->server);
    free(port);
}

uint16_t port_number(const struct port *port)
{
    return port->hosts.port;
}
