/* SPDX-License-Identifier: Apache-2.0 */
/* What gatehouse-mcp tells its clients about itself, on every transport. */
#ifndef PROGRAMS_MCP_ABOUT_H
#define PROGRAMS_MCP_ABOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "files/toolbox.h"
#include "mcp/mcp.h"
#include "permission/modes.h"

struct about {
    struct mcp_server server; /* points into the rest */
    const struct catalog_tool **tools;
    struct buf templates;
};

/*
 * Omits tools of denied groups. Files have URIs only if reading needs no permission: a list could
 * not ask for it. max_file_bytes determines the maximum message size.
 */
int about_init(struct about *about, const struct toolbox *box, bool has_commands,
               const struct permission_modes *modes, uint64_t max_file_bytes);
/* Allowed after about_init() has failed, and on a zeroed struct. */
void about_done(struct about *about);

#endif
