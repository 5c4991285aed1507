/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that do the file work of host.fs, one for each tenant: started before the server is
 * confined, because it can start none afterwards. A copy of the server that is made then, the
 * keeper, starts those again that have died.
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
    unsigned features; /* that work here: hostfs/wire.h */
    int keeper_fd;     /* to the keeper; or -1 */
};

/*
 * Reads the options and starts all processes; waits until they are ready. `state_path` is that of
 * the server. Call hostfsstart_close() even on failure.
 */
int hostfsstart_open(const struct option_values *values, const char *state_path,
                     struct hostfs_tenants *out_tenants, struct err *err);
/* Asks the keeper for another process of the tenant; 0, or -1 if it is gone. */
int hostfsstart_ask(const struct hostfs_tenants *tenants, size_t tenant);
/* What the keeper has started since: its tenant and socket. False: nothing more at present. */
bool hostfsstart_take(const struct hostfs_tenants *tenants, size_t *out_tenant, int *out_fd);

/* Closes the sockets that nobody has taken; the processes then end. */
void hostfsstart_close(struct hostfs_tenants *tenants);

#endif
