/* SPDX-License-Identifier: Apache-2.0 */
/* What a client of HTTP holds at the moment. */
#ifndef TESTS_SUPPORT_HTTPCLIENT_STATS_H
#define TESTS_SUPPORT_HTTPCLIENT_STATS_H

#include "net/http/client_internal.h"

struct httpclient_stats {
    unsigned connections; /* idle ones included */
    unsigned idle;
    unsigned calls; /* waiting ones included */
    unsigned waiting;
    uint64_t dialled;
};

static inline struct httpclient_stats httpclient_stats(const struct httpclient *client)
{
    struct httpclient_stats stats = {
        .connections = client->link_count, .calls = client->call_count, .dialled = client->dialled};

    list_each (node, &client->links)
        stats.idle += list_entry(node, struct httpclient_link, node)->state == LINK_IDLE;
    list_each (node, &client->waiting)
        stats.waiting++;
    return stats;
}

#endif
