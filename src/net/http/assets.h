/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a page that are part of the program: a table in memory, no names of the disk. Each is
 * answered with its type, a tag by which a browser need not fetch it twice, and headers that keep
 * the page from being framed, sniffed or made to load from elsewhere.
 */
#ifndef NET_HTTP_ASSETS_H
#define NET_HTTP_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "net/http/exchange.h"

struct asset {
    struct str path;    /* "/app.js"; "/index.html" is also "/" */
    struct str content; /* stays where it is */
    struct str type;    /* empty: by the path's ending */
    bool is_immutable;  /* its path changes with its content: never asked for again */
};

struct assets;

/* The table is borrowed. */
int assets_new(const struct asset *table, size_t count, struct assets **out_assets);
void assets_free(struct assets *assets);

bool assets_has(const struct assets *assets, struct str path);

/* For GET and HEAD of a path that it has. */
void assets_answer(const struct assets *assets, struct exchange *exchange);

/* "text/html; charset=utf-8" for "/index.html"; bytes for an ending that is not known. */
struct str assets_type(struct str path);

#endif
