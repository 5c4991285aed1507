/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row of the tables of endpoints that programs/sandboxd/api searches: method, path, who may use
 * it, and what its body may be. A module with endpoints of its own defines a struct endpoint_table,
 * and api.c lists it.
 */
#ifndef PROGRAMS_SANDBOXD_ENDPOINT_H
#define PROGRAMS_SANDBOXD_ENDPOINT_H

#include "programs/sandboxd/call.h"

enum endpoint_access {
    ENDPOINT_EVERYBODY, /* or whoever the handler lets in */
    ENDPOINT_KEY,
    ENDPOINT_SOCKET, /* a key, or the ticket of the toolbox, since browsers send no key */
    ENDPOINT_SIGNED, /* a key, or a signature of this method and path of a file, in the query */
    ENDPOINT_ADMIN,
};

/*
 * Instead of the most bytes of a body: the handler is called before the body comes, and calls
 * exchange_watch() and exchange_stream() itself.
 */
#define ENDPOINT_STREAMED SIZE_MAX

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order of the table's columns */
struct endpoint {
    enum http_method method;
    const char *path; /* "*" is an id; "**" at the end is anything below, also nothing */
    enum endpoint_access access;
    size_t max_body_bytes;
    void (*handle)(const struct api_call *call);
};

struct endpoint_table {
    const struct endpoint *endpoints;
    size_t count;
};

#endif
