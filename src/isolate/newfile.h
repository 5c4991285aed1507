/* SPDX-License-Identifier: Apache-2.0 */
/* A new file for a process that may open none itself. */
#ifndef ISOLATE_NEWFILE_H
#define ISOLATE_NEWFILE_H

#include "base/err.h"
#include "base/str.h"

/*
 * Creates a private file of this name, one component, in a directory that others may write to:
 * nothing that is there already is opened, and no link is followed. Returns it open for writing.
 */
int newfile_create(const char *directory, struct str name, int *out_fd, struct err *err);

#endif
