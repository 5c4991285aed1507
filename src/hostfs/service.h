/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.fs of OpenWOP (RFC 0014) for one tenant: takes a request's body, works on the files of one
 * scope, and writes the answer's. It knows neither HTTP nor keys; gatehouse-hostfs runs it,
 * confined, for the server.
 *
 * Several threads may handle requests at once.
 */
#ifndef HOSTFS_SERVICE_H
#define HOSTFS_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cancel.h"
#include "gatehouse/authority.h"
#include "hostfs/wire.h"

struct media_client;
struct transfer_client;

/* The root as clients name it; no name of the machine is told. */
#define HOSTFS_ROOT "/sandbox"

enum {
    HOSTFS_LIST_DEFAULT = 100, /* entries of a list, if the client names no limit */
    HOSTFS_LIST_MAX = 1000,
};

struct hostfs {
    struct authority_scope *scope; /* follows links inside its root */
    uint64_t max_file_bytes;       /* that of the scope */
    unsigned features;
    struct media_client *media;       /* for images and documents; or NULL without those features */
    struct transfer_client *transfer; /* the same for servers */
};

struct hostfs_answer {
    int status;
    bool is_run;     /* of HOSTFS_RUN_START: the body is the result of a run, or its error */
    bool has_failed; /* the run */
};

/* Never fails: an error is an answer, too. `out` is empty; its limit is hostfs_max_answer(). */
struct hostfs_answer hostfs_handle(const struct hostfs *hostfs,
                                   const struct hostfs_request *request,
                                   const struct cancel *cancel, struct buf *out);

#endif
