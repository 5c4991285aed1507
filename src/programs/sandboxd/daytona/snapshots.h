/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots of the Daytona API: images with a name, for sandboxes to be made from. Their layers
 * stay as long as they do. A snapshot is ready when its request is answered, since the request
 * builds it.
 */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_SNAPSHOTS_H
#define PROGRAMS_SANDBOXD_DAYTONA_SNAPSHOTS_H

#include "programs/sandboxd/endpoint.h"
#include "programs/sandboxd/service.h"

enum { SNAPSHOTS_MOST = 1000 /* of an owner */ };

struct snapshot {
    struct list node; /* service->snapshots, the oldest first */
    struct sandboxstore_snapshot record;
};

/* Loads them. */
int snapshots_init(struct service *service);
void snapshots_done(struct service *service);

/* By its name or its id; NULL if the owner has none. */
const struct snapshot *snapshots_find(const struct service *service, struct str name,
                                      const char *owner);

/* Whether one has this image. */
bool snapshots_use(const struct service *service, const char *image);

/* The tenant is gone. */
void snapshots_remove_all(struct service *service, const char *owner);

extern const struct endpoint_table snapshots_endpoints;

#endif
