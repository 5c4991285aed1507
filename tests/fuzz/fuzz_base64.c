/* SPDX-License-Identifier: Apache-2.0 */
/* Any text: what decodes is encoded to the same text, and what is refused leaves no output. */
#include <assert.h>
#include <stdint.h>

#include "base/base64.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_BYTES = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_buf struct buf bytes = BUF_INIT(MAX_BYTES);
    cleanup_buf struct buf again = BUF_INIT(2 * MAX_BYTES);
    struct str text = {(const char *)data, size};

    if (base64_decode(&bytes, text) < 0) {
        assert(bytes.len == 0);
        return 0;
    }
    assert(base64_append(&again, buf_view(&bytes)) == 0);
    assert(str_eq(buf_view(&again), text));
    return 0;
}
