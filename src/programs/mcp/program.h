/* SPDX-License-Identifier: Apache-2.0 */
/* gatehouse-mcp: from the command line to a served connection, and out again. */
#ifndef PROGRAMS_MCP_PROGRAM_H
#define PROGRAMS_MCP_PROGRAM_H

/* The exit status. */
int program_run(int argc, char *const *argv);

#endif
