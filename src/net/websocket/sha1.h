/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-1, for the one place that has no choice: the handshake of WebSocket, where
 * it guards nothing. For anything that must hold against somebody, it is broken.
 */
#ifndef NET_WEBSOCKET_SHA1_H
#define NET_WEBSOCKET_SHA1_H

#include <stdint.h>

#include "base/str.h"

enum { SHA1_BYTES = 20 };

void sha1(struct str text, uint8_t out_digest[SHA1_BYTES]);

#endif
