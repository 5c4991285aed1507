/* SPDX-License-Identifier: Apache-2.0 */
#include "json_peer.h"

#include <string.h>

#include <cjson/cJSON.h>

static void *load(const char *text, size_t len)
{
    return cJSON_ParseWithLength(text, len);
}

static void unload(void *document)
{
    cJSON_Delete(document);
}

static bool parse(const char *text, size_t len)
{
    cJSON *document = load(text, len);

    cJSON_Delete(document);
    return document != NULL;
}

static size_t write_kept(void *document)
{
    char *text = cJSON_PrintUnformatted(document);
    size_t len = text != NULL ? strlen(text) : 0;

    cJSON_free(text);
    return len;
}

const struct json_peer peer_cjson = {"cJSON", parse, load, write_kept, unload};
