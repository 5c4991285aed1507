/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/jsonf.h"

#include <math.h>
#include <stdint.h>

#include "base/err.h"
#include "base/jsonwrite.h"

static int add_text(struct buf *out, struct str text)
{
    struct json_writer json;

    json_writer_init(&json, out);
    json_write_str_lossy(&json, text);
    return json_writer_finish(&json);
}

static int add_value(struct buf *out, const struct json_value *value)
{
    struct json_writer json;

    json_writer_init(&json, out);
    if (value != NULL)
        json_write_value(&json, value);
    else
        json_write_null(&json);
    return json_writer_finish(&json);
}

int jsonf_list(struct buf *out, const char *pattern, va_list values)
{
    int r = 0;

    for (const char *at = pattern; *at != '\0' && r == 0; at++) {
        double number;

        if (*at != '%') {
            r = buf_append_char(out, *at);
            continue;
        }
        switch (*++at) {
        case 's':
            r = add_text(out, va_arg(values, struct str));
            break;
        case 'z':
            r = add_text(out, str_from(va_arg(values, const char *)));
            break;
        case 'd':
            r = buf_printf(out, "%lld", (long long)va_arg(values, int64_t));
            break;
        case 'f':
            number = va_arg(values, double);
            r = buf_printf(out, "%.6g", isfinite(number) ? number : 0.0);
            break;
        case 'b':
            r = buf_append_str(out, va_arg(values, int) != 0 ? STR("true") : STR("false"));
            break;
        case 'v':
            r = add_value(out, va_arg(values, const struct json_value *));
            break;
        case 'r':
            r = buf_append_str(out, va_arg(values, struct str));
            break;
        default:
            return ERR_INTERNAL;
        }
    }
    return r;
}

int jsonf(struct buf *out, const char *pattern, ...)
{
    va_list values;
    int r;

    va_start(values, pattern);
    r = jsonf_list(out, pattern, values);
    va_end(values);
    return r;
}
