/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server for MCP's conformance suites: tests/conformance/run_mcp.py starts it. It prints where it
 * listens, and ends when it is asked to (SIGTERM).
 */
#include <assert.h>
#include <signal.h>
#include <stdio.h>

#include "conformance.h"
#include "loop/signal.h"
#include "mcp/http.h"
#include "net/http/router.h"
#include "net/http/server.h"

enum { SHUTDOWN_MS = 1000, RETRY_MS = 50 };

static struct loop *loop;
static struct httpserver *server;
static struct mcp_http *endpoint;
static struct signal_watch *end_watch;

/* ---- what is offered ---- */

static const struct catalog_listing *tools[CONFORMANCE_TOOLS];
static const struct mcp_prompt *prompts[CONFORMANCE_PROMPTS];
static struct mcp_offer offer = {
    .tools = tools,
    .tool_count = CONFORMANCE_TOOLS - 1,
    .prompts = prompts,
    .prompt_count = CONFORMANCE_PROMPTS - 1,
};

static void offer_anew(void)
{
    int r = mcp_service_set_offer(mcp_http_service(endpoint), &offer);

    assert(r == 0);
    (void)r;
}

/* The last one is there every other time. */
void conformance_change_tools(void)
{
    offer.tool_count = 2 * CONFORMANCE_TOOLS - 1 - offer.tool_count;
    offer_anew();
}

void conformance_change_prompts(void)
{
    offer.prompt_count = 2 * CONFORMANCE_PROMPTS - 1 - offer.prompt_count;
    offer_anew();
}

/* ---- the host ---- */

static void start(void *data, struct mcp_call *call)
{
    (void)data;
    switch (mcp_call_request(call)->kind) {
    case MCP_TOOL_CALL:
        conformance_run_tool(loop, call);
        return;
    case MCP_PROMPT_GET:
        conformance_get_prompt(call);
        return;
    case MCP_RESOURCES_LIST:
        conformance_list_resources(call);
        return;
    case MCP_RESOURCE_READ:
        conformance_read_resource(call);
        return;
    case MCP_SUBSCRIBE:
        conformance_subscribe(call);
        return;
    case MCP_COMPLETE:
        conformance_complete(call);
        return;
    }
}

static void cancel(void *data, struct mcp_call *call)
{
    (void)data;
    conformance_cancel(call);
}

static void answered(void *data, struct mcp_call *call)
{
    (void)data;
    conformance_ask(call);
}

static void unsubscribe(void *data, struct mcp_session *session, struct str uri)
{
    (void)data;
    (void)session;
    (void)uri;
}

static const struct mcp_host host = {
    .start = start,
    .cancel = cancel,
    .answered = answered,
    .unsubscribe = unsubscribe,
};

static struct mcp_server description = {
    .name = STR_LITERAL("conformance"),
    .version = STR_LITERAL("1"),
    .has_prompts = true,
    .has_resources = true,
    .has_subscriptions = true,
    .has_tool_changes = true,
    .has_prompt_changes = true,
    .has_completions = true,
    .has_logging = true,
};

#define ROUTE(verb)                                                                                \
    {                                                                                              \
        .method = (verb), .path = STR_LITERAL("/mcp"), .takes_head = true,                         \
        .handle = mcp_http_handle                                                                  \
    }
static const struct route routes[] = {ROUTE(HTTP_METHOD_POST), ROUTE(HTTP_METHOD_GET),
                                      ROUTE(HTTP_METHOD_DELETE)};

/* ---- life ---- */

static void on_finished(void *data)
{
    (void)data;
    loop_stop(loop);
}

static void on_signal(void *data, int signum)
{
    (void)data;
    (void)signum;
    mcp_http_close(endpoint);
    httpserver_shutdown(server, SHUTDOWN_MS, on_finished, NULL);
}

static int make_endpoint(void)
{
    for (size_t i = 0; i < CONFORMANCE_TOOLS; i++)
        tools[i] = &conformance_tools[i];
    for (size_t i = 0; i < CONFORMANCE_PROMPTS; i++)
        prompts[i] = &conformance_prompts[i];
    description.offer = offer;
    description.resource_templates = conformance_templates;
    return mcp_http_new(
        &(struct mcp_http_config){
            .loop = loop, .server = &description, .host = &host, .retry_ms = RETRY_MS},
        &endpoint);
}

static int serve(struct err *err)
{
    static struct origin_policy policy = {.is_loopback = true};
    static struct router router = {
        .routes = routes, .count = array_size(routes), .policy = &policy};
    struct address address;
    int fd;
    int r = address_parse(STR("127.0.0.1:0"), &address);

    if (r == 0)
        r = address_listen(&address, err, &fd);
    if (r == 0)
        r = address_of(fd, &address);
    if (r < 0)
        return r;
    policy.port = address.port;
    router.data = endpoint;
    r = httpserver_new(loop, fd,
                       &(struct httpserver_config){.on_request = router_handle, .data = &router},
                       &server);
    if (r == 0)
        r = signal_watch_new(loop, SIGTERM, on_signal, NULL, &end_watch);
    if (r < 0)
        return r;
    printf("http://127.0.0.1:%u/mcp\n", address.port);
    return fflush(stdout) == 0 ? 0 : ERR_IO;
}

int main(void)
{
    struct err err = ERR_INIT;
    int r = loop_new(&clock_system, &loop);

    if (r == 0)
        r = make_endpoint();
    if (r == 0)
        r = serve(&err);
    if (r < 0) {
        fprintf(stderr, "conformance_server: %s\n",
                err.message[0] != '\0' ? err.message : err_text(r));
        return 1;
    }
    loop_run(loop);
    signal_watch_free(end_watch);
    httpserver_free(server);
    mcp_http_free(endpoint);
    loop_free(loop);
    return 0;
}
