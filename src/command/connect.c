/* SPDX-License-Identifier: Apache-2.0 */
#include "command/connect.h"

#include "command/shared.h"

static const char *const askers[] = {[CONNECT_CONFIRM_CLIENT] = "client",
                                     [CONNECT_CONFIRM_INSTANCE] = "instance",
                                     [CONNECT_CONFIRM_INSTANCE + 1] = NULL};
const struct option connect_options[CONNECT_OPTIONS] = {
    [CONNECT_OPTION_DIR] = {.name = "filesystem-dir",
                            .alias = "dir",
                            .type = OPTION_DIR,
                            .env = "N8N_GATEWAY_FILESYSTEM_DIR",
                            .help = "the folder; that of the settings if not given, or the "
                                    "current one"},
    [CONNECT_OPTION_MAX_FILE_SIZE] = {SHARED_MAX_FILE_SIZE, .env = "GATEHOUSE_MAX_FILE_SIZE"},
    [CONNECT_OPTION_MAX_LINES] = {SHARED_MAX_LINES, .env = "GATEHOUSE_MAX_LINES"},
    [CONNECT_OPTION_STATE_DIR] = {SHARED_STATE_DIR},
    [CONNECT_OPTION_SETTINGS_DIR] = {.name = "settings-dir",
                                     .type = OPTION_DIR,
                                     .env = "GATEHOUSE_SETTINGS_DIR",
                                     .help = "where the settings and the user's rules are kept; "
                                             "~/.n8n-gateway if not given"},
    [CONNECT_OPTION_LOG_LEVEL] = {.name = "log-level",
                                  .type = OPTION_CHOICE,
                                  .choices = shared_levels,
                                  .env = "N8N_GATEWAY_LOG_LEVEL",
                                  .help = "how much is told on standard error; info if neither "
                                          "this nor the settings say it"},
    [CONNECT_OPTION_KEEP_SESSION] = {.name = "keep-session",
                                     .env = "GATEHOUSE_KEEP_SESSION",
                                     .help = "go on with the session at the next start after "
                                             "SIGTERM, as under a service manager"},
    [CONNECT_OPTION_LOG_FILE] = {.name = "log-file",
                                 .fallback = "yes",
                                 .env = "GATEHOUSE_LOG_FILE",
                                 .help = "keep what is told in the state directory as well"},
    [CONNECT_OPTION_NOTIFICATIONS] = {.name = "notifications",
                                      .fallback = "yes",
                                      .env = "GATEHOUSE_NOTIFICATIONS",
                                      .help = "say on the desktop that a question waits in the "
                                              "terminal"},
    [CONNECT_OPTION_CA_FILE] = {.name = "ca-file",
                                .type = OPTION_PATH,
                                .env = "GATEHOUSE_CA_FILE",
                                .placeholder = "FILE",
                                .help = "certificates (PEM) of authorities to trust, besides the "
                                        "system's"},
    [CONNECT_OPTION_PORT] = {.name = "port",
                             .type = OPTION_INT,
                             .min = 0,
                             .max = 65535,
                             .fallback = "7655",
                             .env = "N8N_GATEWAY_PORT",
                             .group = "Local port",
                             .help = "where pages of the server find this machine, on 127.0.0.1; "
                                     "0 lets the system choose"},
    [CONNECT_OPTION_ALLOWED_ORIGINS] = {.name = "allowed-origins",
                                        .type = OPTION_LIST,
                                        .placeholder = "ORIGIN",
                                        .group = "Local port",
                                        .help = "other pages that may ask to connect, and to their "
                                                "servers, like https://*.n8n.example; repeatable "
                                                "or with commas"},
    [CONNECT_OPTION_WRITE_ACCESS] = {.name = "filesystem-write-access",
                                     .env = "N8N_GATEWAY_FILESYSTEM_WRITE_ACCESS",
                                     .group = "Consent",
                                     .help = "let files be changed, as far as the permission says; "
                                             "without it, only reading"},
    [CONNECT_OPTION_PERMISSION_READ] = {.name = "permission-filesystem-read",
                                        .type = OPTION_CHOICE,
                                        .choices = shared_modes,
                                        .env = "N8N_GATEWAY_PERMISSION_FILESYSTEM_READ",
                                        .group = "Consent",
                                        .help = "whether tools may look at files; allow if not "
                                                "given"},
    [CONNECT_OPTION_PERMISSION_WRITE] = {.name = "permission-filesystem-write",
                                         .type = OPTION_CHOICE,
                                         .choices = shared_modes,
                                         .env = "N8N_GATEWAY_PERMISSION_FILESYSTEM_WRITE",
                                         .group = "Consent",
                                         .help = "the same for changing them; ask and allow switch "
                                                 "write access on"},
    [CONNECT_OPTION_PERMISSION_SHELL] = {.name = "permission-shell",
                                         .type = OPTION_CHOICE,
                                         .choices = shared_modes,
                                         .env = "N8N_GATEWAY_PERMISSION_SHELL",
                                         .group = "Consent",
                                         .help = "the same for commands, each in a box: the "
                                                 "folder, and the system read-only without your "
                                                 "secrets; deny if not given"},
    [CONNECT_OPTION_PERMISSION_COMPUTER] = {.name = "permission-computer",
                                            .type = OPTION_CHOICE,
                                            .choices = shared_modes,
                                            .env = "N8N_GATEWAY_PERMISSION_COMPUTER",
                                            .group = "Consent",
                                            .help = "the same for the screen; deny if not given"},
    [CONNECT_OPTION_PERMISSION_BROWSER] = {.name = "permission-browser",
                                           .type = OPTION_CHOICE,
                                           .choices = shared_modes,
                                           .env = "N8N_GATEWAY_PERMISSION_BROWSER",
                                           .group = "Consent",
                                           .help = "the same for a browser; ask if not given"},
    [CONNECT_OPTION_CONFIRMATION] = {.name = "permission-confirmation",
                                     .type = OPTION_CHOICE,
                                     .choices = askers,
                                     .env = "N8N_GATEWAY_PERMISSION_CONFIRMATION",
                                     .group = "Consent",
                                     .help = "who asks the user: this terminal (client) or the "
                                             "server's page (instance); client on a terminal if "
                                             "not given, else instance; client and "
                                             "--non-interactive: nobody, ask means deny"},
    [CONNECT_OPTION_AUTO_CONFIRM] = {.name = "auto-confirm",
                                     .env = "N8N_GATEWAY_AUTO_CONFIRM",
                                     .group = "Consent",
                                     .help = "connect without asking first"},
    [CONNECT_OPTION_NON_INTERACTIVE] = {.name = "non-interactive",
                                        .env = "N8N_GATEWAY_NON_INTERACTIVE",
                                        .group = "Consent",
                                        .help = "ask nothing on the terminal, neither before "
                                                "connecting nor before calls"},
    [CONNECT_OPTION_SHELL_NETWORK] = {SHARED_SHELL_NETWORK},
    [CONNECT_OPTION_SHELL_WRITABLE] = {SHARED_SHELL_WRITABLE},
    [CONNECT_OPTION_SHELL_TIMEOUT] = {SHARED_SHELL_TIMEOUT},
    [CONNECT_OPTION_SHELL_OPEN] = {SHARED_SHELL_OPEN,
                                   .env = "N8N_GATEWAY_DANGEROUSLY_DISABLE_SHELL_SANDBOX"},
};

const struct option_argument connect_arguments[CONNECT_ARGUMENTS] = {
    [CONNECT_ARGUMENT_URL] = {.name = "URL",
                              .type = OPTION_TEXT,
                              .help = "the server, like https://n8n.example"},
    [CONNECT_ARGUMENT_TOKEN] = {.name = "TOKEN",
                                .type = OPTION_TEXT,
                                .is_optional = true,
                                .is_secret = true,
                                .help = "the pairing token that the server shows; without "
                                        "one its page brings it over the local port"},
    [CONNECT_ARGUMENT_DIR] = {.name = "DIR",
                              .type = OPTION_DIR,
                              .is_optional = true,
                              .help = "the folder, as with --filesystem-dir"},
};
