/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who a browser is: a link that works once or a password, then a cookie; or what a trusted proxy
 * says. The store has the digests of the cookies, so logins survive a restart.
 *
 * A request that changes something needs more than the cookie: it must come from our own page and
 * have a header that no form of another page can send.
 */
#ifndef PROGRAMS_SERVER_LOGINS_H
#define PROGRAMS_SERVER_LOGINS_H

#include "base/secret.h"
#include "loop/loop.h"
#include "loop/worker.h"
#include "net/http/exchange.h"
#include "programs/server/proxies.h"
#include "programs/server/throttle.h"
#include "session/serveraudit.h"
#include "store/store.h"

enum { LOGINS_MAX_BODY_BYTES = 4 << 10 };

/*
 * Under https with the prefix by which a browser refuses one that another host, a parent domain or
 * a page without TLS wants to set. Cookies know no ports, see docs/internals/server.md: without TLS
 * the name has ours, so that logging in at one server of this machine does not end it at another.
 */
#define LOGINS_COOKIE        "gatehouse_session"
#define LOGINS_SECURE_COOKIE "__Host-" LOGINS_COOKIE
#define LOGINS_HEADER        "X-Gatehouse-Request"

enum { LOGINS_COOKIE_BYTES = 40 };

struct logins {
    struct loop *loop;
    struct store *store;
    struct serveraudit *audit;
    const struct trusted_proxies *proxies;
    uint16_t port;
    bool is_secure; /* the public URL is https */
    char cookie[LOGINS_COOKIE_BYTES];
    struct worker_pool *pool;
    struct throttle *names;     /* attempts with passwords, by user */
    struct throttle *addresses; /* the same by address */
    struct throttle *keys;      /* unknown keys and links, by address */
};

/* Who asks, and by which login; 0: a proxy says so. */
struct logins_who {
    int64_t user;
    int64_t login;
};

/* The fields up to `is_secure` are set. logins_done() even on failure. */
int logins_init(struct logins *logins);
/* Answers attempts that are under way; before the HTTP server is freed. */
void logins_done(struct logins *logins);

/* A link that logs the user in once; show its token with secret_reveal(). */
int logins_make_link(struct logins *logins, int64_t user, struct secret *out_token);

/* ERR_UNAUTHORIZED, or ERR_ORIGIN_DENIED for a change that did not come from our page. */
int logins_who(struct logins *logins, const struct exchange *exchange, struct logins_who *out_who);
/* Whether the login is still good; of a proxy's, whether there is still such a user. */
bool logins_is_good(struct logins *logins, const struct logins_who *who);

/*
 * Somebody shows a key that nobody has, or a guessable one: whether that address has tried too many
 * unknown ones. Answers 429 itself then, and returns false.
 */
bool logins_admit_stranger(struct logins *logins, struct exchange *exchange, bool is_known);

/* Handlers of GET /login (a link), POST /login (a password) and POST /logout. */
void logins_enter(struct logins *logins, struct exchange *exchange);
void logins_sign_in(struct logins *logins, struct exchange *exchange);
void logins_leave(struct logins *logins, struct exchange *exchange);

/*
 * Handler of POST /api/password, {current, new}: ends the user's other logins. Answers what goes
 * wrong itself; `done` answers the rest.
 */
typedef void logins_renewed(const void *context, struct exchange *exchange, int64_t user);
void logins_renew_password(struct logins *logins, struct exchange *exchange,
                           const struct logins_who *who, logins_renewed *done, const void *context);

/* Appends {"sessions": […], "hasPassword": …}, for the page. */
int logins_write_list(struct logins *logins, const struct logins_who *who, struct buf *out);

/* One line for the audit log: by whom and from where this request comes. */
void logins_note(struct logins *logins, const struct exchange *exchange, int64_t user,
                 struct serveraudit_note note);

#endif
