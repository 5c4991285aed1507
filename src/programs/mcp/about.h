/* SPDX-License-Identifier: Apache-2.0 */
/* What gatehouse-mcp tells its clients about itself, on every transport. */
#ifndef PROGRAMS_MCP_ABOUT_H
#define PROGRAMS_MCP_ABOUT_H

#include "base/buf.h"
#include "mcp/mcp.h"
#include "programs/mcp/front.h"

struct about {
    struct mcp_server server; /* points into the rest */
    const struct catalog_listing **tools;
    struct buf templates;
    struct buf instructions; /* if there are several folders */
};

/*
 * Omits tools of denied groups. Files have URIs only if reading needs no permission: a list could
 * not ask for it.
 */
int about_init(struct about *about, const struct front_config *config);
/* Allowed after about_init() has failed, and on a zeroed struct. */
void about_done(struct about *about);

#endif
