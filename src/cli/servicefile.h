/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that tells the user's other commands where a service is and, if the sandbox service made
 * it, the administrator's key. Mode 0600, in the service's private directory.
 */
#ifndef CLI_SERVICEFILE_H
#define CLI_SERVICEFILE_H

#include <sys/types.h>

#include "base/err.h"
#include "base/secret.h"

#define SERVICEFILE_NAME "service.json"

enum { SERVICEFILE_URL_BYTES = 512 };

struct servicefile_service {
    char url[SERVICEFILE_URL_BYTES];
    pid_t pid; /* 0: it is not known */
};

/* The key of an earlier run; ERR_NOT_FOUND if there is none. */
int servicefile_read_key(int dir_fd, struct secret *out_key, struct err *err);

/*
 * Replaces the file as a whole. The key may be empty. The descriptor has a lock (flock) on the
 * file: whoever reads it knows by that whether the service is alive.
 */
int servicefile_write(int dir_fd, const char *url, struct str key, int *out_fd, struct err *err);

/*
 * The service of this user that has the directory. ERR_NOT_FOUND if none is alive; one that is
 * stopped (SIGSTOP) is.
 */
int servicefile_find(const char *directory, struct servicefile_service *out_service);

#endif
