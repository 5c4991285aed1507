/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/http_internal.h"

#include "base/base64.h"
#include "base/buf.h"
#include "base/decimal.h"
#include "net/http/http.h"

enum {
    DECODED_BYTES = HTTP_MAX_HEAD_BYTES,
    SCHEMA_BYTES = 16 << 20, /* of a tool, read */
};

#define PARAM_PREFIX "Mcp-Param-"
#define PARAM_WORD   "x-mcp-header"

struct str mcp_http_header(const struct exchange *exchange, struct str name)
{
    struct str value = STR_EMPTY;

    (void)http_header(exchange_request(exchange), name, &value);
    return value;
}

bool mcp_http_is_repeated(const struct exchange *exchange, struct str name)
{
    const struct http_request *request = exchange_request(exchange);
    unsigned count = 0;

    for (size_t i = 0; i < request->header_count && count < 2; i++)
        if (request->slots[i].name_len == name.len)
            count += str_eq_nocase(http_header_at(request, i).name, name);
    return count > 1;
}

/* "=?base64?…?=" encodes what a header cannot hold. False if malformed. */
static bool decode(struct str value, struct buf *decoded, struct str *out_text)
{
    const struct str start = STR("=?base64?");
    const struct str end = STR("?=");

    *out_text = value;
    if (!str_starts_with(value, start) || !str_ends_with(value, end) ||
        value.len < start.len + end.len)
        return true;
    value = str_slice(value, start.len, value.len - start.len - end.len);
    if (base64_decode(decoded, value) < 0)
        return false;
    *out_text = buf_view(decoded);
    return true;
}

/* Numbers are equal in any form: 42 and 42.0. */
static bool is_number(struct str text, const struct json_value *wanted)
{
    cleanup_arena struct arena arena = ARENA_INIT(SCHEMA_BYTES);
    const struct json_value *number;

    return json_parse(&arena, text, JSON_LIMITS_DEFAULT, &number, NULL) == 0 &&
           (number->type == JSON_INT || number->type == JSON_NUMBER) &&
           decimal_compare(number, wanted) == 0;
}

static bool means(struct str text, const struct json_value *wanted)
{
    switch ((enum json_type)wanted->type) {
    case JSON_STRING:
        return str_eq(text, json_str(wanted));
    case JSON_BOOL:
        return str_eq(text, wanted->integer != 0 ? STR("true") : STR("false"));
    case JSON_INT:
    case JSON_NUMBER:
        return is_number(text, wanted);
    case JSON_NULL:
    case JSON_ARRAY:
    case JSON_OBJECT:
        break; /* no header can say these */
    }
    return true;
}

static int check_value(const struct exchange *exchange, struct str name,
                       const struct json_value *wanted, struct err *err)
{
    cleanup_buf struct buf decoded = BUF_INIT(DECODED_BYTES);
    struct str value;
    struct str text;

    if (!http_header(exchange_request(exchange), name, &value))
        return err_set(err, ERR_HEADER_MISMATCH, "the header %.*s is missing", STR_ARG(name));
    if (mcp_http_is_repeated(exchange, name) || !decode(value, &decoded, &text) ||
        !means(text, wanted))
        return err_set(err, ERR_HEADER_MISMATCH, "the header %.*s contradicts the body",
                       STR_ARG(name));
    return 0;
}

static int check_text(const struct exchange *exchange, struct str name, struct str wanted,
                      struct err *err)
{
    const struct json_value value = {
        .type = JSON_STRING, .size = (uint32_t)wanted.len, .text = wanted.ptr};

    return check_value(exchange, name, &value, err);
}

/* ---- arguments that are headers too ---- */

static int check_param(const struct exchange *exchange, struct str param,
                       const struct json_value *wanted, struct err *err)
{
    cleanup_buf struct buf name = BUF_INIT(HTTP_MAX_HEAD_BYTES);

    /* A schema that names no header asks for none. */
    if (!http_is_token(param) || wanted->type >= JSON_ARRAY)
        return 0;
    if (buf_printf(&name, PARAM_PREFIX "%.*s", STR_ARG(param)) < 0)
        return err_set_plain(err, ERR_NO_MEMORY);
    return check_value(exchange, buf_view(&name), wanted, err);
}

/*
 * Checks each argument whose schema has the keyword, and those inside of objects. A missing
 * argument needs no header. Recursion is limited by the depth of the parsed schema.
 */
static int check_properties(const struct exchange *exchange, const struct json_value *schema,
                            const struct json_value *given, struct err *err)
{
    const struct json_value *properties = json_get(schema, STR("properties"));
    int r = 0;

    if (properties == NULL)
        return 0;
    json_each_member (key, properties) {
        const struct json_value *property = key + 1;
        const struct json_value *value = json_get(given, json_str(key));
        struct str param;

        if (value == NULL || value->type == JSON_NULL)
            continue;
        if (json_get_str(property, STR(PARAM_WORD), &param))
            r = check_param(exchange, param, value, err);
        if (r == 0)
            r = check_properties(exchange, property, value, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_params(const struct mcp_http *http, const struct exchange *exchange,
                        const struct mcp_message *message, struct err *err)
{
    const struct catalog_tool *tool =
        mcp_service_find_tool(http->service, mcp_message_name(message));
    const struct json_value *given = json_get(mcp_message_params(message), STR("arguments"));
    cleanup_arena struct arena arena = ARENA_INIT(SCHEMA_BYTES);
    const struct json_value *schema;

    /* Hardly any has the word, and reading a schema costs more than the call may. */
    if (tool == NULL || given == NULL ||
        str_find(tool->input_schema, STR("\"" PARAM_WORD "\"")) == SIZE_MAX)
        return 0;
    if (json_parse(&arena, tool->input_schema, JSON_LIMITS_DEFAULT, &schema, err) < 0)
        return err_set(err, ERR_HEADER_MISMATCH, "cannot determine which headers this tool needs");
    return check_properties(exchange, schema, given, err);
}

int mcp_http_check_headers(const struct mcp_http *http, const struct exchange *exchange,
                           const struct mcp_message *message, struct err *err)
{
    struct str name = mcp_message_name(message);
    struct str revision = mcp_message_revision(message);
    int r = check_text(exchange, STR("MCP-Protocol-Version"), revision, err);

    if (r == 0)
        r = check_text(exchange, STR("Mcp-Method"), mcp_message_method(message), err);
    if (r == 0 && name.len > 0)
        r = check_text(exchange, STR("Mcp-Name"), name, err);
    /* Another revision is refused for that. */
    if (r == 0 && mcp_revision_era(revision) == MCP_MODERN &&
        str_eq(mcp_message_method(message), STR("tools/call")))
        r = check_params(http, exchange, message, err);
    return r;
}
