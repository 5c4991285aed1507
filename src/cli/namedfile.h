/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a file that the user named on the command line: options, certificates and the like. */
#ifndef CLI_NAMEDFILE_H
#define CLI_NAMEDFILE_H

#include "base/buf.h"

/* Appends the content of a regular file, up to what `out` takes. NULL, or why it cannot be read. */
const char *namedfile_read(const char *path, struct buf *out);

#endif
