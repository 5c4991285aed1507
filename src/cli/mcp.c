/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mcp.h"

#include "cli/shared.h"

static const char *const clients[] = {
    [MCP_CLIENT_CLAUDE] = "claude", [MCP_CLIENT_VSCODE] = "vscode", [MCP_CLIENT_CURSOR] = "cursor",
    [MCP_CLIENT_N8N] = "n8n",       [MCP_CLIENTS] = NULL,
};

const struct option mcp_options[MCP_OPTIONS] = {
    [MCP_OPTION_WRITE] = {.name = "write",
                          .letter = 'w',
                          .env = "GATEHOUSE_WRITE",
                          .help = "let the client change files; without this, it can only read"},
    [MCP_OPTION_PERMISSION_READ] = {.name = "permission-filesystem-read",
                                    .type = OPTION_CHOICE,
                                    .choices = shared_modes,
                                    .env = "N8N_GATEWAY_PERMISSION_FILESYSTEM_READ",
                                    .fallback = "allow",
                                    .group = "Consent",
                                    .help = "reading files: ask prompts you unless a rule decides"},
    [MCP_OPTION_PERMISSION_WRITE] = {.name = "permission-filesystem-write",
                                     .type = OPTION_CHOICE,
                                     .choices = shared_modes,
                                     .env = "N8N_GATEWAY_PERMISSION_FILESYSTEM_WRITE",
                                     .group = "Consent",
                                     .help = "changing files (default: deny; allow with --write)"},
    [MCP_OPTION_SENSITIVE] = {SHARED_SENSITIVE},
    [MCP_OPTION_PERMISSION_SHELL] = {.name = "permission-shell",
                                     .type = OPTION_CHOICE,
                                     .choices = shared_modes,
                                     .env = "N8N_GATEWAY_PERMISSION_SHELL",
                                     .fallback = "deny",
                                     .group = "Consent",
                                     .help = "running commands, each in a sandbox that sees the "
                                             "folder and a read-only system without your secrets"},
    [MCP_OPTION_SHELL_NETWORK] = {SHARED_SHELL_NETWORK},
    [MCP_OPTION_SHELL_WRITABLE] = {SHARED_SHELL_WRITABLE},
    [MCP_OPTION_SHELL_READABLE] = {SHARED_SHELL_READABLE},
    [MCP_OPTION_SHELL_TIMEOUT] = {SHARED_SHELL_TIMEOUT},
    [MCP_OPTION_SHELL_OPEN] = {SHARED_SHELL_OPEN},
    [MCP_OPTION_ASK_TTY] =
        {.name = "ask-tty",
         .type = OPTION_PATH,
         .placeholder = "TTY",
         .group = "Consent",
         .help =
             "ask on this terminal (its name is what 'tty' prints) instead of through the client"},
    [MCP_OPTION_ALLOW_REMOTE_ALWAYS] =
        {.name = "allow-remote-always",
         .group = "Consent",
         .help = "offer 'always allow' and 'always deny' also when the client asks"},
    [MCP_OPTION_SETTINGS_DIR] = {.name = "settings-dir",
                                 .type = OPTION_DIR,
                                 .env = "GATEHOUSE_SETTINGS_DIR",
                                 .group = "Consent",
                                 .help = "directory of your rules (default: ~/.n8n-gateway)"},
    [MCP_OPTION_DENY] = {.name = "deny",
                         .type = OPTION_LIST,
                         .env = "GATEHOUSE_DENY",
                         .placeholder = "GLOB",
                         .help = "hide files matching GLOB, like '**/.env'; repeatable or "
                                 "comma-separated; wins over --allow"},
    [MCP_OPTION_ALLOW] =
        {.name = "allow",
         .type = OPTION_LIST,
         .env = "GATEHOUSE_ALLOW",
         .placeholder = "GLOB",
         .help = "hide all files that do not match GLOB; repeatable or comma-separated"},
    [MCP_OPTION_MAX_FILE_SIZE] = {SHARED_MAX_FILE_SIZE, .env = "GATEHOUSE_MAX_FILE_SIZE"},
    [MCP_OPTION_MAX_LINES] = {SHARED_MAX_LINES, .env = "GATEHOUSE_MAX_LINES"},
    [MCP_OPTION_MAX_MATCHES] = {SHARED_MAX_MATCHES, .env = "GATEHOUSE_MAX_MATCHES"},
    [MCP_OPTION_TIMEOUT] = {.name = "timeout",
                            .type = OPTION_DURATION,
                            .env = "GATEHOUSE_TIMEOUT",
                            .min = 100,
                            .max = 24 * 60 * 60 * INT64_C(1000),
                            .fallback = "60s",
                            .help =
                                "time limit of a call; a question to you has 5 minutes of its own"},
    [MCP_OPTION_HTTP] = {.name = "http",
                         .type = OPTION_TEXT,
                         .placeholder = "ADDRESS",
                         .help = "listen for HTTP clients on this machine, like 127.0.0.1:7650, "
                                 "and print the key they need"},
    [MCP_OPTION_STATE_DIR] = {SHARED_STATE_DIR},
    [MCP_OPTION_LOG_LEVEL] = {.name = "log-level",
                              .type = OPTION_CHOICE,
                              .choices = shared_levels,
                              .env = "GATEHOUSE_LOG_LEVEL",
                              .fallback = "warn",
                              .help = "how much to log to stderr"},
    [MCP_OPTION_PRINT_CONFIG] = {.name = "print-config",
                                 .type = OPTION_CHOICE,
                                 .choices = clients,
                                 .placeholder = "CLIENT",
                                 .help = "print the settings for this client, and exit"},
};

const struct option_argument mcp_arguments[MCP_ARGUMENTS] = {
    [MCP_ARGUMENT_DIR] = {.name = "DIR",
                          .type = OPTION_DIR,
                          .is_optional = true,
                          .help = "the folder (default: the current one)"},
};
