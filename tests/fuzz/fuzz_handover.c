/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes on the control socket, for both sides: what is parsed and written parses to the same.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "programs/connect/handover.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_with(saved_session_wipe) struct buf text = BUF_INIT(HANDOVER_MAX_BYTES);
    const struct str input = {(const char *)data, size};
    struct handover_answer answer;
    struct handover handover;
    struct handover again;
    int r;

    if (handover_parse_answer(input, &answer) == 0)
        assert(strlen(answer.words) < HANDOVER_WORDS_BYTES);
    if (handover_parse(input, &handover) < 0)
        return 0;
    r = handover_format(&handover, &text);
    assert(r == 0);
    r = handover_parse(buf_view(&text), &again);
    assert(r == 0 && httpurl_same_origin(&again.url, &handover.url));
    assert(strcmp(again.url.path, handover.url.path) == 0);
    assert(strcmp(again.terms, handover.terms) == 0 && again.token.len == handover.token.len);
    assert(memcmp(again.token.bytes, handover.token.bytes, handover.token.len) == 0);
    return 0;
}
