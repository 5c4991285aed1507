/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the file of a saved session: what is parsed and written parses to the same. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "programs/connect/savedsession.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROOM = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_buf struct buf text = BUF_INIT(ROOM);
    struct saved_session kept;
    struct saved_session again;
    int r;

    if (saved_session_parse((struct str){(const char *)data, size}, &kept) < 0)
        return 0;
    assert(kept.key.len > 0 && kept.key.len <= SECRET_MAX_BYTES);
    r = saved_session_format(&kept, &text);
    assert(r == 0);
    r = saved_session_parse(buf_view(&text), &again);
    assert(r == 0 && again.dialect == kept.dialect);
    assert(strcmp(again.terms, kept.terms) == 0 && strcmp(again.root_path, kept.root_path) == 0);
    assert(secret_eq(&again.key, secret_reveal(&kept.key))); /* nobody's */
    return 0;
}
