/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking the user through the client: a question as a form of MCP, and what
 * came back as a choice. What is not clearly a yes is a no.
 */
#ifndef PROGRAMS_MCP_ELICIT_H
#define PROGRAMS_MCP_ELICIT_H

#include "base/buf.h"
#include "mcp/call.h"
#include "permission/question.h"

/* The key of the only question in a round. */
#define ELICIT_KEY STR("consent")

/* Params of elicitation/create: the whole question as text, and one field to choose in. */
int elicit_write(const struct question *question, struct buf *out);

/* The answer to that, of those that `choices` offers. */
enum permission_choice elicit_read(const struct mcp_call *call, unsigned choices);

#endif
