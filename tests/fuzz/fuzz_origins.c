/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first line is a pattern, the rest an Origin header. An accepted pattern without a star allows
 * one origin, and every allowed origin is in a form that a browser could send.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "programs/connect/origins.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_page(const struct origins *origins, struct str pattern, struct str page)
{
    cleanup_buf struct buf again = BUF_INIT(ORIGINS_TEXT_BYTES);
    struct httpurl of_page;
    struct httpurl of_pattern;

    if (!origins_allow(origins, page))
        return;
    assert(httpurl_parse(page, &of_page, NULL) == 0 && of_page.path[0] == '\0');
    assert(httpurl_append_origin(&of_page, &again) == 0 && str_eq(buf_view(&again), page));
    assert(origins_allow_server(origins, &of_page));
    if (memchr(pattern.ptr, '*', pattern.len) == NULL) {
        assert(httpurl_parse(str_trim(pattern), &of_pattern, NULL) == 0);
        assert(httpurl_same_origin(&of_page, &of_pattern));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct origins origins;
    struct str rest = {(const char *)data, size};
    struct str pattern = STR_EMPTY;

    if (size == 0)
        return 0;
    str_cut(&rest, '\n', &pattern);
    origins_init(&origins);
    if (pattern.len > 0 && origins_add_pattern(&origins, pattern, NULL) == 0) {
        assert(origins.count == 1);
        if (rest.ptr != NULL)
            check_page(&origins, pattern, rest);
        check_page(&origins, pattern, pattern);
    } else {
        assert(origins.count == 0);
    }
    return 0;
}
