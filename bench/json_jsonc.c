/* SPDX-License-Identifier: Apache-2.0 */
#include "json_peer.h"

#include <json-c/json.h>

static void *load(const char *text, size_t len)
{
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *document;

    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    document = json_tokener_parse_ex(tokener, text, (int)len);
    json_tokener_free(tokener);
    return document;
}

static void unload(void *document)
{
    json_object_put(document);
}

static bool parse(const char *text, size_t len)
{
    struct json_object *document = load(text, len);

    json_object_put(document);
    return document != NULL;
}

/* The library keeps the text with the document, in a buffer that it uses again. */
static size_t write_kept(void *document)
{
    size_t len = 0;

    json_object_to_json_string_length(
        document, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &len);
    return len;
}

const struct json_peer peer_jsonc = {"json-c", parse, load, write_kept, unload};
