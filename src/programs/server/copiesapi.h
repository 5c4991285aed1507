/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copies of `gatehouse workspace` on the owner's page. The server reaches no file of them: a
 * gatehouse-workspace is started for each request, by a copy of the server that was made before it
 * was confined (isolate/errand.h). Below /api/:
 *
 *     GET  copies              {copies: [{name, path, original, created, …}]}
 *     GET  copies/NAME         {name, original, canUndo, count, changes: [{id, path, diff, …}]}
 *     POST copies/NAME/apply   {changes: [ID]}: {done, left: [{path, why}], leftCount, problem}
 *     POST copies/NAME/undo    the same
 */
#ifndef PROGRAMS_SERVER_COPIESAPI_H
#define PROGRAMS_SERVER_COPIESAPI_H

#include "base/options/options.h"
#include "isolate/errand.h"
#include "net/http/exchange.h"
#include "programs/server/logins.h"

/*
 * Makes the copy of the server, if the options want it; else *out_errand is NULL. `state_path` is
 * that of session_state_server_dir().
 */
int copiesapi_start(const struct option_values *values, bool is_for_all, const char *state_path,
                    struct errand **out_errand, struct err *err);

struct copiesapi;

/* `errand` may be NULL: there are no copies for anybody. */
int copiesapi_new(struct loop *loop, struct logins *logins, struct errand *errand,
                  struct copiesapi **out_api);
/* Answers what waits; before the HTTP server is freed. */
void copiesapi_free(struct copiesapi *api);

/* Whether this user has copies here: only the owner, whose user the server runs as. */
bool copiesapi_is_for(const struct copiesapi *api, int64_t user);
/* Requests that are worked on. */
size_t copiesapi_count(const struct copiesapi *api);

#define COPIESAPI_PATH "copies"
/* `rest` is the path behind "copies": empty, or "/NAME…". The login was checked. */
void copiesapi_handle(struct copiesapi *api, int64_t user, struct str rest,
                      struct exchange *exchange);

#endif
