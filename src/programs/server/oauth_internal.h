/* SPDX-License-Identifier: Apache-2.0 */
/* What oauth.c, oauthtoken.c and oauthconsent.c share. */
#ifndef PROGRAMS_SERVER_OAUTH_INTERNAL_H
#define PROGRAMS_SERVER_OAUTH_INTERNAL_H

#include "base/jsonwrite.h"
#include "gateway/toolset.h"
#include "programs/server/answer.h"
#include "programs/server/oauth.h"
#include "programs/server/oauthwire.h"

enum {
    OAUTH_ANSWER_BYTES = 64 << 10,
    OAUTH_ARENA_BYTES = 512 << 10,
    OAUTH_SECRET_CHARS = 43, /* over 256 bits */
    OAUTH_CODE_MS = 60 * 1000,
    OAUTH_ACCESS_SECONDS = 15 * 60,
};

#define OAUTH_REFRESH_MS ((int64_t)30 * 24 * 60 * 60 * 1000)

/* Ends the object and the document, and answers with it. */
void oauth_answer_object(struct exchange *exchange, int status, struct json_writer *json,
                         const struct buf *text);
/* {"error", "error_description"} */
void oauth_refuse(struct exchange *exchange, int status, const char *error, const char *words);

/* "read write": the names of groups. */
void oauth_write_scope(struct json_writer *json, unsigned groups);

/* Whether it names our only resource; so does nothing at all. */
bool oauth_is_our_resource(const struct oauth *oauth, const struct http_request *request,
                           struct str resource);

void oauth_note(struct oauth *oauth, const struct exchange *exchange, int64_t user,
                const char *client, const char *how, const char *words);

#endif
