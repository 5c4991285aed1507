/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of the store in one file, as it was at one moment, also while a server uses it. */
#ifndef STORE_BACKUP_H
#define STORE_BACKUP_H

#include "base/err.h"

struct store_backup;

/* Opens server.db of the directory. ERR_NOT_FOUND without one. */
int store_backup_open(const char *directory, struct store_backup **out_backup, struct err *err);

/*
 * Copies it to `path`, which must not exist (ERR_ALREADY_EXISTS) or be empty. The copy was checked
 * and is durable when it returns; after an error or a kill there may be a part of it.
 */
int store_backup_write(struct store_backup *backup, const char *path, struct err *err);

void store_backup_close(struct store_backup *backup);

#endif
