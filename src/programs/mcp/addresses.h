/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MCP's resources as a provider: listing URIs, reading and completing them. Its tools are in no
 * catalogue; their only argument is a string.
 */
#ifndef PROGRAMS_MCP_ADDRESSES_H
#define PROGRAMS_MCP_ADDRESSES_H

#include "call/provider.h"
#include "files/toolbox.h"
#include "mcp/call.h"
#include "permission/rules/keeper.h"

struct addresses {
    struct toolbox *box;
    struct keeper *keeper;
};

extern const struct provider addresses_provider;

/*
 * The tool for this request, and its argument, which points into the request. NULL if there is
 * none.
 */
const struct catalog_tool *addresses_request(const struct mcp_request *request,
                                             struct json_value *out_text);

#endif
