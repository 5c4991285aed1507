/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heads of requests and answers that go through a preview of a sandbox's port: what of them
 * passes. Neither side is trusted with what belongs to the other or to us: keys and tickets of the
 * service stay here, and a sandbox changes nothing for pages that are not its own.
 *
 * Pure functions; proxy.h moves the bytes.
 */
#ifndef PROGRAMS_SANDBOXD_FORWARD_H
#define PROGRAMS_SANDBOXD_FORWARD_H

#include "base/buf.h"
#include "net/http/http.h"
#include "net/http/response.h"

/* The query parameter and the header that carry a sandbox's ticket. */
#define FORWARD_TICKET_QUERY  "DAYTONA_SANDBOX_AUTH_KEY"
#define FORWARD_TICKET_HEADER "X-Daytona-Preview-Token"

struct forward_plan {
    uint16_t port;
    struct str target; /* for the sandbox, begins with a slash */
    /*
     * What the client's path has before the target. Such a page shares its host's name with others,
     * so no cookies pass. Empty: the preview has a name of its own.
     */
    struct str prefix;
    bool has_tls; /* the client's connection to us */
    /* Whether a value of Authorization or X-Api-Key is one of the service's keys. */
    bool (*is_key)(void *data, struct str key);
    void *data;
};

/* "https" or "http", as the client sees us: a proxy in front of us that has TLS says so. */
struct str forward_scheme(const struct http_request *request, bool has_tls);

/* Whether it asks for a WebSocket: the only protocol that it may change to. */
bool forward_is_upgrade(const struct http_request *request);

/* Writes the whole head. ERR_TOO_LARGE, ERR_NO_MEMORY. */
int forward_write_request(const struct http_request *request, const struct forward_plan *plan,
                          struct buf *out);

/*
 * The fields of the answer, of which `fields` has HTTP_MAX_HEADERS, and its type. A redirection is
 * written into `space` if it must change.
 */
int forward_read_answer(const struct http_response *response, const struct forward_plan *plan,
                        struct buf *space, struct http_field *fields, size_t *out_count,
                        struct str *out_type);

/* The lines of a 101, for exchange_upgrade(). */
int forward_write_upgrade(const struct http_response *response, const struct forward_plan *plan,
                          struct buf *out);

#endif
