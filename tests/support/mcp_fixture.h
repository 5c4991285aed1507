/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host for tests of src/mcp: a handful of tools and resources that answer at
 * once or wait until the test says so, and everything that was sent, a message
 * a line.
 */
#ifndef TESTS_SUPPORT_MCP_FIXTURE_H
#define TESTS_SUPPORT_MCP_FIXTURE_H

#include "base/buf.h"
#include "mcp/mcp.h"

enum { FIXTURE_MAX_PARKED = MCP_MAX_CALLS, FIXTURE_SENT_BYTES = 64 << 20 };

struct mcp_fixture {
    struct mcp_server server;
    struct mcp_session *session;
    struct buf sent;
    size_t taken;      /* of that, by fixture_next() */
    bool drops_output; /* counted only */
    size_t sent_count;
    size_t started;
    size_t cancelled;
    bool ends_cancelled;     /* a cancelled call is ended in the cancel, not later */
    struct buf unsubscribed; /* addresses, each with a space behind it */
    struct buf roots;        /* the last ones, as JSON */
    struct mcp_call *parked[FIXTURE_MAX_PARKED];
    size_t parked_count;
};

/* Tools: echo, wait (parked), steps (progress), talk (logs), fail. page_size 0: all in a page. */
void fixture_init(struct mcp_fixture *fixture);
/* A session on that; fixture->server may be changed before. */
int fixture_open(struct mcp_fixture *fixture);
void fixture_close(struct mcp_fixture *fixture);
/* Frees the session, then ends what is still parked. */
void fixture_done(struct mcp_fixture *fixture);

/* Ends parked call number `index`; the others move up. */
void fixture_finish(struct mcp_fixture *fixture, size_t index);
void fixture_fail(struct mcp_fixture *fixture, size_t index, int code);

/* Takes the first line off what was sent; false when there is none. It stays valid until the next
 * line is sent. */
bool fixture_next(struct mcp_fixture *fixture, struct str *out_line);

#endif
