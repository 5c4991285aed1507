/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that a command printed as text that can be sent on: valid UTF-8, no character cut in two.
 */
#ifndef SHELL_TEXT_H
#define SHELL_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* Every byte that belongs to no character becomes U+FFFD. */
int text_append(struct buf *out, struct str bytes);

/* Bytes at the end that begin a character and do not finish it: 0 to 3. */
size_t text_unfinished(struct str bytes);

/* Bytes at the beginning that can only be the rest of a character: 0 to 3. */
size_t text_leftover(struct str bytes);

/* "873 bytes", "12.3 KB", "97.2 MB", "1.5 GB" */
enum { TEXT_SIZE_BYTES = 32 };
const char *text_size(uint64_t bytes, char out_text[TEXT_SIZE_BYTES]);

#endif
