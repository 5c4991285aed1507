/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a web page that are part of the program: a table in memory, no files on disk. Each is
 * sent with its type, an ETag so that a browser need not fetch it twice, and headers against
 * framing, MIME sniffing and loading from elsewhere.
 */
#ifndef NET_HTTP_ASSETS_H
#define NET_HTTP_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "net/http/exchange.h"

struct asset {
    struct str path;    /* "/app.js"; "/index.html" is also "/" */
    struct str content; /* borrowed */
    struct str type;    /* empty: by the path's extension */
    bool is_immutable;  /* its path changes with its content: browsers cache it forever */
};

struct assets;

/* The table is borrowed. */
int assets_new(const struct asset *table, size_t count, struct assets **out_assets);
void assets_free(struct assets *assets);

/* The Content-Security-Policy of all of them, instead of one that allows our own files only. */
void assets_set_policy(struct assets *assets, struct str policy);

bool assets_has(const struct assets *assets, struct str path);

/* Call for GET and HEAD of a path that it has. */
void assets_answer(const struct assets *assets, struct exchange *exchange);
/* The same with another one's content: for an address that a page interprets. */
void assets_answer_as(const struct assets *assets, struct str path, struct exchange *exchange);

#endif
