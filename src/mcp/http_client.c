/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/http_internal.h"

#include <stdlib.h>

#include "base/rand.h"
#include "base/secret.h"

enum { IDLE_STEP_MS = 60 * 1000 };

/* Someone waits for it, or it has something to do. */
static bool is_in_use(const struct mcp_http_client *client)
{
    list_each (node, &client->streams) {
        const struct mcp_http_stream *stream = list_entry(node, struct mcp_http_stream, link);

        if (stream->exchange != NULL || stream->sse != NULL)
            return true;
    }
    return mcp_session_call_count(client->session) > 0;
}

/* Drops the least recently used session, if one is unused. */
static bool make_room(struct mcp_http *http)
{
    list_each (node, &http->clients) {
        struct mcp_http_client *client = list_entry(node, struct mcp_http_client, link);

        if (client->id[0] != '\0' && !is_in_use(client)) {
            mcp_http_client_finish(client);
            return true;
        }
    }
    return false;
}

int mcp_http_client_new(struct mcp_http *http, bool is_modern, struct str principal,
                        struct mcp_http_client **out_client)
{
    struct mcp_http_client *client;
    int r;

    if (!is_modern && http->sessions.count >= http->config.max_sessions && !make_room(http))
        return ERR_BUSY;
    client = calloc(1, sizeof(*client));
    if (client == NULL)
        return ERR_NO_MEMORY;
    client->http = http;
    client->is_modern = is_modern;
    client->principal = principal;
    client->used_ms = loop_now_ms(http->config.loop);
    list_init(&client->streams);
    list_init(&client->events);
    r = mcp_session_new(http->service,
                        &(struct mcp_session_config){
                            .data = client, .principal = principal, .is_stateless = is_modern},
                        &client->session);
    if (r < 0) {
        free(client);
        return r;
    }
    list_append(&http->clients, &client->link);
    *out_client = client;
    return 0;
}

int mcp_http_client_publish(struct mcp_http_client *client)
{
    struct mcp_http *http = client->http;
    int r;

    rand_token(client->id, MCP_HTTP_ID_LEN);
    r = map_add(&http->sessions, (struct str){client->id, MCP_HTTP_ID_LEN}, client);
    if (r < 0)
        client->id[0] = '\0';
    else if (!http->idle.is_started)
        timer_start_repeating(&http->idle, IDLE_STEP_MS);
    return r;
}

struct mcp_http_client *mcp_http_client_find(struct mcp_http *http, struct str id,
                                             struct str principal)
{
    struct mcp_http_client *client = map_get(&http->sessions, id);

    /* A session can only be used by the principal who opened it. */
    return client != NULL && str_eq(client->principal, principal) ? client : NULL;
}

void mcp_http_client_use(struct mcp_http_client *client)
{
    client->used_ms = loop_now_ms(client->http->config.loop);
    list_remove(&client->link);
    list_append(&client->http->clients, &client->link);
}

void mcp_http_client_finish(struct mcp_http_client *client)
{
    struct mcp_http *http = client->http;

    if (client->is_finished)
        return;
    client->is_finished = true;
    if (client->id[0] != '\0')
        map_remove(&http->sessions, (struct str){client->id, MCP_HTTP_ID_LEN});
    list_each_safe (node, &client->streams) {
        struct mcp_http_stream *stream = list_entry(node, struct mcp_http_stream, link);

        mcp_http_stream_free(stream);
    }
    list_remove(&client->link);
    list_append(&http->finished, &client->link);
    loop_defer(http->config.loop, &http->reap);
}

void mcp_http_reap(void *data)
{
    struct mcp_http *http = data;

    if (http->has_unsettled) {
        http->has_unsettled = false;
        list_each_safe (node, &http->clients)
            mcp_http_streams_settle(list_entry(node, struct mcp_http_client, link));
    }
    while (!list_is_empty(&http->finished)) {
        struct mcp_http_client *client =
            list_entry(http->finished.next, struct mcp_http_client, link);

        list_remove(&client->link);
        /* Cancels its calls and sends nothing. */
        mcp_session_free(client->session);
        if (client->id[0] != '\0' && http->config.session_over != NULL)
            http->config.session_over(http->config.data, str_from(client->id));
        mcp_http_forget_events(client);
        free(client);
    }
}

void mcp_http_expire_idle(void *data)
{
    struct mcp_http *http = data;
    int64_t before_ms = loop_now_ms(http->config.loop) - http->config.idle_ms;

    /* In the order of their last use. */
    list_each_safe (node, &http->clients) {
        struct mcp_http_client *client = list_entry(node, struct mcp_http_client, link);

        if (client->used_ms > before_ms)
            break;
        if (client->id[0] != '\0' && !is_in_use(client))
            mcp_http_client_finish(client);
    }
    if (http->sessions.count == 0)
        timer_stop(&http->idle);
    mcp_http_reap(http);
}
