/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where clients of the Daytona API put build contexts: as much of S3 as they use, which is to ask
 * whether an object is there and to put it, at once or in parts (parts.h). Objects are contexts
 * (contexts.h), of one owner each.
 *
 *     GET /api/object-storage/push-access               who may do that, and where
 *     GET /storage/BUCKET?list-type=2&prefix=OWNER/HASH/
 *     PUT /storage/BUCKET/OWNER/HASH/context.tar
 *     POST …?uploads, PUT …?partNumber=1&uploadId=ID, POST and DELETE …?uploadId=ID
 *
 * Who asks shows the ticket of the first answer, which S3 calls a session token; requests are
 * signed too, but the signature adds nothing to a ticket that is sent with it.
 */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_STORAGE_H
#define PROGRAMS_SANDBOXD_DAYTONA_STORAGE_H

#include "programs/sandboxd/endpoint.h"

enum {
    STORAGE_TICKET_S = 3600,
    STORAGE_HASH_CHARS = 32, /* MD5, as the clients make them: a name, which protects nothing */
};

extern const struct endpoint_table storage_endpoints;

#endif
