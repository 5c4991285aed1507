/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the head of each frame before wslay does, so that each rule that is
 * broken has its own code and a length is refused before anybody makes room for
 * it. A close is read here altogether: wslay takes one byte for a code, and looks
 * at the reason only as far as it comes in one piece.
 */
#ifndef NET_WEBSOCKET_FRAME_H
#define NET_WEBSOCKET_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* Both at most. */
enum { WSFRAME_HEAD_BYTES = 14, WSFRAME_CONTROL_BYTES = 125 };

struct wsframe_scan {
    bool is_masked;     /* what the peer's frames must be */
    bool is_in_message; /* one was begun, and more of it must come */
    size_t max_message_bytes;
    size_t message_bytes; /* announced so far for the one that was begun */
    uint64_t payload_left;
    size_t head_len; /* bytes of a head that came */
    uint8_t head[WSFRAME_HEAD_BYTES];
    bool is_close;       /* one has begun, and nothing counts after it */
    bool is_close_whole; /* `close` is what it says, without the mask */
    size_t close_len;
    uint8_t close[WSFRAME_CONTROL_BYTES];
};

void wsframe_scan_init(struct wsframe_scan *scan, bool is_masked, size_t max_message_bytes);

/*
 * How many of the bytes are for wslay: those before a close, or before a head
 * that is wrong, which is ERR_WS_PROTOCOL or ERR_TOO_LARGE.
 */
int wsframe_feed(struct wsframe_scan *scan, struct str bytes, size_t *out_good);

#endif
