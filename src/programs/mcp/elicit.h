/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the user through the client: writes a question as an MCP form, and reads the answer as a
 * choice. What is not clearly a yes is a no.
 */
#ifndef PROGRAMS_MCP_ELICIT_H
#define PROGRAMS_MCP_ELICIT_H

#include "base/buf.h"
#include "mcp/call.h"
#include "permission/question.h"

/* The key of the only question in a round. */
#define ELICIT_KEY STR("consent")

/* Params of elicitation/create: the whole question as text, and one field for the choice. */
int elicit_write(const struct question *question, struct buf *out);

/* The answer, among those that `choices` offers. */
enum permission_choice elicit_read(const struct mcp_call *call, unsigned choices);
/* Whether there was none in time. */
bool elicit_is_late(const struct mcp_call *call);

#endif
