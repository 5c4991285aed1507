/* SPDX-License-Identifier: Apache-2.0 */
/* Answers in JSON which no cache keeps, and whose type no browser guesses. */
#ifndef PROGRAMS_SERVER_ANSWER_H
#define PROGRAMS_SERVER_ANSWER_H

#include "net/http/exchange.h"

void answer_json(struct exchange *exchange, int status, struct str body);
/* With another header; its name may be empty. */
void answer_json_with(struct exchange *exchange, int status, struct http_field more,
                      struct str body);

#endif
