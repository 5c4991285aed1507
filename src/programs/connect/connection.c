/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/connection.h"

#include <stdlib.h>

#include "cli/authorities.h"
#include "net/http/client.h"
#include "net/http/proxy.h"

struct connection {
    struct httpurl url;
    struct tls_context *tls; /* NULL where it is spoken to plainly */
    struct httpproxies proxies;
    struct httpclient *http;
    struct gateway *gateway;
};

static bool may_reach(void *data, const struct httpurl *url)
{
    const struct connection *connection = data;

    return httpurl_same_origin(url, &connection->url);
}

static int make_filter(void *data, struct str host, struct filter **out_filter, struct err *err)
{
    const struct connection *connection = data;

    return tls_client_new(connection->tls, host, out_filter, err);
}

static const char *get_environment(const char *name)
{
    return getenv(name);
}

static int open_http(struct connection *connection, const struct connection_config *given,
                     struct err *err)
{
    const struct tls_trust trust = authorities_trust(given->authorities_pem);
    const struct httpclient_config config = {
        .may_reach = may_reach,
        .make_filter = connection->url.is_tls ? make_filter : NULL,
        .data = connection,
        .proxies = &connection->proxies,
    };
    int r = httpproxies_from(get_environment, &connection->proxies, err);

    if (r == 0 && connection->url.is_tls)
        r = tls_client_context_new(&trust, &clock_system, &connection->tls, err);
    if (r < 0)
        return r;
    r = httpclient_new(given->loop, &config, &connection->http);
    return r < 0 ? err_set_plain(err, r) : 0;
}

int connection_new(const struct connection_config *config, struct connection **out_connection,
                   struct err *err)
{
    struct connection *connection = calloc(1, sizeof(*connection));
    struct gateway_config gateway = {
        .loop = config->loop, .owner = config->owner, .data = config->data};
    int r;

    if (connection == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    connection->url = config->url;
    r = open_http(connection, config, err);
    if (r == 0) {
        gateway.http = connection->http;
        r = gateway_new(&gateway, &connection->gateway);
        if (r < 0)
            err_set_plain(err, r);
    }
    if (r < 0)
        connection_free(connection);
    else
        *out_connection = connection;
    return r;
}

void connection_free(struct connection *connection)
{
    if (connection == NULL)
        return;
    if (connection->gateway != NULL)
        gateway_free(connection->gateway);
    if (connection->http != NULL)
        httpclient_free(connection->http);
    httpproxies_done(&connection->proxies);
    if (connection->tls != NULL)
        tls_context_unref(connection->tls);
    free(connection);
}

struct gateway *connection_gateway(const struct connection *connection)
{
    return connection->gateway;
}
