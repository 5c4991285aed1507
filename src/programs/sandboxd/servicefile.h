/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that tells the user's other commands where the service is and, if the service made it,
 * the administrator's key. Mode 0600, in the private state directory.
 */
#ifndef PROGRAMS_SANDBOXD_SERVICEFILE_H
#define PROGRAMS_SANDBOXD_SERVICEFILE_H

#include "base/err.h"
#include "base/secret.h"

#define SERVICEFILE_NAME "service.json"

/* The key of an earlier run; ERR_NOT_FOUND if there is none. */
int servicefile_read_key(int state_fd, struct secret *out_key, struct err *err);

/*
 * Replaces the file as a whole. The key may be empty. The descriptor has a lock (flock) on the
 * file: whoever reads it knows by that whether the service is alive.
 */
int servicefile_write(int state_fd, const char *url, struct str key, int *out_fd, struct err *err);

#endif
