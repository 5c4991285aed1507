/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/http_resource.h"

#include "base/jsonwrite.h"

/* Splits "https://gate.example/mcp" into the part before the path, and the path. */
static bool split(struct str address, struct str *out_server, struct str *out_path)
{
    size_t start;

    if (str_starts_with(address, STR("https://")))
        start = STR("https://").len;
    else if (str_starts_with(address, STR("http://")))
        start = STR("http://").len;
    else
        return false;
    while (start < address.len && address.ptr[start] != '/')
        start++;
    *out_server = str_slice(address, 0, start);
    *out_path = str_slice(address, start, address.len);
    /* It goes into a header, between quotes. */
    for (size_t i = 0; i < address.len; i++)
        if (address.ptr[i] <= ' ' || address.ptr[i] > '~' || address.ptr[i] == '"' ||
            address.ptr[i] == '\\' || address.ptr[i] == '?' || address.ptr[i] == '#')
            return false;
    return !str_ends_with(*out_server, STR("//"));
}

static void write_list(struct json_writer *json, struct str key, const struct str *items,
                       size_t count)
{
    json_key(json, key);
    json_begin_array(json);
    for (size_t i = 0; i < count; i++)
        json_write_str(json, items[i]);
    json_end_array(json);
}

static int write_document(const struct mcp_http_resource_config *config, struct buf *out)
{
    const struct str methods[] = {STR("header")};
    struct json_writer json;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_key(&json, STR("resource"));
    json_write_str(&json, config->address);
    if (config->name.len > 0) {
        json_key(&json, STR("resource_name"));
        json_write_str(&json, config->name);
    }
    write_list(&json, STR("authorization_servers"), config->issuers, config->issuer_count);
    if (config->scope_count > 0)
        write_list(&json, STR("scopes_supported"), config->scopes, config->scope_count);
    write_list(&json, STR("bearer_methods_supported"), methods, 1);
    json_end_object(&json);
    return json_writer_finish(&json);
}

int mcp_http_resource_init(struct mcp_http_resource *resource,
                           const struct mcp_http_resource_config *config, struct err *err)
{
    struct str server, path;
    int r;

    buf_init(&resource->document, MCP_HTTP_RESOURCE_BYTES);
    buf_init(&resource->address, MCP_HTTP_RESOURCE_BYTES);
    if (config->issuer_count == 0 || !split(config->address, &server, &path))
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "a protected resource needs its own address and an authorization server");
    r = write_document(config, &resource->document);
    if (r == 0)
        r = buf_append_str(&resource->address, server);
    if (r == 0)
        r = buf_append_str(&resource->address, STR(MCP_HTTP_RESOURCE_PATH));
    if (r == 0 && !str_eq(path, STR("/")))
        r = buf_append_str(&resource->address, path);
    return r < 0 ? err_set_plain(err, r) : 0;
}

void mcp_http_resource_done(struct mcp_http_resource *resource)
{
    buf_done(&resource->document);
    buf_done(&resource->address);
}

void mcp_http_resource_handle(void *data, struct exchange *exchange)
{
    const struct mcp_http_resource *resource = data;
    const struct str body = buf_view(&resource->document);
    /* Clients that are pages have to read it before they have anything to show. */
    const struct http_field fields[] = {
        {.name = STR("Access-Control-Allow-Origin"), .value = STR("*")},
        {.name = STR("Cache-Control"), .value = STR("max-age=3600")},
    };

    exchange_answer(exchange, &(struct http_answer){.status = 200,
                                                    .type = STR("application/json"),
                                                    .fields = fields,
                                                    .field_count = array_size(fields),
                                                    .parts = &body,
                                                    .part_count = 1});
}
