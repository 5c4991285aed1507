/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/error.h"

#include "base/clock.h"
#include "base/jsonwrite.h"
#include "net/http/http.h"

enum { ERROR_BYTES = 64 << 10 };

static bool is_toolbox(struct str path)
{
    return str_starts_with(path, STR("/toolbox/"));
}

bool daytona_error_applies(struct str path)
{
    return str_starts_with(path, STR("/api/")) || str_starts_with(path, STR("/preview/")) ||
           is_toolbox(path);
}

static const char *code_of(int status)
{
    switch (status) {
    case 400:
        return "BAD_REQUEST";
    case 401:
        return "UNAUTHORIZED";
    case 403:
        return "FORBIDDEN";
    case 404:
        return "NOT_FOUND";
    case 408:
        return "REQUEST_TIMEOUT";
    case 409:
        return "CONFLICT";
    case 410:
        return "GONE";
    case 422:
        return "UNPROCESSABLE_ENTITY";
    default:
        return status >= 500 ? "INTERNAL_SERVER_ERROR" : "BAD_REQUEST";
    }
}

int daytona_error_write(struct buf *out, struct str path, int status, const char *code,
                        struct str text)
{
    char when[CLOCK_ISO_BYTES];
    struct json_writer json;

    clock_format_iso(clock_wall_ms(&clock_system), when);
    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_int(&json, STR("statusCode"), status);
    json_put_str_lossy(&json, STR("message"), text);
    json_put_str(&json, STR("error"), str_from(http_reason(status)));
    if (is_toolbox(path)) {
        json_put_str(&json, STR("code"), str_from(code != NULL ? code : code_of(status)));
        json_put_str(&json, STR("source"), STR("DAYTONA_DAEMON"));
    }
    json_put_str(&json, STR("timestamp"), str_from(when));
    json_put_str_lossy(&json, STR("path"), path);
    json_end_object(&json);
    return json_writer_finish(&json);
}

void daytona_fail(struct exchange *exchange, int status, const char *code, const char *text)
{
    cleanup_buf struct buf out = BUF_INIT(ERROR_BYTES);
    struct str body;

    if (daytona_error_write(&out, exchange_request(exchange)->path, status, code, str_from(text)) <
        0) {
        exchange_answer_error(exchange, ERR_NO_MEMORY);
        return;
    }
    body = buf_view(&out);
    exchange_answer(exchange, &(struct http_answer){.status = status,
                                                    .type = STR("application/json"),
                                                    .parts = &body,
                                                    .part_count = 1});
}
