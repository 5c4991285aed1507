/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/serve.h"

#include "cli/shared.h"

const struct option serve_options[SERVE_OPTIONS] = {
    [SERVE_OPTION_LISTEN] = {.name = "listen",
                             .type = OPTION_TEXT,
                             .env = "GATEHOUSE_LISTEN",
                             .placeholder = "ADDRESS",
                             .fallback = "127.0.0.1:7654",
                             .help = "address and port to listen on; other machines reach it "
                                     "only with TLS or --behind-proxy"},
    [SERVE_OPTION_PUBLIC_URL] = {.name = "public-url",
                                 .type = OPTION_TEXT,
                                 .env = "GATEHOUSE_PUBLIC_URL",
                                 .placeholder = "URL",
                                 .help = "how others reach this server, like "
                                         "https://gate.example"},
    [SERVE_OPTION_TLS_CERT] = {.name = "tls-cert",
                               .type = OPTION_PATH,
                               .env = "GATEHOUSE_TLS_CERT",
                               .placeholder = "FILE",
                               .help = "certificate and intermediate ones (PEM), for HTTPS; read "
                                       "again when it changes"},
    [SERVE_OPTION_TLS_KEY] = {.name = "tls-key",
                              .type = OPTION_PATH,
                              .env = "GATEHOUSE_TLS_KEY",
                              .placeholder = "FILE",
                              .help = "the certificate's key (PEM)"},
    [SERVE_OPTION_BEHIND_PROXY] = {.name = "behind-proxy",
                                   .env = "GATEHOUSE_BEHIND_PROXY",
                                   .help = "listen for other machines without TLS: a reverse "
                                           "proxy in the same network provides it"},
    [SERVE_OPTION_TRUSTED_PROXY] = {.name = "trusted-proxy",
                                    .type = OPTION_LIST,
                                    .env = "GATEHOUSE_TRUSTED_PROXY",
                                    .placeholder = "ADDRESS",
                                    .help = "believe what the reverse proxy at this address says "
                                            "in X-Forwarded-For and --trusted-header; repeatable"},
    [SERVE_OPTION_TRUSTED_HEADER] = {.name = "trusted-header",
                                     .type = OPTION_TEXT,
                                     .env = "GATEHOUSE_TRUSTED_HEADER",
                                     .placeholder = "NAME",
                                     .help = "header in which a trusted proxy names the user that "
                                             "it has authenticated"},
    [SERVE_OPTION_CREATE_USERS] = {.name = "create-users",
                                   .env = "GATEHOUSE_CREATE_USERS",
                                   .help = "add users that the proxy names and nobody knows; "
                                           "without this they are refused"},
    [SERVE_OPTION_TIMEOUT] = {.name = "timeout",
                              .type = OPTION_DURATION,
                              .env = "GATEHOUSE_CALL_TIMEOUT",
                              .min = 100,
                              .max = 24 * 60 * 60 * INT64_C(1000),
                              .help = "time limit of a call (default: 60s, or 30s for clients of "
                                      "the older protocol)"},
    [SERVE_OPTION_STATE_DIR] = {.name = "state-dir",
                                .type = OPTION_DIR,
                                .env = "GATEHOUSE_STATE_DIR",
                                .help = "directory of the server's state (default: "
                                        "~/.local/state/gatehouse)"},
    [SERVE_OPTION_LOG_LEVEL] = {.name = "log-level",
                                .type = OPTION_CHOICE,
                                .choices = shared_levels,
                                .env = "GATEHOUSE_LOG_LEVEL",
                                .fallback = "warn",
                                .help = "how much to log to stderr"},
    [SERVE_OPTION_LOG_FORMAT] = {SHARED_LOG_FORMAT},
    [SERVE_OPTION_CONFIG] = {.name = "config",
                             .type = OPTION_PATH,
                             .is_file = true,
                             .env = "GATEHOUSE_CONFIG",
                             .placeholder = "FILE",
                             .help = "read options from FILE, a line for each: name = value"},
};
