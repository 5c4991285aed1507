/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `gatehouse mcp --install`: changes the file of a client's settings, after showing the difference
 * and asking. The old file is kept beside it.
 */
#ifndef PROGRAMS_MCP_INSTALL_H
#define PROGRAMS_MCP_INSTALL_H

#include "programs/mcp/clients.h"
#include "session/session.h"

/*
 * Asks on standard input, unless `is_sure`. ERR_UNSUPPORTED if the file is not understood; the text
 * to paste is then on standard output.
 */
int install_run(struct session *session, const struct client_entry *entry, bool is_sure,
                struct err *err);

#endif
