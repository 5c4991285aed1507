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

/*
 * One try of this user's password from this address, counted before it is checked: those who try at
 * the same time count, too. False, and how long to wait, if there is none left. A right password
 * was no try.
 */
bool logins_take_try(const struct logins *logins, const char *address, const char *name,
                     int64_t *out_wait_ms);
void logins_give_back_try(const struct logins *logins, const char *address, const char *name);

/* Whether no other site's page can have sent it. */
bool logins_is_our_page(const struct http_request *request);
/* As logins_who(), for a request that changes nothing. */
int logins_find_who(struct logins *logins, const struct exchange *exchange,
                    struct logins_who *out_who);

#endif
