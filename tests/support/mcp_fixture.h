/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host for tests of src/mcp: a few tools and resources that answer at once or wait for the test,
 * and everything that was sent, one message per line.
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
    struct mcp_service *service; /* from the first session until the end */
    struct mcp_session *session;
    struct mcp_session_config config; /* of future sessions */
    uint64_t origin;                  /* of future messages; 0: received as bytes */
    struct buf sent;
    size_t taken;      /* part consumed by fixture_next() */
    bool drops_output; /* only count it */
    size_t sent_count;
    size_t started;
    size_t cancelled;
    bool ends_cancelled;     /* end a cancelled call inside cancel, not later */
    struct buf unsubscribed; /* URIs, each followed by a space */
    struct buf roots;        /* the last ones, as JSON */
    struct mcp_call *parked[FIXTURE_MAX_PARKED];
    size_t parked_count;
    size_t answered;
    size_t released; /* offers no longer in use */

    /* The last message sent, without its pointers; ids of questions and states, in order. */
    struct mcp_outgoing about;
    char questions[FIXTURE_MAX_TOKENS][64];
    size_t question_count;
    char *states[FIXTURE_MAX_TOKENS];
    size_t state_count;
};

/* Tools: echo, wait (parked), steps (progress), talk (logs), fail. page_size 0: all on one page. */
void fixture_init(struct mcp_fixture *fixture);
/*
 * Adds the tools ask (see mcp_fixture_ask.h) and need (sampling), the prompts greet (name, style),
 * plain and consult (asks), and everything may change.
 */
void fixture_offer_more(struct mcp_fixture *fixture);
/* Sets other tools and prompts: 0 is that of fixture_offer_more(). */
int fixture_set_offer(struct mcp_fixture *fixture, size_t number);
/* Opens a session; fixture->server may be changed before. */
int fixture_open(struct mcp_fixture *fixture);
void fixture_close(struct mcp_fixture *fixture);
/* Sends one message, in the way that fixture->origin selects. */
void fixture_say(struct mcp_fixture *fixture, struct str bytes);
__attribute__((format(printf, 2, 3))) void fixture_sayf(struct mcp_fixture *fixture,
                                                        const char *format, ...);
/* Advances the clock and lets questions time out. */
void fixture_pass(struct mcp_fixture *fixture, int64_t ms);
/* Replaces @q1, @q2, … by ids of questions and @s1, … by states, as they were sent. */
int fixture_expand(const struct mcp_fixture *fixture, struct str text, struct buf *out);
/* Frees the session, then ends what is still parked. */
void fixture_done(struct mcp_fixture *fixture);

/* Keeps a call that the test will end. */
void fixture_park(struct mcp_fixture *fixture, struct mcp_call *call);
/* Ends parked call number `index`; the others move up. */
void fixture_finish(struct mcp_fixture *fixture, size_t index);
void fixture_fail(struct mcp_fixture *fixture, size_t index, int code);

/*
 * Takes the first line off what was sent; false if there is none. It is valid until the next line
 * is sent.
 */
bool fixture_next(struct mcp_fixture *fixture, struct str *out_line);
bool fixture_next_has(struct mcp_fixture *fixture, const char *part);
bool fixture_is_silent(struct mcp_fixture *fixture);

#endif
