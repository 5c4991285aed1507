/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the header of each frame before wslay does, so that each violation has its own code and a
 * length is refused before memory is allocated for it. Close frames are parsed here entirely: wslay
 * accepts a code of one byte, and checks the reason only as far as it comes in one piece.
 */
#ifndef NET_WEBSOCKET_FRAME_H
#define NET_WEBSOCKET_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* Upper limits. */
enum { WSFRAME_HEAD_BYTES = 14, WSFRAME_CONTROL_BYTES = 125 };

struct wsframe_scan {
    bool is_masked;     /* required of the peer's frames */
    bool is_in_message; /* a fragmented message is incomplete */
    size_t max_message_bytes;
    size_t message_bytes; /* announced so far for that message */
    uint64_t payload_left;
    size_t head_len; /* bytes of a header received */
    uint8_t head[WSFRAME_HEAD_BYTES];
    bool is_close;       /* a close has begun; everything after it is ignored */
    bool is_close_whole; /* `close` is its complete payload, unmasked */
    size_t close_len;
    uint8_t close[WSFRAME_CONTROL_BYTES];
};

void wsframe_scan_init(struct wsframe_scan *scan, bool is_masked, size_t max_message_bytes);

/*
 * Sets how many of the bytes are for wslay: those before a close, or before an invalid header,
 * which is ERR_WS_PROTOCOL or ERR_TOO_LARGE.
 */
int wsframe_feed(struct wsframe_scan *scan, struct str bytes, size_t *out_good);

#endif
