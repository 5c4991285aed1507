/* SPDX-License-Identifier: Apache-2.0 */
/* Our errors as OpenWOP's: a status and a flat object {error, message, details?}, for each major.
 */
#ifndef HOSTFS_ERRORS_H
#define HOSTFS_ERRORS_H

#include "base/buf.h"
#include "base/err.h"
#include "hostfs/wire.h"

/* Appends the object, and returns the status. */
int hostfs_write_error(enum hostfs_major major, const struct err *err, struct buf *out);

/* The same for an event of a run, where `error` is called `code`; always of the second major. */
int hostfs_write_event_error(const struct err *err, struct buf *out);

#endif
