/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/connect.h"

#include "cli/shared.h"

static const char *const askers[] = {[CONNECT_CONFIRM_CLIENT] = "client",
                                     [CONNECT_CONFIRM_INSTANCE] = "instance",
                                     [CONNECT_CONFIRM_INSTANCE + 1] = NULL};
const struct option connect_options[CONNECT_OPTIONS] = {
    [CONNECT_OPTION_URL] = {.name = "url",
                            .type = OPTION_TEXT,
                            .placeholder = "URL",
                            .help = "the server, instead of the argument"},
    [CONNECT_OPTION_API_KEY] = {.name = "api-key",
                                .type = OPTION_TEXT,
                                .is_secret = true,
                                .placeholder = "TOKEN",
                                .help = "the pairing token, instead of the argument"},
    [CONNECT_OPTION_DIR] =
        {.name = "filesystem-dir",
         .alias = "dir",
         .letter = 'd',
         .type = OPTION_DIR,
         .env = "GATEHOUSE_FILESYSTEM_DIR",
         .old_env = "N8N_GATEWAY_FILESYSTEM_DIR",
         .help = "the folder (default: the one in the settings, or the current one)"},
    [CONNECT_OPTION_RO] = {SHARED_RO},
    [CONNECT_OPTION_RW] = {SHARED_RW},
    [CONNECT_OPTION_DENY] = {SHARED_DENY},
    [CONNECT_OPTION_ALLOW] = {SHARED_ALLOW},
    [CONNECT_OPTION_HARD_LINKS] = {SHARED_HARD_LINKS},
    [CONNECT_OPTION_MAX_FILE_SIZE] = {SHARED_MAX_FILE_SIZE, .env = "GATEHOUSE_MAX_FILE_SIZE"},
    [CONNECT_OPTION_MAX_LINES] = {SHARED_MAX_LINES, .env = "GATEHOUSE_MAX_LINES"},
    [CONNECT_OPTION_STATE_DIR] = {SHARED_STATE_DIR},
    [CONNECT_OPTION_AUDIT_SYNC] = {SHARED_AUDIT_SYNC},
    [CONNECT_OPTION_SETTINGS_DIR] =
        {.name = "settings-dir",
         .type = OPTION_DIR,
         .env = "GATEHOUSE_SETTINGS_DIR",
         .help = "directory of the settings and your rules (default: ~/.n8n-gateway)"},
    [CONNECT_OPTION_LOG_LEVEL] =
        {.name = "log-level",
         .type = OPTION_CHOICE,
         .choices = shared_levels,
         .env = "GATEHOUSE_LOG_LEVEL",
         .old_env = "N8N_GATEWAY_LOG_LEVEL",
         .help = "how much to log to stderr (default: as in the settings, or info)"},
    [CONNECT_OPTION_KEEP_SESSION] =
        {.name = "keep-session",
         .env = "GATEHOUSE_KEEP_SESSION",
         .help = "after SIGTERM, resume the session at the next start, as under a service manager"},
    [CONNECT_OPTION_LOG_FILE] = {.name = "log-file",
                                 .fallback = "yes",
                                 .env = "GATEHOUSE_LOG_FILE",
                                 .help = "also write the log to a file in the state directory"},
    [CONNECT_OPTION_NOTIFICATIONS] =
        {.name = "notifications",
         .fallback = "yes",
         .env = "GATEHOUSE_NOTIFICATIONS",
         .help = "show a desktop notification when a question waits in the terminal"},
    [CONNECT_OPTION_CA_FILE] =
        {.name = "ca-file",
         .type = OPTION_PATH,
         .env = "GATEHOUSE_CA_FILE",
         .placeholder = "FILE",
         .help = "trust the certificate authorities in FILE (PEM) besides the system's"},
    [CONNECT_OPTION_PORT] =
        {.name = "port",
         .type = OPTION_INT,
         .min = 0,
         .max = 65535,
         .fallback = "7655",
         .env = "GATEHOUSE_PORT",
         .old_env = "N8N_GATEWAY_PORT",
         .group = "Local port",
         .help =
             "port on 127.0.0.1 where the server's page finds this machine; 0 picks a free one"},
    [CONNECT_OPTION_ALLOWED_ORIGINS] =
        {.name = "allowed-origins",
         .type = OPTION_LIST,
         .placeholder = "ORIGIN",
         .group = "Local port",
         .help = "let pages of ORIGIN, like https://*.n8n.example, ask to connect to their "
                 "servers; repeatable or comma-separated"},
    [CONNECT_OPTION_WRITE_ACCESS] = {.name = "filesystem-write-access",
                                     .env = "GATEHOUSE_FILESYSTEM_WRITE_ACCESS",
                                     .old_env = "N8N_GATEWAY_FILESYSTEM_WRITE_ACCESS",
                                     .group = "Consent",
                                     .help = "let the agent change files, as far as the permission "
                                             "allows; without this, it can only read"},
    [CONNECT_OPTION_PERMISSION_READ] = {.name = "permission-filesystem-read",
                                        .type = OPTION_CHOICE,
                                        .choices = shared_modes,
                                        .env = "GATEHOUSE_PERMISSION_FILESYSTEM_READ",
                                        .old_env = "N8N_GATEWAY_PERMISSION_FILESYSTEM_READ",
                                        .group = "Consent",
                                        .help = "reading files (default: allow)"},
    [CONNECT_OPTION_PERMISSION_WRITE] = {.name = "permission-filesystem-write",
                                         .type = OPTION_CHOICE,
                                         .choices = shared_modes,
                                         .env = "GATEHOUSE_PERMISSION_FILESYSTEM_WRITE",
                                         .old_env = "N8N_GATEWAY_PERMISSION_FILESYSTEM_WRITE",
                                         .group = "Consent",
                                         .help =
                                             "changing files; ask and allow turn on write access"},
    [CONNECT_OPTION_SENSITIVE] = {SHARED_SENSITIVE},
    [CONNECT_OPTION_AUTORUN] = {SHARED_AUTORUN},
    [CONNECT_OPTION_PERMISSION_SHELL] =
        {.name = "permission-shell",
         .type = OPTION_CHOICE,
         .choices = shared_modes,
         .env = "GATEHOUSE_PERMISSION_SHELL",
         .old_env = "N8N_GATEWAY_PERMISSION_SHELL",
         .group = "Consent",
         .help = "running commands, each in a sandbox that sees the folder and a read-only system "
                 "without your secrets (default: deny)"},
    [CONNECT_OPTION_PERMISSION_COMPUTER] =
        {.name = "permission-computer",
         .type = OPTION_CHOICE,
         .choices = shared_modes,
         .env = "GATEHOUSE_PERMISSION_COMPUTER",
         .old_env = "N8N_GATEWAY_PERMISSION_COMPUTER",
         .group = "Consent",
         .help = "seeing the screen, using mouse and keyboard (default: "
                 "deny)"},
    [CONNECT_OPTION_PERMISSION_BROWSER] = {.name = "permission-browser",
                                           .type = OPTION_CHOICE,
                                           .choices = shared_modes,
                                           .env = "GATEHOUSE_PERMISSION_BROWSER",
                                           .old_env = "N8N_GATEWAY_PERMISSION_BROWSER",
                                           .group = "Consent",
                                           .help = "using a browser (default: ask)"},
    [CONNECT_OPTION_BROWSER] = {.name = "browser",
                                .fallback = "yes",
                                .group = "Consent",
                                .help = "tools for web pages, in a browser of their own"},
    [CONNECT_OPTION_BROWSER_DEFAULT] = {SHARED_BROWSER_DEFAULT},
    [CONNECT_OPTION_BROWSER_HEADLESS] = {SHARED_BROWSER_HEADLESS},
    [CONNECT_OPTION_CONFIRMATION] =
        {.name = "permission-confirmation",
         .type = OPTION_CHOICE,
         .choices = askers,
         .env = "GATEHOUSE_PERMISSION_CONFIRMATION",
         .old_env = "N8N_GATEWAY_PERMISSION_CONFIRMATION",
         .group = "Consent",
         .help = "who asks you: this terminal (client) or the server's page (instance); client by "
                 "default on a terminal, instance elsewhere; with client and --non-interactive, "
                 "ask means deny"},
    [CONNECT_OPTION_REMOTE_ALWAYS] =
        {.name = "allow-remote-always",
         .env = "GATEHOUSE_ALLOW_REMOTE_ALWAYS",
         .group = "Consent",
         .help = "offer \"always\" on the server's page too, and let it remove deny rules"},
    [CONNECT_OPTION_AUTO_CONFIRM] = {.name = "auto-confirm",
                                     .env = "GATEHOUSE_AUTO_CONFIRM",
                                     .old_env = "N8N_GATEWAY_AUTO_CONFIRM",
                                     .group = "Consent",
                                     .help = "connect without asking first"},
    [CONNECT_OPTION_NON_INTERACTIVE] =
        {.name = "non-interactive",
         .env = "GATEHOUSE_NON_INTERACTIVE",
         .old_env = "N8N_GATEWAY_NON_INTERACTIVE",
         .group = "Consent",
         .help = "never ask on the terminal, neither before connecting nor before calls"},
    [CONNECT_OPTION_SHELL_NETWORK] = {SHARED_SHELL_NETWORK},
    [CONNECT_OPTION_SHELL_DOMAIN] = {SHARED_SHELL_DOMAIN},
    [CONNECT_OPTION_SHELL_WRITABLE] = {SHARED_SHELL_WRITABLE},
    [CONNECT_OPTION_SHELL_READABLE] = {SHARED_SHELL_READABLE},
    [CONNECT_OPTION_SHELL_ENV] = {SHARED_SHELL_ENV},
    [CONNECT_OPTION_SHELL_TIMEOUT] = {SHARED_SHELL_TIMEOUT},
    [CONNECT_OPTION_SHELL_OPEN] = {SHARED_SHELL_OPEN,
                                   .env = "GATEHOUSE_DANGEROUSLY_DISABLE_SHELL_SANDBOX",
                                   .old_env = "N8N_GATEWAY_DANGEROUSLY_DISABLE_SHELL_SANDBOX"},
};

const struct option_argument connect_arguments[CONNECT_ARGUMENTS] = {
    [CONNECT_ARGUMENT_URL] = {.name = "URL",
                              .type = OPTION_TEXT,
                              .instead = "url",
                              .help = "the server, like https://n8n.example"},
    [CONNECT_ARGUMENT_TOKEN] = {.name = "TOKEN",
                                .type = OPTION_TEXT,
                                .is_optional = true,
                                .is_secret = true,
                                .help = "the pairing token the server shows; without one, its page "
                                        "sends it through the local port"},
    [CONNECT_ARGUMENT_DIR] = {.name = "DIR",
                              .type = OPTION_DIR,
                              .is_optional = true,
                              .help = "the folder, as with --filesystem-dir"},
};

const char *connect_url(const struct option_values *values)
{
    const char *given = options_argument(values, CONNECT_ARGUMENT_URL);

    return given != NULL ? given : options_text(values, CONNECT_OPTION_URL);
}

const char *connect_token(const struct option_values *values)
{
    return values->argument_count > 0 ? options_argument(values, CONNECT_ARGUMENT_TOKEN)
                                      : options_text(values, CONNECT_OPTION_API_KEY);
}
