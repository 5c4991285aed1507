/* SPDX-License-Identifier: Apache-2.0 */
#include "json_peer.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static void *load(const char *text, size_t len)
{
    return json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
}

static void unload(void *document)
{
    json_decref(document);
}

static bool parse(const char *text, size_t len)
{
    json_t *document = load(text, len);

    json_decref(document);
    return document != NULL;
}

static size_t write_kept(void *document)
{
    char *text = json_dumps(document, JSON_COMPACT);
    size_t len = text != NULL ? strlen(text) : 0;

    free(text);
    return len;
}

const struct json_peer peer_jansson = {"jansson", parse, load, write_kept, unload};
