/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-1, only for the WebSocket handshake, which requires it and where it protects nothing. It is
 * broken for any security purpose.
 */
#ifndef NET_WEBSOCKET_SHA1_H
#define NET_WEBSOCKET_SHA1_H

#include <stdint.h>

#include "base/str.h"

enum { SHA1_BYTES = 20 };

void sha1(struct str text, uint8_t out_digest[SHA1_BYTES]);

#endif
