/* SPDX-License-Identifier: Apache-2.0 */
/* The web proxy of sandboxed commands: isolate/webproxy.h says what it is for. */
#ifndef PROGRAMS_WEBPROXY_WEBPROXY_H
#define PROGRAMS_WEBPROXY_WEBPROXY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/domainlist.h"
#include "isolate/webproxy.h"

enum {
    WEBPROXY_HEAD_BYTES = 32 << 10,
    WEBPROXY_MAX_BOXES = 256,
    WEBPROXY_MAX_LINKS = 512, /* connections at a time; further ones are refused */
    WEBPROXY_BOX_LINKS = 64,  /* of them, those of one sandbox */
    /* Two for a sandbox; for a link its ends, and one more while a name is resolved. */
    WEBPROXY_MAX_FILES = 3 * WEBPROXY_MAX_LINKS + 2 * WEBPROXY_MAX_BOXES + 16,
};

struct webproxy_terms {
    struct domainlist hosts; /* of sandboxes that bring none */
    size_t max_boxes;        /* fewer where the process may have few descriptors */
    int max_links;
};

/* Takes listening sockets of sandboxes, and their connections, until the socket is closed. */
_Noreturn void webproxy_serve(int fd, const struct webproxy_terms *terms);

/* Whose sandboxes have a share of the links in common; they keep it. */
struct webproxy_owner {
    atomic_int uses; /* by its sandboxes; 0: free */
    atomic_int links;
    char name[WEBPROXY_OWNER_BYTES];
};

/* A sandbox that is served; its links keep it. */
struct webproxy_box {
    atomic_int uses;              /* by the list of sandboxes, and by each link */
    int life;                     /* readable when the sandbox has ended */
    struct webproxy_owner *owner; /* NULL: there is only one */
    struct domainlist hosts;
};

struct webproxy_box *webproxy_box_ref(struct webproxy_box *box);
void webproxy_box_unref(struct webproxy_box *box);

/*
 * Takes the connection of a sandbox over, in a thread of its own. What the sandbox has sent before
 * its end still goes to the server, but nobody waits for the server then.
 */
void webproxy_link_start(int fd, struct webproxy_box *box, int max_links);

/* What a program asks for; the texts are in the head. */
struct webproxy_request {
    bool is_tunnel; /* CONNECT */
    bool is_old;    /* HTTP/1.0 */
    struct str method;
    struct str host;
    uint16_t port;
    struct str path;    /* of a request that is passed on; its "/" may be missing */
    struct str headers; /* each with its line end; without the empty line */
};

/*
 * Reads a head that ends with an empty line. 0, or the status of the refusal: 400 for what is no
 * request to a proxy, 501 for another scheme than http.
 */
int webproxy_read_head(struct str head, struct webproxy_request *out_request);

/*
 * The head as a server gets it: no words for proxies, the host of the address whatever the headers
 * name, and the connection ends with the answer.
 */
int webproxy_write_head(const struct webproxy_request *request, struct buf *out);

#endif
