/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the web page asks the server, below /api/. Every request has the login's cookie; those that
 * change something also the header of logins.h.
 *
 *     GET    state             user, status, questions, calls, tools, providers of workspaces,
 *                              workspaces: [{id, provider, agent, createdAt}], hasCopies
 *     GET    calls             {calls}: all that are kept; the state has the last ones
 *     GET    events            a stream of status, tools, question, question-closed, call,
 *                              progress, job-output, workspaces
 *     POST   call              {name, arguments}: the CallToolResult
 *     POST   stop/ID           ends a call that runs
 *     POST   query             {query, arguments}: what a daemon of ours says about itself
 *     POST   questions/ID      {answer}
 *     GET    agents            {agents: [{id, name, groups, createdAt, workspace, asks}]}
 *     POST   agents            {name, groups, workspace, asks}: with its key, shown only here
 *     DELETE agents/ID
 *     DELETE workspaces/ID     ends one
 *     copies…                  copies of projects: programs/server/copiesapi.h
 *     GET    credentials       {credentials: [{id, name, type, createdAt}]}, without their data
 *     DELETE credentials/ID
 *     GET    sign-in           {passwords}: whether there are any; the only one without a login
 *     GET    sessions          {sessions: [{id, address, browser, createdAt, usedAt, isThis}],
 *                              hasPassword}
 *     DELETE sessions/ID
 *     POST   password          {current, new}: ends the other sessions
 */
#ifndef PROGRAMS_SERVER_PAGEAPI_H
#define PROGRAMS_SERVER_PAGEAPI_H

#include "gateway/hubhttp.h"
#include "programs/server/board.h"
#include "programs/server/conversations.h"
#include "programs/server/copiesapi.h"
#include "programs/server/logins.h"
#include "store/store.h"

#define PAGEAPI_PREFIX "/api/"

enum { PAGEAPI_MAX_BODY_BYTES = 16 << 20 };

struct pageapi {
    struct loop *loop;
    struct logins *logins;
    struct store *store;
    struct hubhttp *gateway;
    struct board *board;
    struct conversations *conversations;
    struct copiesapi *copies;
};

/* An exchange_handler for everything below the prefix; the body was read. */
void pageapi_handle(const struct pageapi *api, struct exchange *exchange);

/* For the parts of it: an error, and the object of a body; NULL after an answer. */
void pageapi_answer_error(struct exchange *exchange, const struct err *err);
const struct json_value *pageapi_read_body(struct arena *arena, struct exchange *exchange);

/* An error as it is answered there. */
int pageapi_write_error(const struct err *err, struct buf *out);

/* The user's machine came, went or offers other tools: tells the pages. */
void pageapi_tell_machine(const struct pageapi *api, int64_t user);
/* The same for the list of workspaces. */
void pageapi_tell_workspaces(const struct pageapi *api, int64_t user);

#endif
