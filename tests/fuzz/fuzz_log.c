/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a field's value: the line stays one line of printable UTF-8, and
 * a key of ours that stands between two spaces in it does not get out.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct str planted = STR_LITERAL(" gw_PlantedByTheFuzzTarget ");

static void check_line(struct str text)
{
    cleanup_buf struct buf line = BUF_INIT(LOG_LINE_MAX_BYTES);
    const struct log log = {.fd = -1, .threshold = LOG_INFO, .clock = &clock_system};
    const struct log_field fields[] = {LOG_STR("value", text), LOG_INT("after", 1)};
    struct str view;

    log_format_line(&log, LOG_INFO, "message", fields, 2, &line);
    view = buf_view(&line);
    assert(utf8_is_valid(view));
    assert(str_ends_with(view, STR(" after=1")));
    for (size_t i = 0; i < view.len; i++)
        assert((unsigned char)view.ptr[i] >= 0x20 && view.ptr[i] != 0x7f);
    assert(str_find(view, STR("PlantedByTheFuzzTarget")) == SIZE_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    cleanup_buf struct buf around = BUF_INIT(1 << 20);

    if (size > LOG_VALUE_MAX_BYTES / 2 || str_find(text, STR("Planted")) != SIZE_MAX)
        return 0;
    check_line(text);
    buf_append_str(&around, str_slice(text, 0, size / 2));
    buf_append_str(&around, planted);
    buf_append_str(&around, str_slice(text, size / 2, size));
    check_line(buf_view(&around));
    return 0;
}
