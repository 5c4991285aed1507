/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves one authority to one host, over two descriptors. The thread that calls service_run()
 * reads; each request is a thread, since it may wait for the host's decisions for as long as a user
 * thinks.
 */
#ifndef PROGRAMS_AUTHORITY_SERVICE_H
#define PROGRAMS_AUTHORITY_SERVICE_H

#include "base/err.h"
#include "base/log.h"
#include "gatehouse/authority.h"
#include "isolate/ownplaces.h"

struct authority_service_config {
    struct authority *authority;
    const struct log *log;
    /* Never granted, not even to the host itself: without links. */
    const struct ownplaces *own;
    const char *state_path;
    /* Absolute; roots must lie in one of them. NULL: the files are in memory. */
    const char *const *directories;
    size_t directory_count;
    int in_fd;
    int out_fd;
    void (*flush)(void *data); /* of the audit log, a second after something was done */
    void *data;
};

/* Until the host closes its end, or breaks the protocol. */
int service_run(const struct authority_service_config *config, struct err *err);

#endif
