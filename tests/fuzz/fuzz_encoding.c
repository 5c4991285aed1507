/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever is guessed to be text decodes to valid UTF-8, the same in one piece and in many, and
 * text in one of the encodings comes back as it was unless something in it was no character.
 */
#include <assert.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "files/encoding.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { TEXT_BYTES = 4 << 20 };
    const struct str bytes = {(const char *)data, size};
    struct decoder whole = {.encoding = encoding_guess(bytes, true)};
    struct decoder pieces = whole;
    cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);
    cleanup_buf struct buf again = BUF_INIT(TEXT_BYTES);
    cleanup_buf struct buf back = BUF_INIT(TEXT_BYTES);
    uint32_t missing;

    (void)encoding_guess(bytes, false);
    if (whole.encoding == ENCODING_BINARY || encoding_decode(&whole, bytes, &text) < 0)
        return 0;
    assert(utf8_is_valid(buf_view(&text)));
    for (size_t i = 0; i < size; i++)
        assert(encoding_decode(&pieces, str_slice(bytes, i, 1), &again) == 0);
    assert(str_eq(buf_view(&text), buf_view(&again)));
    assert(encoding_encode(whole.encoding, buf_view(&text), &back, &missing) == 0);
    assert(str_eq(buf_view(&back), bytes) || whole.high != 0 ||
           str_find(buf_view(&text), STR("\xEF\xBF\xBD")) != SIZE_MAX);
    return 0;
}
