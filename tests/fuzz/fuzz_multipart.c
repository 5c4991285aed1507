/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts are the same however the body is split; the first byte is the length of a piece. The first
 * line is the Content-Type, the rest the body. Content plus boundaries never exceed the body.
 */
#include <assert.h>
#include <stdint.h>

#include "base/err.h"
#include "programs/sandboxd/daytona/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TOLD_BYTES = 4 << 20 };

/* Writes what comes: names, content and ends. */
static void tell(struct multipart *multipart, int event, struct str content, struct buf *told,
                 size_t *content_bytes)
{
    switch (event) {
    case MULTIPART_PART:
        assert(buf_append_str(told, STR("<")) == 0);
        assert(buf_append_str(told, multipart_name(multipart)) == 0);
        assert(buf_append_str(told, STR(">")) == 0);
        break;
    case MULTIPART_DATA:
        assert(content.len > 0);
        *content_bytes += content.len;
        assert(buf_append_str(told, content) == 0);
        break;
    case MULTIPART_PART_END:
        assert(buf_append_str(told, STR("</>")) == 0);
        break;
    case MULTIPART_END:
        assert(buf_append_str(told, STR("!")) == 0);
        break;
    default:
        assert(event < 0);
    }
}

static int read_body(struct str type, struct str body, size_t step, struct buf *told)
{
    struct multipart multipart;
    size_t content_bytes = 0;
    int r = multipart_init(&multipart, type);

    for (size_t at = 0; at < body.len && r >= 0; at += step) {
        struct str bytes = str_slice(body, at, step);
        struct str content = STR_EMPTY;

        while ((r = multipart_next(&multipart, &bytes, &content)) > MULTIPART_MORE)
            tell(&multipart, r, content, told, &content_bytes);
        assert(r < 0 || bytes.len == 0);
    }
    assert(content_bytes <= body.len);
    multipart_done(&multipart);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_buf struct buf whole = BUF_INIT(TOLD_BYTES);
    cleanup_buf struct buf pieces = BUF_INIT(TOLD_BYTES);
    struct str body;
    struct str type;
    int r;

    if (size < 2 || data[0] == 0)
        return 0;
    body = (struct str){(const char *)data + 1, size - 1};
    (void)str_cut(&body, '\n', &type);
    r = read_body(type, body, body.len + 1, &whole);
    assert(read_body(type, body, data[0], &pieces) == r);
    /* After an error the whole may have been told less: it stops where the error is. */
    assert(str_eq(buf_view(&whole), buf_view(&pieces)));
    return 0;
}
