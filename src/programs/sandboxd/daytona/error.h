/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors as the Daytona API has them:
 *
 *     {"statusCode":404,"message":"…","error":"Not Found","timestamp":"…","path":"/api/…"}
 *
 * Those of the toolbox also have `source` and `code`, by which newer clients choose a class.
 */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_ERROR_H
#define PROGRAMS_SANDBOXD_DAYTONA_ERROR_H

#include "base/buf.h"
#include "base/str.h"
#include "net/http/exchange.h"

/* Whether the path is one of the Daytona API. */
bool daytona_error_applies(struct str path);

/* `code` may be NULL: then the status says which. */
int daytona_error_write(struct buf *out, struct str path, int status, const char *code,
                        struct str text);

/* Like call_fail(), with a code of the toolbox. */
void daytona_fail(struct exchange *exchange, int status, const char *code, const char *text);

#endif
