/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that do the file work of host.fs, one for each tenant: started before the server is
 * confined, because it can start none afterwards.
 */
#ifndef PROGRAMS_SERVER_HOSTFSSTART_H
#define PROGRAMS_SERVER_HOSTFSSTART_H

#include "base/err.h"
#include "base/options/options.h"
#include "store/store.h"

enum { HOSTFSSTART_MAX_TENANTS = 64 };

struct hostfs_tenant {
    char name[STORE_MAX_NAME_BYTES + 1]; /* of the user; empty: the owner */
    int fd;                              /* of the process that is ready; or -1 */
};

struct hostfs_tenants {
    struct hostfs_tenant items[HOSTFSSTART_MAX_TENANTS];
    size_t count; /* 0: no files */
    uint64_t max_file_bytes;
};

/*
 * Reads the options and starts all processes; waits until they are ready. `state_path` is that of
 * the server. Call hostfsstart_close() even on failure.
 */
int hostfsstart_open(const struct option_values *values, const char *state_path,
                     struct hostfs_tenants *out_tenants, struct err *err);
/* Closes the sockets that nobody has taken; the processes then end. */
void hostfsstart_close(struct hostfs_tenants *tenants);

#endif
