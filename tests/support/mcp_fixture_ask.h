/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the fixture's host that asks the client. Its arguments say what:
 *
 *     {"questions":{"key":"form"|"url"|"sampling"|"roots",…},  a form called "x" without
 *      "rounds":N, "timeout":MS, "state":"…"}
 *
 * After the rounds it finishes with what it heard.
 */
#ifndef TESTS_SUPPORT_MCP_FIXTURE_ASK_H
#define TESTS_SUPPORT_MCP_FIXTURE_ASK_H

#include "mcp_fixture.h"

/* In start and in answered; the call is parked while it waits. */
void fixture_ask(struct mcp_fixture *fixture, struct mcp_call *call);
/* Needs sampling, and fails without. */
void fixture_need(struct mcp_call *call);

#endif
