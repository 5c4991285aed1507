/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our side of bench/http: what bench/peers/http.mjs does, with the libraries that a server of ours
 * is made of. http_gatehouse [PEM]: a file with a key and its certificate, for TLS.
 *
 *     POST /mcp    the MCP endpoint, with one tool
 *     GET /stream  events; stays open
 *     POST /push   what it brings goes to every stream as one event
 */
#include <signal.h>
#include <stdio.h>

#include "loop/signal.h"
#include "mcp/http.h"
#include "net/http/router.h"
#include "net/http/server.h"
#include "net/sse/writer.h"
#include "net/tls/tls.h"

enum {
    MAX_BODY_BYTES = 1 << 20,
    MAX_CONNECTIONS = 12000,   /* the streams, and some more */
    QUIET_MS = 10 * 60 * 1000, /* the other one's streams are silent too */
};

static struct loop *loop;
static struct mcp_http *endpoint;
static struct sse_hub *streams;
static struct httpserver *server;
static struct tls_context *tls;

/* ---- MCP ---- */

static const struct catalog_tool tool = {
    .name = STR_LITERAL("test_simple_text"),
    .input_schema = STR_LITERAL("{\"type\":\"object\"}"),
};
static const struct catalog_listing listing = {
    .tool = &tool,
    .text = STR_LITERAL("{\"name\":\"test_simple_text\",\"inputSchema\":{\"type\":\"object\"}}"),
};
static const struct catalog_listing *const tools[] = {&listing};

static void start(void *data, struct mcp_call *call)
{
    (void)data;
    mcp_call_finish(call, STR("{\"content\":[{\"type\":\"text\",\"text\":"
                              "\"This is a simple text response for testing.\"}]}"));
}

static void cancel(void *data, struct mcp_call *call)
{
    (void)data;
    (void)call; /* none lasts long enough */
}

static void unsubscribe(void *data, struct mcp_session *session, struct str uri)
{
    (void)data;
    (void)session;
    (void)uri;
}

static const struct mcp_host host = {.start = start, .cancel = cancel, .unsubscribe = unsubscribe};
static const struct mcp_server description = {
    .name = STR_LITERAL("bench"),
    .version = STR_LITERAL("1"),
    .offer = {.tools = tools, .tool_count = 1},
};

/* ---- who may ask, and for what ---- */

static int authorize(void *data, struct str token, struct str *out_principal)
{
    (void)data;
    if (!str_eq(token, STR("bench")))
        return ERR_UNAUTHORIZED;
    *out_principal = STR("bench");
    return 0;
}

static bool is_stranger(struct exchange *exchange)
{
    struct str value = STR_EMPTY;

    if (http_header(exchange_request(exchange), STR("Authorization"), &value) &&
        str_eq(value, STR("Bearer bench")))
        return false;
    exchange_answer_error(exchange, ERR_UNAUTHORIZED);
    return true;
}

static void on_message(void *data, struct exchange *exchange)
{
    (void)data;
    mcp_http_handle(endpoint, exchange);
}

static void on_gone(void *data)
{
    (void)data;
}

static void on_stream(void *data, struct exchange *exchange)
{
    struct sse_stream *stream;

    (void)data;
    if (!is_stranger(exchange))
        (void)sse_open(streams, exchange, on_gone, NULL, &stream);
}

static void on_push(void *data, struct exchange *exchange)
{
    (void)data;
    if (is_stranger(exchange))
        return;
    (void)sse_hub_send(streams, &(struct sse_event){.data = exchange_request(exchange)->body});
    exchange_answer(exchange, &(struct http_answer){.status = 202});
}

static const struct route routes[] = {
    {.method = HTTP_METHOD_POST,
     .path = STR_LITERAL("/mcp"),
     .takes_head = true,
     .handle = on_message},
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL("/stream"), .handle = on_stream},
    {.method = HTTP_METHOD_POST,
     .path = STR_LITERAL("/push"),
     .max_body_bytes = MAX_BODY_BYTES,
     .handle = on_push},
};

/* ---- life ---- */

static int read_pem(const char *path)
{
    static char pem[SECRET_TEXT_MAX_BYTES];
    cleanup_secret_text struct secret_text key = SECRET_TEXT_INIT;
    FILE *file = fopen(path, "re");
    struct err err = ERR_INIT;
    size_t len;
    int r;

    if (file == NULL)
        return ERR_NOT_FOUND;
    len = fread(pem, 1, sizeof(pem), file);
    fclose(file);
    r = secret_text_set(&key, (struct str){pem, len});
    if (r == 0)
        r = tls_server_context_new((struct str){pem, len}, &key, &clock_system, &tls, &err);
    secret_wipe(pem, sizeof(pem));
    if (r < 0)
        fprintf(stderr, "http_gatehouse: %s\n", err.message);
    return r;
}

static int make_filter(void *data, struct filter **out_filter)
{
    (void)data;
    return tls_server_new(tls, out_filter);
}

static int serve(void)
{
    static struct router router = {.routes = routes, .count = array_size(routes)};
    struct address address;
    int fd;
    int r = address_parse(STR("127.0.0.1:0"), &address);

    if (r == 0)
        r = address_listen(&address, NULL, &fd);
    if (r == 0)
        r = address_of(fd, &address);
    if (r == 0)
        r = httpserver_new(
            loop, fd,
            &(struct httpserver_config){.on_request = router_handle,
                                        .data = &router,
                                        .make_filter = tls != NULL ? make_filter : NULL,
                                        .max_connections = MAX_CONNECTIONS,
                                        .max_per_address = MAX_CONNECTIONS},
            &server);
    if (r < 0)
        return r;
    printf("%s://127.0.0.1:%u\n", tls != NULL ? "https" : "http", address.port);
    return fflush(stdout) == 0 ? 0 : ERR_IO;
}

static int make_endpoints(void)
{
    int r = mcp_http_new(
        &(struct mcp_http_config){
            .loop = loop, .server = &description, .host = &host, .authorize = authorize},
        &endpoint);

    if (r == 0)
        r = sse_hub_new(loop, &(struct sse_hub_config){.keepalive_ms = QUIET_MS}, &streams);
    return r;
}

static void on_signal(void *data, int signum)
{
    (void)data;
    (void)signum;
    loop_stop(loop);
}

int main(int argc, char **argv)
{
    struct signal_watch *watch;
    int r = loop_new(&clock_system, &loop);

    if (r == 0 && argc > 1)
        r = read_pem(argv[1]);
    if (r == 0)
        r = make_endpoints();
    if (r == 0)
        r = signal_watch_new(loop, SIGTERM, on_signal, NULL, &watch);
    if (r == 0)
        r = serve();
    if (r < 0) {
        fprintf(stderr, "http_gatehouse: %s\n", err_text(r));
        return 1;
    }
    loop_run(loop);
    signal_watch_free(watch);
    sse_hub_free(streams);
    mcp_http_close(endpoint);
    httpserver_free(server);
    mcp_http_free(endpoint);
    tls_context_unref(tls);
    loop_free(loop);
    return 0;
}
