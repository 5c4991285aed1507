/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key with which clients sign URLs of a sandbox's files, and who comes with such a URL. Only
 * the salt of the key is stored.
 */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_SIGNING_H
#define PROGRAMS_SANDBOXD_DAYTONA_SIGNING_H

#include "programs/sandboxd/call.h"

void signing_get(const struct api_call *call);
/* URLs that were signed before are valid no more. */
void signing_rotate(const struct api_call *call);

/*
 * Whether the query has a valid signature for a file of the sandbox in the path: then its owner
 * becomes the call's. 0 or ERR_UNAUTHORIZED.
 */
int signing_check(struct api_call *call, enum http_method method);

#endif
