/* SPDX-License-Identifier: Apache-2.0 */
/* Formats untrusted text as one line for people, outside of the log. */
#ifndef BASE_PLAIN_H
#define BASE_PLAIN_H

#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

/*
 * Appends at most max_bytes: secrets are redacted; line ends, terminal control characters and
 * invalid text become spaces.
 */
int plain_line(struct str text, size_t max_bytes, struct buf *out);

#endif
