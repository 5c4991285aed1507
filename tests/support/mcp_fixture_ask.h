/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the fixture's host that asks the client. Its arguments say what:
 *
 *     {"questions":{"key":"form"|"url"|"sampling"|"roots",…},  without: a form called "x"
 *      "rounds":N, "timeout":MS, "state":"…"}
 *
 * After the rounds it finishes with the answers.
 */
#ifndef TESTS_SUPPORT_MCP_FIXTURE_ASK_H
#define TESTS_SUPPORT_MCP_FIXTURE_ASK_H

#include "mcp_fixture.h"

/* For start and answered; the call is parked while it waits. */
void fixture_ask(struct mcp_fixture *fixture, struct mcp_call *call);
/* Needs sampling, and fails without it. */
void fixture_need(struct mcp_call *call);

#endif
