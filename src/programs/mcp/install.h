/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `gatehouse mcp --install` and `--uninstall`: changes the file of a client's settings, after
 * showing the difference and asking. The old file is kept beside it.
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

/*
 * The other way round, by the options. Neither the folder nor anything else that a start needs has
 * to be there: what no longer works is what one wants to get rid of. ERR_NOT_FOUND if the client
 * does not know the server.
 */
int install_undo(struct arena *arena, const struct option_values *values, struct err *err);

#endif
