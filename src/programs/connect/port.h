/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's local port: pages of the server in the user's browser find the daemon there, and ask
 * it to connect to their server. Any page of the internet can make a browser send requests here,
 * and any program of the machine can send anything. So a request counts only if it names this host
 * and an origin that the user allowed, and comes from a program of the user (or of root); and every
 * action is passed to the owner, who asks the user.
 *
 *     GET /health, GET /status      the owner's report
 *     POST /connect {url, token}    asks the owner, who answers when the user has decided
 *     POST /disconnect              asks the owner
 *     GET /events                   an event stream: "ready", then "status" with each change
 *     OPTIONS                       a browser's preflight request
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
    PORT_MAX_BODY_BYTES = 8 << 10, /* of /connect; 413 beyond */
    PORT_MAX_CONNECTIONS = 256,    /* browsers and their tabs; any page can open some */
    PORT_MAX_STREAMS = 16,         /* event streams; 503 beyond */
    PORT_MAX_LEAVING = 8,          /* pending requests to disconnect; 503 beyond */
    PORT_MAX_STRANGERS = 32,       /* refused pages that are reported; further ones are not */
};

struct port;

/* A page's request to connect. The strings and the token are invalid after the callback returns. */
struct port_connect {
    struct str origin;         /* of the page; allowed */
    const struct httpurl *url; /* of the server; its origin is allowed too */
    struct str url_text;       /* as received, for people */
    const struct secret *token;
};

/*
 * Callbacks come from the loop. A request has a number, with which it is answered once, at any
 * time: inside the callback or when the user has decided.
 */
struct port_owner {
    /* The strings are valid until control returns to the loop. */
    void (*report)(void *data, struct report *out_report);
    /* Called only while not connected, and never again before the first request was answered. */
    void (*connect)(void *data, uint64_t number, const struct port_connect *request);
    /*
     * The page that asked has left: the question may be withdrawn. It must still be answered, and
     * until then no other question is asked, since it may be on screen.
     */
    void (*connect_gone)(void *data, uint64_t number);
    void (*disconnect)(void *data, uint64_t number);
    /* A page was refused, and why; once for each page. May be NULL. */
    void (*stranger)(void *data, struct str origin, const char *why);
};

struct port_config {
    struct loop *loop;
    const struct origins *origins; /* borrowed; may change at run time, as rules do */
    const struct port_owner *owner;
    void *data;
};

/*
 * Opens the socket on 127.0.0.1; with 0 the system chooses the port. Call it before the process is
 * confined. ERR_ALREADY_EXISTS, with advice, if the port is in use.
 */
int port_listen(uint16_t number, int *out_fd, struct err *err);

/* Takes ownership of the socket, even on failure. */
int port_new(const struct port_config *config, int listen_fd, struct port **out_port,
             struct err *err);

/* Ends all requests without telling the owner. Must not be called from its callbacks. */
void port_free(struct port *port);

uint16_t port_number(const struct port *port);

/* Answers a request with success: connected, with the owner's report, or disconnected. */
void port_done(struct port *port, uint64_t number);

/*
 * Answers a request with failure: 403 for ERR_DENIED_BY_POLICY, 409 for ERR_BUSY (another question
 * is on screen) and ERR_ALREADY_EXISTS (connected), 400 for ERR_INVALID_ARGUMENT and
 * ERR_INVALID_PATH, 500 for all others. The page gets the message, with secrets redacted. Ignored
 * if nobody waits for this number any more, as in port_done().
 */
void port_failed(struct port *port, uint64_t number, const struct err *err);

/*
 * Closes all connections except those that wait for the owner and the event streams, without
 * reading what was received on them. The peers of waiting connections are checked again before
 * anything else is read from there.
 */
void port_cut(struct port *port);

/* The report has changed: notifies the event streams. */
void port_tell(struct port *port);

#endif
