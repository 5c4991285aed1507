/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers and strings in messages between our processes, little endian. Reading never goes beyond
 * the message: the first lack is remembered, and what is missing reads as nothing.
 */
#ifndef IPC_BYTES_H
#define IPC_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { BYTES_NUMBER = 4 }; /* of a number */

int bytes_put_u32(struct buf *out, uint32_t number);
int bytes_put_numbers(struct buf *out, const uint32_t *numbers, size_t count);
/* Their lengths, then all of them. ERR_TOO_LARGE if one is longer than max_bytes. */
int bytes_put_strings(struct buf *out, const struct str *strings, size_t count, uint32_t max_bytes);

/* What is left of a message. */
struct bytes_rest {
    struct str bytes;
    bool is_short;
};

struct str bytes_take(struct bytes_rest *rest, size_t len);
unsigned bytes_take_u8(struct bytes_rest *rest);
uint32_t bytes_take_u32(struct bytes_rest *rest);
/* As bytes_put_strings() wrote them; what follows counts as a lack, too. */
void bytes_take_strings(struct bytes_rest *rest, size_t count, struct str *out_strings);

#endif
