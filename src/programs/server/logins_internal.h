/* SPDX-License-Identifier: Apache-2.0 */
/* What logins.c and signin.c share. */
#ifndef PROGRAMS_SERVER_LOGINS_INTERNAL_H
#define PROGRAMS_SERVER_LOGINS_INTERNAL_H

#include "programs/server/answer.h"
#include "programs/server/logins.h"

enum { LOGINS_TOKEN_CHARS = 32 };

void logins_refuse(struct exchange *exchange, int code, const char *message,
                   struct http_field field);
/* 429, and when to try again. */
void logins_refuse_for_now(struct exchange *exchange, int64_t wait_ms);

/* Whether no other site's page can have sent it. */
bool logins_is_our_page(const struct http_request *request);
/* As logins_who(), for a request that changes nothing. */
int logins_find_who(struct logins *logins, const struct exchange *exchange,
                    struct logins_who *out_who);

#endif
