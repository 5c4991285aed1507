/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's local port: pages of the server, in the user's browser, find the daemon there and
 * bring it and their server together. Any page of the internet can make a browser send requests
 * here, and any program of the machine can send what it likes; so a request counts only when it
 * names this host and an origin that the user allowed, and comes from a program of the user's (or
 * of root's); and whatever it asks for is asked of the owner, who asks the user.
 *
 *     GET /health, GET /status      the owner's report
 *     POST /connect {url, token}    the owner is asked, and answers when the user has decided
 *     POST /disconnect              the owner is asked
 *     GET /events                   an event stream: "ready", then "status" with each change
 *     OPTIONS                       what a browser asks before
 *
 * It decides nothing about the connection, and keeps no token once the request is answered.
 */
#ifndef PROGRAMS_CONNECT_PORT_H
#define PROGRAMS_CONNECT_PORT_H

#include <stdint.h>

#include "base/err.h"
#include "base/secret.h"
#include "loop/loop.h"
#include "net/http/url.h"
#include "programs/connect/origins.h"
#include "programs/connect/report.h"

enum {
    PORT_DEFAULT = 7655,
    PORT_MAX_BODY_BYTES = 8 << 10, /* of /connect: 413 */
    PORT_MAX_CONNECTIONS = 256,    /* browsers and their tabs; any page can open some */
    PORT_MAX_STREAMS = 16,         /* of events: 503 */
    PORT_MAX_LEAVING = 8,          /* requests to disconnect that wait for an answer: 503 */
    PORT_MAX_STRANGERS = 32,       /* pages that are told of as not let in; others are not */
};

struct port;

/* What a page asks the daemon to do. The views and the token are gone when the callback returns. */
struct port_connect {
    struct str origin;         /* of the page; it is an allowed one */
    const struct httpurl *url; /* of the server; its origin is an allowed one too */
    struct str url_text;       /* as it came, for people */
    const struct secret *token;
};

/*
 * Callbacks come from the loop. A request has a number, by which it is answered once, at any time:
 * inside the callback or when the user has decided.
 */
struct port_owner {
    /* The views live until the loop goes on. */
    void (*report)(void *data, struct report *out_report);
    /* Comes only while not connected, and never a second time before the first was answered. */
    void (*connect)(void *data, uint64_t number, const struct port_connect *request);
    /*
     * The page that asked has left: the question may go. It is answered all the same, and until
     * then no other is asked, since it may be on screen.
     */
    void (*connect_gone)(void *data, uint64_t number);
    void (*disconnect)(void *data, uint64_t number);
    /* A page was not let in, and why: once for each. May be NULL. */
    void (*stranger)(void *data, struct str origin, const char *why);
};

struct port_config {
    struct loop *loop;
    const struct origins *origins; /* borrowed; it may change, as rules do */
    const struct port_owner *owner;
    void *data;
};

/*
 * The socket, on 127.0.0.1; 0 lets the system choose. A process that gives up its rights opens it
 * before. ERR_ALREADY_EXISTS with words about what to do when somebody has the port.
 */
int port_listen(uint16_t number, int *out_fd, struct err *err);

/* The socket becomes the port's, also on failure. */
int port_new(const struct port_config *config, int listen_fd, struct port **out_port,
             struct err *err);

/* Ends all requests; the owner is told of none. Not in its callbacks. */
void port_free(struct port *port);

/* The number that it has. */
uint16_t port_number(const struct port *port);

/* Answers what was asked: connected, with the owner's report, or disconnected. */
void port_done(struct port *port, uint64_t number);

/*
 * Answers that it was not done: 403 for ERR_DENIED_BY_POLICY, 409 for ERR_BUSY (another question is
 * on screen) and ERR_ALREADY_EXISTS (connected), 400 for ERR_INVALID_ARGUMENT and ERR_INVALID_PATH,
 * 500 for all others. The page is told the message, without what looks like a secret.
 * A number that nobody waits for any more is ignored, as in port_done().
 */
void port_failed(struct port *port, uint64_t number, const struct err *err);

/*
 * Cuts all connections but those that wait for the owner and those that listen to events: what
 * others have sent so far is not read. Who waits is looked at anew before anything else is taken
 * from there.
 */
void port_cut(struct port *port);

/* The report has changed: those who listen to events are told. */
void port_tell(struct port *port);

#endif
