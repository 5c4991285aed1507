/* SPDX-License-Identifier: Apache-2.0 */
/* Turns output of a command into valid UTF-8 without cutting characters. */
#ifndef SHELL_TEXT_H
#define SHELL_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* Replaces every byte that belongs to no character by U+FFFD. */
int text_append(struct buf *out, struct str bytes);

/* Number of bytes at the end that are an incomplete character: 0 to 3. */
size_t text_unfinished(struct str bytes);

/* Number of bytes at the beginning that can only continue a character: 0 to 3. */
size_t text_leftover(struct str bytes);

/* "873 bytes", "12.3 KB", "97.2 MB", "1.5 GB" */
enum { TEXT_SIZE_BYTES = 32 };
const char *text_size(uint64_t bytes, char out_text[TEXT_SIZE_BYTES]);

#endif
