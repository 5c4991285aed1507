/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts gatehouse-media for a toolhost, which cannot, when it first asks for something: few
 * sessions ever do. Where it does not start, each request is answered with that, and one that comes
 * later tries again.
 */
#ifndef PROGRAMS_CONNECT_MEDIALINK_H
#define PROGRAMS_CONNECT_MEDIALINK_H

#include "base/log.h"
#include "loop/loop.h"
#include "programs/connect/leftovers.h"

struct medialink;

enum { MEDIALINK_AGAIN_MS = 5000 }; /* between two tries */

struct medialink_config {
    struct loop *loop;
    const struct log *log;
    const char *libexec;
    struct leftovers *leftovers; /* must outlive the link */
};

/* The caller closes *out_fd, the toolhost's end, once the toolhost has it. */
int medialink_new(const struct medialink_config *config, struct medialink **out_link, int *out_fd);
/* gatehouse-media, if it was started, ends when the toolhost does. */
void medialink_free(struct medialink *link);

#endif
