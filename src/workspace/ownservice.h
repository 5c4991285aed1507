/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox service of this user: the one that runs, found by a file in its state directory,
 * which it keeps locked; else one that is started here and exits when nobody needs it any more.
 * The address of a dead service, whose port another program may have by now, is never used.
 */
#ifndef WORKSPACE_OWNSERVICE_H
#define WORKSPACE_OWNSERVICE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/secret.h"
#include "net/http/url.h"

struct ownservice_config {
    const char *state_dir; /* of the user */
    const char *program;   /* the service's, and where it may be installed */
    const char *libexec;
    bool only_running; /* does not start it: ERR_NOT_FOUND */
};

struct ownservice;

enum { OWNSERVICE_STEP_MS = 10 };

int ownservice_new(const struct ownservice_config *config, struct ownservice **out_service);
void ownservice_free(struct ownservice *service);

/*
 * Looks once, and starts the service if there is none. ERR_BUSY: call it again after
 * OWNSERVICE_STEP_MS. ERR_UNSUPPORTED: it cannot start, in its own words.
 */
int ownservice_step(struct ownservice *service, struct httpurl *out_url, struct secret *out_key,
                    struct err *err);

#endif
