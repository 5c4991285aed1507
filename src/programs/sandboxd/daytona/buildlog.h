/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the build of a sandbox's image prints, as text for clients that follow it. It is kept after
 * the end, because clients ask for it when the sandbox is there already.
 */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_BUILDLOG_H
#define PROGRAMS_SANDBOXD_DAYTONA_BUILDLOG_H

#include "programs/sandboxd/call.h"
#include "programs/sandboxd/service.h"

struct buildlog;

/* Of the sandbox with this id, which may not be there yet. NULL without memory, or if there are too
 * many. */
struct buildlog *buildlog_new(struct service *service, const char *id, const char *owner);
/* As though there had been none; before the end. May be NULL, as for the next two. */
void buildlog_drop(struct buildlog *log);
/* Beyond a limit, the beginning goes. */
void buildlog_add(struct buildlog *log, struct str text);
/* No more comes: answers end. It is the service's then. */
void buildlog_end(struct buildlog *log);

/* Ends the answers; then what was kept is freed. */
void buildlogs_end_all(struct service *service);
void buildlogs_done(struct service *service);

/* ---- endpoints ---- */

void buildlog_get_url(const struct api_call *call);
void buildlog_get(const struct api_call *call);

#endif
