/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OAuth 2.1 for agents that come by the network, as MCP wants it: an app registers itself, the user
 * allows it some groups of tools on the page, and it gets tokens instead of a key.
 *
 *     GET  /.well-known/oauth-protected-resource[/mcp]    RFC 9728
 *     GET  /.well-known/oauth-authorization-server        RFC 8414
 *     POST /oauth/register                                RFC 7591
 *     GET  /oauth/authorize                               the page, which asks the next two
 *     GET  /api/consent?QUERY                             what an app asks for
 *     POST /api/consent       {query, groups, workspace, asks, allow}  {redirect}
 *     POST /oauth/token                                   RFC 6749, 7636, 8707
 *     POST /oauth/revoke                                  RFC 7009
 *     GET  /api/consents                                  {consents: […]}
 *     DELETE /api/consents/ID
 *
 * The server never redirects by itself: only the page does, after a click of its user.
 */
#ifndef PROGRAMS_SERVER_OAUTH_H
#define PROGRAMS_SERVER_OAUTH_H

#include "net/http/exchange.h"
#include "programs/server/conversations.h"
#include "programs/server/logins.h"
#include "store/oauth.h"

enum { OAUTH_MAX_BODY_BYTES = 32 << 10, OAUTH_URL_BYTES = STORE_URL_BYTES + 64 };

#define OAUTH_RESOURCE_METADATA "/.well-known/oauth-protected-resource"
#define OAUTH_SERVER_METADATA   "/.well-known/oauth-authorization-server"
#define OAUTH_CONSENTS          "/api/consents/"

struct oauth {
    struct loop *loop;
    struct store *store;
    struct logins *logins;
    const char *url; /* the public one */
    bool is_tls;     /* what we speak ourselves, at other names */
    /* Tokens were revoked: what they opened must end. */
    void (*revoked)(void *data);
    void *data;
    const struct conversations *conversations; /* set before the first request */
    struct throttle *registrations;            /* by address */
    struct throttle *refreshes;                /* by grant */
};

/* The fields up to `data` are set. oauth_done() even on failure. */
int oauth_init(struct oauth *oauth);
void oauth_done(struct oauth *oauth);

/* "http://127.0.0.1:8080", by which the client knows this server; the router has checked Host. */
void oauth_base(const struct oauth *oauth, const struct http_request *request,
                char out_url[OAUTH_URL_BYTES]);

/*
 * The agent that a token stands for; its id is negative, so that it is no key's. ERR_UNAUTHORIZED.
 */
int oauth_find_agent(struct oauth *oauth, struct str token, struct store_agent *out_agent);
/* Whether such an agent still has tokens. */
bool oauth_is_granted(struct oauth *oauth, int64_t agent);

/* Exchange handlers; where there is a body, it was read. */
void oauth_answer_resource(struct oauth *oauth, struct exchange *exchange);
void oauth_answer_server(struct oauth *oauth, struct exchange *exchange);
void oauth_register(struct oauth *oauth, struct exchange *exchange);
void oauth_token(struct oauth *oauth, struct exchange *exchange);
void oauth_revoke(struct oauth *oauth, struct exchange *exchange);
void oauth_answer_asked(struct oauth *oauth, struct exchange *exchange);
void oauth_decide(struct oauth *oauth, struct exchange *exchange);
void oauth_answer_consents(struct oauth *oauth, struct exchange *exchange);
void oauth_end_consent(struct oauth *oauth, struct exchange *exchange);

#endif
