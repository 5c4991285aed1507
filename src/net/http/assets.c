/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/assets.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/map.h"

enum { TAG_BYTES = 24 };

struct entry {
    const struct asset *asset;
    char tag[TAG_BYTES];
};

struct assets {
    struct map by_path;
    struct str policy;
    size_t count;
    struct entry entries[];
};

/* "text/html; charset=utf-8" for "/index.html"; application/octet-stream for an unknown extension.
 */
static struct str type_of(struct str path)
{
    static const struct {
        struct str ending;
        struct str type;
    } types[] = {
        {STR_LITERAL(".html"), STR_LITERAL("text/html; charset=utf-8")},
        {STR_LITERAL(".js"), STR_LITERAL("text/javascript; charset=utf-8")},
        {STR_LITERAL(".mjs"), STR_LITERAL("text/javascript; charset=utf-8")},
        {STR_LITERAL(".css"), STR_LITERAL("text/css; charset=utf-8")},
        {STR_LITERAL(".json"), STR_LITERAL("application/json")},
        {STR_LITERAL(".txt"), STR_LITERAL("text/plain; charset=utf-8")},
        {STR_LITERAL(".svg"), STR_LITERAL("image/svg+xml")},
        {STR_LITERAL(".png"), STR_LITERAL("image/png")},
        {STR_LITERAL(".jpg"), STR_LITERAL("image/jpeg")},
        {STR_LITERAL(".ico"), STR_LITERAL("image/x-icon")},
        {STR_LITERAL(".woff2"), STR_LITERAL("font/woff2")},
        {STR_LITERAL(".wasm"), STR_LITERAL("application/wasm")},
    };

    for (size_t i = 0; i < array_size(types); i++)
        if (str_ends_with(path, types[i].ending))
            return types[i].type;
    return STR("application/octet-stream");
}

int assets_new(const struct asset *table, size_t count, struct assets **out_assets)
{
    /* The same for every run, so that a restart costs no browser its cache. Not for secrets. */
    static const struct hash_key key = {.low = 0x6761746568, .high = 0x6f757365};
    struct assets *assets = calloc(1, sizeof(*assets) + count * sizeof(assets->entries[0]));
    int r = 0;

    if (assets == NULL)
        return ERR_NO_MEMORY;
    assets->count = count;
    assets_set_policy(assets, STR("default-src 'self'; base-uri 'none'; form-action 'self'; "
                                  "frame-ancestors 'none'; object-src 'none'"));
    assets->by_path = (struct map)MAP_INIT(count + 1);
    for (size_t i = 0; i < count && r == 0; i++) {
        struct entry *entry = &assets->entries[i];

        entry->asset = &table[i];
        snprintf(entry->tag, sizeof(entry->tag), "\"%016llx\"",
                 (unsigned long long)hash_str(&key, table[i].content));
        r = map_add(&assets->by_path, table[i].path, entry);
        if (r == 0 && str_eq(table[i].path, STR("/index.html")))
            r = map_add(&assets->by_path, STR("/"), entry);
    }
    if (r < 0) {
        assets_free(assets);
        return r;
    }
    *out_assets = assets;
    return 0;
}

void assets_free(struct assets *assets)
{
    if (assets == NULL)
        return;
    map_done(&assets->by_path);
    free(assets);
}

void assets_set_policy(struct assets *assets, struct str policy)
{
    assets->policy = policy;
}

bool assets_has(const struct assets *assets, struct str path)
{
    return map_get(&assets->by_path, path) != NULL;
}

/* Whether an If-None-Match list (tags, some weak, or a star) contains the tag. */
static bool names_tag(struct str list, struct str tag)
{
    struct str item;

    while (str_cut(&list, ',', &item)) {
        item = str_trim(item);
        if (str_starts_with(item, STR("W/")))
            item = str_slice(item, 2, SIZE_MAX);
        if (str_eq(item, tag) || str_eq(item, STR("*")))
            return true;
    }
    return false;
}

/*
 * Whether a page of somebody else may have opened this one, and keep hold of its window. Cutting it
 * off costs the browser another process, which doubles the time to the first paint.
 */
static bool has_opener(const struct http_request *request)
{
    struct str site;

    return !http_header(request, STR("sec-fetch-site"), &site) ||
           (!str_eq(site, STR("none")) && !str_eq(site, STR("same-origin")));
}

void assets_answer(const struct assets *assets, struct exchange *exchange)
{
    assets_answer_as(assets, exchange_request(exchange)->path, exchange);
}

void assets_answer_as(const struct assets *assets, struct str path, struct exchange *exchange)
{
    const struct http_request *request = exchange_request(exchange);
    const struct entry *entry = map_get(&assets->by_path, path);
    const struct asset *asset = entry->asset;
    struct str known;
    const struct http_field fields[] = {
        {STR("ETag"), str_from(entry->tag)},
        {STR("Cache-Control"),
         asset->is_immutable ? STR("public, max-age=31536000, immutable") : STR("no-cache")},
        {STR("X-Content-Type-Options"), STR("nosniff")},
        {STR("Content-Security-Policy"), assets->policy},
        {STR("Referrer-Policy"), STR("no-referrer")},
        {STR("Cross-Origin-Resource-Policy"), STR("same-origin")},
        {STR("Cross-Origin-Opener-Policy"), STR("same-origin")}, /* the last: see below */
    };
    struct http_answer answer = {.status = 200,
                                 .type = asset->type.len > 0 ? asset->type : type_of(asset->path),
                                 .fields = fields,
                                 .field_count = array_size(fields) - (has_opener(request) ? 0 : 1),
                                 .parts = &asset->content,
                                 .part_count = 1};

    if (http_header(request, STR("if-none-match"), &known) &&
        names_tag(known, str_from(entry->tag))) {
        answer.status = 304;
        answer.type = STR_EMPTY;
        answer.part_count = 0;
    }
    exchange_answer(exchange, &answer);
}
