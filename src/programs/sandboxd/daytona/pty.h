/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Terminals of the toolbox: each has a shell, and any number of clients over WebSockets, who all
 * see its output and may type. What it writes while nobody is connected is kept up to a limit for
 * the next one.
 */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_PTY_H
#define PROGRAMS_SANDBOXD_DAYTONA_PTY_H

#include "programs/sandboxd/call.h"
#include "programs/sandboxd/service.h"

enum { PTY_MOST = 32 /* of a sandbox */ };

/* Ends and forgets all of a sandbox. */
void pty_forget_all(struct sandbox *sandbox);

/* ---- endpoints ---- */

void pty_create(const struct api_call *call);
void pty_list(const struct api_call *call);
void pty_get(const struct api_call *call);
void pty_remove(const struct api_call *call);
void pty_resize(const struct api_call *call);
void pty_connect(const struct api_call *call);
void pty_create_and_connect(const struct api_call *call);

#endif
