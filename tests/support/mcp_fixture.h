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

enum {
    FIXTURE_MAX_PARKED = MCP_MAX_CALLS,
    FIXTURE_SENT_BYTES = 64 << 20,
    FIXTURE_MAX_TOKENS = 64,
    FIXTURE_OFFERS = 3,
};

struct mcp_fixture {
    struct mcp_server server;
    struct clock clock;
    struct mcp_service *service; /* from the first session to the end */
    struct mcp_session *session;
    struct mcp_session_config config; /* of sessions to come */
    uint64_t origin;                  /* of messages to come; 0: received as bytes */
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
    size_t answered;
    size_t released; /* offers that nobody uses any more */

    /* What was sent last, without its pointers; ids of questions and states, in their order. */
    struct mcp_outgoing about;
    char questions[FIXTURE_MAX_TOKENS][64];
    size_t question_count;
    char *states[FIXTURE_MAX_TOKENS];
    size_t state_count;
};

/* Tools: echo, wait (parked), steps (progress), talk (logs), fail. page_size 0: all in a page. */
void fixture_init(struct mcp_fixture *fixture);
/*
 * Also the tools ask (see mcp_fixture_ask.h) and need (sampling), the prompts greet (name, style),
 * plain and consult (asks), and everything may change.
 */
void fixture_offer_more(struct mcp_fixture *fixture);
/* Other tools and prompts: 0 is what fixture_offer_more() has. */
int fixture_set_offer(struct mcp_fixture *fixture, size_t number);
/* A session on that; fixture->server may be changed before. */
int fixture_open(struct mcp_fixture *fixture);
void fixture_close(struct mcp_fixture *fixture);
/* One message, in the way that fixture->origin says. */
void fixture_say(struct mcp_fixture *fixture, struct str bytes);
__attribute__((format(printf, 2, 3))) void fixture_sayf(struct mcp_fixture *fixture,
                                                        const char *format, ...);
/* Time goes on, and questions end. */
void fixture_pass(struct mcp_fixture *fixture, int64_t ms);
/* The text with @q1, @q2, … as ids of questions and @s1, … as states, as they were sent. */
int fixture_expand(const struct mcp_fixture *fixture, struct str text, struct buf *out);
/* Frees the session, then ends what is still parked. */
void fixture_done(struct mcp_fixture *fixture);

/* Keeps a call that the test will end. */
void fixture_park(struct mcp_fixture *fixture, struct mcp_call *call);
/* Ends parked call number `index`; the others move up. */
void fixture_finish(struct mcp_fixture *fixture, size_t index);
void fixture_fail(struct mcp_fixture *fixture, size_t index, int code);

/* Takes the first line off what was sent; false when there is none. It stays valid until the next
 * line is sent. */
bool fixture_next(struct mcp_fixture *fixture, struct str *out_line);
bool fixture_next_has(struct mcp_fixture *fixture, const char *part);
bool fixture_is_silent(struct mcp_fixture *fixture);

#endif
