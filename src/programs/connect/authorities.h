/* SPDX-License-Identifier: Apache-2.0 */
/* A file of certificates that the user trusts besides the system's, for a server of his own. */
#ifndef PROGRAMS_CONNECT_AUTHORITIES_H
#define PROGRAMS_CONNECT_AUTHORITIES_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the file, in which there are certificates. ERR_INVALID_OPTION, with words. */
int authorities_read(const char *path, struct buf *out_pem, struct err *err);

#endif
