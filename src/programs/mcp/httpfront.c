/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/mcp/httpfront.h"

#include <stdlib.h>
#include <unistd.h>

#include "loop/timer.h"
#include "mcp/http.h"
#include "net/address.h"
#include "net/http/router.h"
#include "net/http/server.h"
#include "programs/mcp/about.h"
#include "programs/mcp/calls.h"

enum {
    /* Agents of one machine, some streams each. */
    MAX_CONNECTIONS = 512,
    MAX_UNMARKED = MAX_CONNECTIONS / 2, /* that have not shown the key: any user can open them */
    MAX_SESSIONS = 128,
    MAX_REQUESTS = 1024,
    /* Clients that ask and do not read are worked for no more. */
    OUTPUT_PAUSE_BYTES = 64 << 20,
    ANSWER_MAX_BYTES = 512 << 20,
    LOOK_MS = 20,
    /* So long a client may let the others wait by not reading. */
    STALLED_MS = 2000,
    SHUTDOWN_MS = 2000,
};

struct httpfront {
    struct calls *calls; /* the first member: see programs/mcp/calls.h */
    struct front_config config;
    const struct secret *key;
    struct about about;
    struct mcp_http *mcp;
    struct origin_policy policy;
    char own_address[ADDRESS_TEXT_BYTES]; /* which may be another one of 127.0.0.0/8 */
    struct str own_host;
    struct router router;
    struct httpserver *server;
    struct loop_task give_up;
    bool is_stopping;
    struct timer look; /* whether clients have read their answers, while others wait */
};

/* ---- work ---- */

static bool may_begin(void *data)
{
    struct httpfront *front = data;
    struct httpserver_stats stats;

    httpserver_stats(front->server, &stats);
    if (stats.kept_bytes <= OUTPUT_PAUSE_BYTES)
        return true;
    if (!front->look.is_started)
        timer_start(&front->look, LOOK_MS);
    return false;
}

static void look_again(void *data)
{
    struct httpfront *front = data;

    httpserver_shed(front->server, STALLED_MS);
    calls_go_on(front->calls);
}

static void on_answered(void *data)
{
    struct httpfront *front = data;

    front->config.on_answered(front->config.data);
}

/* ---- who comes ---- */

static int authorize(void *data, struct str token, struct str *out_principal)
{
    const struct httpfront *front = data;

    if (!secret_eq(front->key, token))
        return ERR_UNAUTHORIZED;
    *out_principal = STR("key");
    return 0;
}

/* The server's data is the router, whose data is the front end. */
static void on_access(void *data, const struct http_access *access)
{
    const struct httpfront *front = ((const struct router *)data)->data;

    http_access_log(access, front->config.log);
}

static void on_request(void *data, struct exchange *exchange)
{
    struct httpfront *front = data;

    mcp_http_handle(front->mcp, exchange);
}

static const struct route routes[] = {
    {.method = HTTP_METHOD_POST,
     .path = STR_LITERAL("/mcp"),
     .takes_head = true,
     .handle = on_request},
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL("/mcp"), .handle = on_request},
    {.method = HTTP_METHOD_DELETE, .path = STR_LITERAL("/mcp"), .handle = on_request},
};

/* ---- the end ---- */

static void on_shutdown(void *data)
{
    struct httpfront *front = data;

    front->config.on_end(front->config.data);
}

static void give_up(void *data)
{
    struct httpfront *front = data;

    /* A second signal means not to wait for clients. */
    if (front->is_stopping) {
        front->config.on_end(front->config.data);
        return;
    }
    front->is_stopping = true;
    calls_give_up(front->calls);
    mcp_http_close(front->mcp);
    httpserver_shutdown(front->server, SHUTDOWN_MS, on_shutdown, front);
}

void httpfront_run(struct httpfront *front)
{
    calls_run(front->calls);
}

void httpfront_stop(struct httpfront *front)
{
    calls_close(front->calls);
    /* Later: this may be in the middle of an answer. */
    loop_defer(front->config.loop, &front->give_up);
}

/* ---- making ---- */

static int serve(struct httpfront *front, int fd)
{
    struct address address;
    struct httpserver_config config = {
        .on_request = router_handle,
        .data = &front->router,
        .on_access = on_access,
        .max_connections = MAX_CONNECTIONS,
        .max_per_address = MAX_CONNECTIONS,
        .max_unmarked = MAX_UNMARKED,
        .max_kept_bytes = ANSWER_MAX_BYTES,
    };
    int r = address_of(fd, &address);

    if (r < 0) {
        close(fd);
        return r;
    }
    /* A few of the largest messages. */
    if (front->about.server.max_held_bytes > HTTPSERVER_MAX_COLLECTED_BYTES)
        config.max_collected_bytes = front->about.server.max_held_bytes;
    address_format(&address, front->own_address);
    front->own_host = str_from(front->own_address);
    front->policy = (struct origin_policy){
        .is_loopback = true, .port = address.port, .hosts = &front->own_host, .host_count = 1};
    front->router = (struct router){
        .routes = routes, .count = array_size(routes), .data = front, .policy = &front->policy};
    return httpserver_new(front->config.loop, fd, &config, &front->server);
}

static int make_parts(struct httpfront *front)
{
    static const struct mcp_host host = {
        .start = calls_take,
        .answered = calls_answered,
        .cancel = calls_cancel,
        .unsubscribe = calls_unsubscribe,
    };
    const struct calls_events events = {
        .may_begin = may_begin, .on_answered = on_answered, .data = front};
    int r = calls_new(&front->config, &events, &front->calls);

    if (r == 0)
        r = mcp_http_new(
            &(struct mcp_http_config){
                .loop = front->config.loop,
                .server = &front->about.server,
                .host = &host,
                .data = front,
                .authorize = authorize,
                .max_sessions = MAX_SESSIONS,
                .max_requests = MAX_REQUESTS,
                .max_kept_bytes = ANSWER_MAX_BYTES,
            },
            &front->mcp);
    return r;
}

int httpfront_new(const struct front_config *config, int listen_fd, const struct secret *key,
                  struct httpfront **out_front, struct err *err)
{
    struct httpfront *front = calloc(1, sizeof(*front));
    int r;

    if (front == NULL) {
        close(listen_fd);
        return err_set_plain(err, ERR_NO_MEMORY);
    }
    front->config = *config;
    front->key = key;
    loop_task_init(&front->give_up, give_up, front);
    timer_init(&front->look, config->loop, look_again, front);
    r = about_init(&front->about, config);
    front->about.server.offer.hides_output_schemas = config->result_form == TOOLRESULT_TEXT;
    if (r == 0)
        r = make_parts(front);
    if (r == 0)
        r = serve(front, listen_fd);
    else
        close(listen_fd);
    if (r < 0) {
        httpfront_free(front);
        return err_set(err, r, "cannot serve HTTP: %s", err_text(r));
    }
    *out_front = front;
    return 0;
}

void httpfront_free(struct httpfront *front)
{
    if (front == NULL)
        return;
    timer_stop(&front->look);
    loop_task_cancel(&front->give_up);
    calls_end(front->calls);
    /* Every session and every stream. */
    mcp_http_free(front->mcp);
    calls_free(front->calls);
    if (front->server != NULL)
        httpserver_free(front->server);
    about_done(&front->about);
    free(front);
}
