/* SPDX-License-Identifier: Apache-2.0 */
/* A file of CA certificates that the user trusts besides the system's, for a private server. */
#ifndef PROGRAMS_CONNECT_AUTHORITIES_H
#define PROGRAMS_CONNECT_AUTHORITIES_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the file, which must contain certificates. ERR_INVALID_OPTION, with a message. */
int authorities_read(const char *path, struct buf *out_pem, struct err *err);

#endif
