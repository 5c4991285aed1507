/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `gatehouse workspace`: one table for the front door, which shows help and
 * completions, runs `sh` and starts the program for the rest, and for gatehouse-workspace. Also
 * where the copies are, which other programs need to know too.
 */
#ifndef CLI_WORKSPACE_H
#define CLI_WORKSPACE_H

#include <limits.h>

#include "base/err.h"
#include "base/options/options.h"
#include "cli/programs.h"

enum {
    WORKSPACE_NEW,
    WORKSPACE_LS,
    WORKSPACE_PATH,
    WORKSPACE_SH,
    WORKSPACE_MCP,
    WORKSPACE_CP,
    WORKSPACE_DIFF,
    WORKSPACE_APPLY,
    WORKSPACE_UNDO,
    WORKSPACE_RM,
    WORKSPACE_COMMANDS
};

/* Every command has these first. */
enum { WORKSPACE_STATE_DIR, WORKSPACE_AUDIT_SYNC, WORKSPACE_SHARED_OPTIONS };

enum {
    WORKSPACE_NEW_NAME = WORKSPACE_SHARED_OPTIONS,
    WORKSPACE_NEW_WITHOUT_GIT,
    WORKSPACE_NEW_WITH_SENSITIVE,
    WORKSPACE_NEW_OPTIONS
};
enum { WORKSPACE_LS_JSON = WORKSPACE_SHARED_OPTIONS, WORKSPACE_LS_OPTIONS };
enum { WORKSPACE_SH_NET = WORKSPACE_SHARED_OPTIONS, WORKSPACE_SH_OPTIONS };
enum {
    WORKSPACE_MCP_PRINT_CONFIG = WORKSPACE_SHARED_OPTIONS,
    WORKSPACE_MCP_INSTALL,
    WORKSPACE_MCP_UNINSTALL,
    WORKSPACE_MCP_NAME,
    WORKSPACE_MCP_YES,
    WORKSPACE_MCP_OPTIONS
};
enum {
    WORKSPACE_DIFF_STAT = WORKSPACE_SHARED_OPTIONS,
    WORKSPACE_DIFF_JSON,
    WORKSPACE_DIFF_OPTIONS
};
enum {
    WORKSPACE_APPLY_YES = WORKSPACE_SHARED_OPTIONS,
    WORKSPACE_APPLY_OVERWRITE,
    WORKSPACE_APPLY_OPTIONS
};
enum { WORKSPACE_RM_FORCE = WORKSPACE_SHARED_OPTIONS, WORKSPACE_RM_OPTIONS };

extern const struct option workspace_shared_options[WORKSPACE_SHARED_OPTIONS];
extern const struct option_command workspace_commands[WORKSPACE_COMMANDS];

/* Instead of a command: does one request of the server's page, which comes by a socket
 * (copies/request.h). */
#define WORKSPACE_PAGE_WORD "page"

/* As a row of a table. */
#define WORKSPACE_COMMAND                                                                          \
    {                                                                                              \
        .name = "workspace", .summary = WORKSPACE_SUMMARY, .commands = workspace_commands,         \
        .command_count = WORKSPACE_COMMANDS                                                        \
    }

enum { WORKSPACE_NAME_BYTES = 64 };

/* Letters, digits, hyphens and underscores, with a letter or digit first. */
#define WORKSPACE_NAME_RULE                                                                        \
    "a letter or digit, and up to %d more letters, digits, hyphens and underscores"
bool workspace_is_name(const char *name);

/*
 * "NAME.told" beside the record of a workspace: the clients that were told about the copy. A line
 * is a word of mcp_clients, a space and what that client calls the server. gatehouse-mcp writes it.
 */
#define WORKSPACE_TOLD_SUFFIX ".told"
enum {
    WORKSPACE_TOLD_BYTES = 64 << 10,
    WORKSPACE_TOLD_NAME_BYTES = WORKSPACE_NAME_BYTES + sizeof(WORKSPACE_TOLD_SUFFIX)
};

/* The state directory, given or the default, as session/state.h finds it; this is for programs that
 * open no session. */
int workspace_find_state(const char *given, char out_path[PATH_MAX], struct err *err);

/* The folder of all copies that belong to this absolute state directory: beside it, since no agent
 * may see anything in it. */
int workspace_copies_dir(const char *state_path, char out_path[PATH_MAX], struct err *err);

/*
 * The folder of one copy, by the state directory that an option names or the user's default.
 * ERR_INVALID_ARGUMENT for what cannot be a name. Looks at no file.
 */
int workspace_copy_path(const char *state_dir, const char *name, char out_path[PATH_MAX],
                        struct err *err);

#endif
