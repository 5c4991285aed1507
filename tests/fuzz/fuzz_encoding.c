/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever is guessed to be text decodes to valid UTF-8, the same in one piece and in many, and
 * text in one of the encodings comes back as it was unless something in it was no character, which
 * UTF-16 without a mark never has, nor a NUL. UTF-8 with other bytes in it decodes too.
 */
#include <assert.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/encoding.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Also where it is cut after each byte. */
static void check_mixed(struct str bytes, struct buf *out)
{
    size_t from = 0;
    size_t len;
    size_t taken;

    assert(encoding_decode_mixed(bytes, true, out, &taken) == 0 && taken == bytes.len);
    assert(utf8_is_valid(buf_view(out)));
    assert(!utf8_is_valid(bytes) || str_eq(buf_view(out), bytes));
    len = out->len;
    for (size_t end = 1; end <= bytes.len; end++) {
        assert(encoding_decode_mixed(str_slice(bytes, from, end - from), end == bytes.len, out,
                                     &taken) == 0);
        assert(end - from - taken < 4);
        from += taken;
    }
    assert(str_eq(str_slice(buf_view(out), 0, len), str_slice(buf_view(out), len, out->len)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { TEXT_BYTES = 4 << 20 };
    const struct str bytes = {(const char *)data, size};
    struct decoder whole = {.encoding = encoding_guess(bytes, true)};
    struct decoder pieces = whole;
    cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);
    cleanup_buf struct buf again = BUF_INIT(TEXT_BYTES);
    cleanup_buf struct buf back = BUF_INIT(TEXT_BYTES);
    cleanup_buf struct buf mixed = BUF_INIT(TEXT_BYTES);
    uint32_t missing;

    check_mixed(bytes, &mixed);
    (void)encoding_guess(bytes, false);
    if (whole.encoding == ENCODING_BINARY || encoding_decode(&whole, bytes, &text) < 0)
        return 0;
    assert(utf8_is_valid(buf_view(&text)));
    for (size_t i = 0; i < size; i++)
        assert(encoding_decode(&pieces, str_slice(bytes, i, 1), &again) == 0);
    assert(str_eq(buf_view(&text), buf_view(&again)));
    assert(encoding_encode(whole.encoding, buf_view(&text), &back, &missing) == 0);
    if (encoding_is_wide(whole.encoding) && !encoding_has_mark(bytes))
        assert(str_eq(buf_view(&back), bytes) && !str_has_nul(buf_view(&text)));
    assert(str_eq(buf_view(&back), bytes) || whole.high != 0 ||
           str_find(buf_view(&text), STR("\xEF\xBF\xBD")) != SIZE_MAX);
    return 0;
}
