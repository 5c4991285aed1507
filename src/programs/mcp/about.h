/* SPDX-License-Identifier: Apache-2.0 */
/* What gatehouse-mcp tells its clients about itself, whatever they come by. */
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
 * Tools of a group that is denied are not told of. Files have addresses only where reading needs no
 * consent: a list of them could ask for none. The largest file decides how long a message may be.
 */
int about_init(struct about *about, const struct toolbox *box, bool has_commands,
               const struct permission_modes *modes, uint64_t max_file_bytes);
/* Also after about_init() has failed, and on zeros. */
void about_done(struct about *about);

#endif
