/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-1, only for formats that require it and where it protects nothing: the WebSocket handshake
 * and Git's index. It is broken for any security purpose.
 */
#ifndef BASE_SHA1_H
#define BASE_SHA1_H

#include <stdint.h>

#include "base/str.h"

enum { SHA1_BYTES = 20 };

void sha1(struct str text, uint8_t out_digest[SHA1_BYTES]);

#endif
