/* SPDX-License-Identifier: Apache-2.0 */
/* Text that may hold anything as one line for people, in places that are no log. */
#ifndef PROGRAMS_CONNECT_PLAIN_H
#define PROGRAMS_CONNECT_PLAIN_H

#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

/*
 * Appends at most max_bytes: what looks like a secret is hidden, and what ends the line, steers a
 * terminal or is no text becomes a space.
 */
int plain_line(struct str text, size_t max_bytes, struct buf *out);

#endif
