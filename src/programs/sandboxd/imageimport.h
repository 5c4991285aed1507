/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images that the administrator brings: a whole system as a tar archive, compressed or not, or an
 * image of Docker or OCI as one, that lies in one of the administrator's sandboxes. It is unpacked
 * in a sandbox of its own, as root of that, so that whatever the archive contains, it reaches
 * nothing else. Sandboxes over such an image have nothing of this machine's system.
 */
#ifndef PROGRAMS_SANDBOXD_IMAGEIMPORT_H
#define PROGRAMS_SANDBOXD_IMAGEIMPORT_H

#include "programs/sandboxd/call.h"

enum { IMAGEIMPORT_MAX_BODY_BYTES = 16 << 10 };

/* import.sh, which does that. */
extern const struct str imageimport_script;

/* ---- endpoint ---- */

void imageimport_create(const struct api_call *call);

#endif
