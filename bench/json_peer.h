/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of one JSON library for the benchmark. Each is in its own file, because their
 * headers use the same names.
 */
#ifndef BENCH_JSON_PEER_H
#define BENCH_JSON_PEER_H

#include <stdbool.h>
#include <stddef.h>

struct json_peer {
    const char *name;
    /* Reads and drops the document; false if it was refused. */
    bool (*parse)(const char *text, size_t len);
    /* Reads it to keep. */
    void *(*load)(const char *text, size_t len);
    /* Writes the kept document and drops the text; how long that was, 0 for a failure. */
    size_t (*write)(void *document);
    void (*unload)(void *document);
};

extern const struct json_peer peer_gatehouse;
extern const struct json_peer peer_jansson;
extern const struct json_peer peer_cjson;
extern const struct json_peer peer_jsonc;

#endif
