/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `gatehouse mcp`: one table for the front door, which shows help and completions
 * and starts the program, and for gatehouse-mcp, which does the work.
 */
#ifndef CLI_MCP_H
#define CLI_MCP_H

#include "base/options/options.h"
#include "cli/programs.h"

enum {
    MCP_OPTION_WRITE,
    MCP_OPTION_RO,
    MCP_OPTION_RW,
    MCP_OPTION_HARD_LINKS,
    MCP_OPTION_ROOTS,
    MCP_OPTION_WORKSPACE,
    MCP_OPTION_WORKSPACE_SETUP,
    MCP_OPTION_WORKSPACE_FILES,
    MCP_OPTION_DENY,
    MCP_OPTION_ALLOW,
    MCP_OPTION_MAX_FILE_SIZE,
    MCP_OPTION_MAX_LINES,
    MCP_OPTION_MAX_MATCHES,
    MCP_OPTION_TIMEOUT,
    MCP_OPTION_RESULTS,
    MCP_OPTION_HTTP,
    MCP_OPTION_STATE_DIR,
    MCP_OPTION_AUDIT_SYNC,
    MCP_OPTION_LOG_LEVEL,
    MCP_OPTION_PRINT_CONFIG,
    MCP_OPTION_INSTALL,
    MCP_OPTION_UNINSTALL,
    MCP_OPTION_NAME,
    MCP_OPTION_YES,
    MCP_OPTION_PERMISSION_READ,
    MCP_OPTION_PERMISSION_WRITE,
    MCP_OPTION_PERMISSION_SHELL,
    MCP_OPTION_PERMISSION_COMPUTER,
    MCP_OPTION_PERMISSION_BROWSER,
    MCP_OPTION_BROWSER_DEFAULT,
    MCP_OPTION_BROWSER_HEADLESS,
    MCP_OPTION_SENSITIVE,
    MCP_OPTION_AUTORUN,
    MCP_OPTION_ALLOW_REMOTE_ALWAYS,
    MCP_OPTION_SETTINGS_DIR,
    MCP_OPTION_SHELL_NETWORK,
    MCP_OPTION_SHELL_DOMAIN,
    MCP_OPTION_SHELL_WRITABLE,
    MCP_OPTION_SHELL_READABLE,
    MCP_OPTION_SHELL_ENV,
    MCP_OPTION_SHELL_TIMEOUT,
    MCP_OPTION_SHELL_OPEN,
    MCP_OPTIONS
};

enum { MCP_ARGUMENT_DIR, MCP_ARGUMENTS }; /* the last of them repeats */

/* Of --results, in the order of its choices. */
enum { MCP_RESULTS_BOTH, MCP_RESULTS_TEXT };

/* Target of --print-config, --install and --uninstall, in the order of mcp_clients. */
enum mcp_client {
    MCP_CLIENT_CLAUDE, /* Claude Desktop's, by its old name */
    MCP_CLIENT_CLAUDE_CODE,
    MCP_CLIENT_CLAUDE_DESKTOP,
    MCP_CLIENT_CODEX,
    MCP_CLIENT_CONTINUE,
    MCP_CLIENT_CURSOR,
    MCP_CLIENT_GEMINI,
    MCP_CLIENT_N8N,
    MCP_CLIENT_VSCODE,
    MCP_CLIENT_WINDSURF,
    MCP_CLIENT_ZED,
    MCP_CLIENTS
};

extern const char *const mcp_clients[MCP_CLIENTS + 1];
extern const struct option mcp_options[MCP_OPTIONS];
extern const struct option_argument mcp_arguments[MCP_ARGUMENTS];

/* Fields of rows about clients, which `gatehouse workspace mcp` has too. */
#define MCP_ROW_PRINT_CONFIG                                                                       \
    .name = "print-config", .type = OPTION_CHOICE, .choices = mcp_clients,                         \
    .placeholder = "CLIENT", .group = "Clients",                                                   \
    .help = "print the settings that make this client use the same options, and exit"
#define MCP_ROW_INSTALL                                                                            \
    .name = "install", .type = OPTION_CHOICE, .choices = mcp_clients, .placeholder = "CLIENT",     \
    .group = "Clients",                                                                            \
    .help = "write them into the client's own file, after showing the difference and asking, and " \
            "exit"
#define MCP_ROW_UNINSTALL                                                                          \
    .name = "uninstall", .type = OPTION_CHOICE, .choices = mcp_clients, .placeholder = "CLIENT",   \
    .group = "Clients",                                                                            \
    .help = "take what --install wrote out of the client's file again, and exit"
#define MCP_ROW_YES                                                                                \
    .name = "yes", .letter = 'y', .group = "Clients",                                              \
    .help = "with --install and --uninstall, do not ask"

/* The key that clients of --http must send; generated at each start if it is not set. */
#define MCP_HTTP_KEY_ENV "GATEHOUSE_HTTP_KEY"

/* As a row of a table. */
#define MCP_COMMAND                                                                                \
    {                                                                                              \
        .name = "mcp", .summary = MCP_SUMMARY, .options = mcp_options,                             \
        .option_count = MCP_OPTIONS, .arguments = mcp_arguments, .argument_count = MCP_ARGUMENTS   \
    }

#endif
