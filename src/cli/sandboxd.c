/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sandboxd.h"

#include "cli/shared.h"

static const char *const nets[] = {
    [SANDBOXD_NET_NONE] = "none", [SANDBOXD_NET_HOST] = "host", [SANDBOXD_NET_HOST + 1] = NULL};

#define DAY_MS (24 * 60 * 60 * INT64_C(1000))

const struct option sandboxd_options[SANDBOXD_OPTIONS] = {
    [SANDBOXD_OPTION_LISTEN] = {.name = "listen",
                                .type = OPTION_TEXT,
                                .env = "GATEHOUSE_SANDBOX_LISTEN",
                                .placeholder = "ADDRESS",
                                .fallback = "127.0.0.1:7656",
                                .help = "address and port to listen on; other machines reach it "
                                        "only with TLS or --behind-proxy"},
    [SANDBOXD_OPTION_PUBLIC_URL] = {.name = "public-url",
                                    .type = OPTION_TEXT,
                                    .env = "GATEHOUSE_SANDBOX_PUBLIC_URL",
                                    .placeholder = "URL",
                                    .help = "how others reach this service, like "
                                            "https://sandboxes.example"},
    [SANDBOXD_OPTION_TLS_CERT] = {.name = "tls-cert",
                                  .type = OPTION_PATH,
                                  .env = "GATEHOUSE_SANDBOX_TLS_CERT",
                                  .placeholder = "FILE",
                                  .help = "certificate and intermediate ones (PEM), for HTTPS; "
                                          "read again when it changes"},
    [SANDBOXD_OPTION_TLS_KEY] = {.name = "tls-key",
                                 .type = OPTION_PATH,
                                 .env = "GATEHOUSE_SANDBOX_TLS_KEY",
                                 .placeholder = "FILE",
                                 .help = "the certificate's key (PEM)"},
    [SANDBOXD_OPTION_BEHIND_PROXY] = {.name = "behind-proxy",
                                      .env = "GATEHOUSE_SANDBOX_BEHIND_PROXY",
                                      .help = "listen for other machines without TLS: a reverse "
                                              "proxy in the same network provides it"},
    [SANDBOXD_OPTION_MAX_SANDBOXES] = {.name = "max-sandboxes",
                                       .type = OPTION_INT,
                                       .env = "GATEHOUSE_SANDBOX_MAX",
                                       .min = 1,
                                       .max = 100000,
                                       .fallback = "1000",
                                       .help = "maximum number of sandboxes"},
    [SANDBOXD_OPTION_DISK_SIZE] = {.name = "disk-size",
                                   .type = OPTION_BYTES,
                                   .env = "GATEHOUSE_SANDBOX_DISK_SIZE",
                                   .min = 16 << 20,
                                   .max = INT64_C(1) << 44,
                                   .help =
                                       "size limit of the files of each new sandbox; needs root "
                                       "or --disk-in-memory (default: none)"},
    [SANDBOXD_OPTION_DISK_IN_MEMORY] = {.name = "disk-in-memory",
                                        .env = "GATEHOUSE_SANDBOX_DISK_IN_MEMORY",
                                        .help = "keep the files of sandboxes in memory, with a "
                                                "limit; they are lost when a sandbox stops"},
    [SANDBOXD_OPTION_KEEP_FREE] = {.name = "keep-free",
                                   .type = OPTION_BYTES,
                                   .env = "GATEHOUSE_SANDBOX_KEEP_FREE",
                                   .max = INT64_MAX,
                                   .help = "end sandboxes that write, and create none, when less "
                                           "is free on their disk; 0 for no such limit (default: "
                                           "1GiB, or 5 % of a small disk)"},
    [SANDBOXD_OPTION_TOTAL_MEMORY] = {.name = "total-memory",
                                      .type = OPTION_BYTES,
                                      .env = "GATEHOUSE_SANDBOX_TOTAL_MEMORY",
                                      .min = 64 << 20,
                                      .max = INT64_MAX,
                                      .help = "memory limit of all sandboxes together (default: "
                                              "80 % of the machine's)"},
    [SANDBOXD_OPTION_TOTAL_PIDS] = {.name = "total-pids",
                                    .type = OPTION_INT,
                                    .env = "GATEHOUSE_SANDBOX_TOTAL_PIDS",
                                    .min = 64,
                                    .max = 1 << 22,
                                    .fallback = "4096",
                                    .help = "limit of processes and threads of all sandboxes "
                                            "together"},
    [SANDBOXD_OPTION_IDLE_STOP] = {.name = "idle-stop",
                                   .type = OPTION_DURATION,
                                   .env = "GATEHOUSE_SANDBOX_IDLE_STOP",
                                   .min = 100,
                                   .max = 366 * DAY_MS,
                                   .fallback = "1h",
                                   .help = "stop a sandbox that was not used for this long; its "
                                           "next use wakes it"},
    [SANDBOXD_OPTION_IDLE_DELETE] = {.name = "idle-delete",
                                     .type = OPTION_DURATION,
                                     .env = "GATEHOUSE_SANDBOX_IDLE_DELETE",
                                     .min = 100,
                                     .max = 366 * DAY_MS,
                                     .fallback = "24h",
                                     .help = "delete a sandbox that was not used for this long"},
    [SANDBOXD_OPTION_EXIT_IDLE] = {.name = "exit-idle",
                                   .type = OPTION_DURATION,
                                   .env = "GATEHOUSE_SANDBOX_EXIT_IDLE",
                                   .min = 100,
                                   .max = 366 * DAY_MS,
                                   .help = "exit when no sandbox runs and nobody has asked for "
                                           "anything for this long (default: never)"},
    [SANDBOXD_OPTION_BUILD_NET] = {.name = "build-net",
                                   .type = OPTION_CHOICE,
                                   .choices = nets,
                                   .env = "GATEHOUSE_SANDBOX_BUILD_NET",
                                   .fallback = "none",
                                   .help =
                                       "network access of the steps that build images; host for "
                                       "steps that download"},
    [SANDBOXD_OPTION_PREVIEW_URL] = {.name = "preview-url",
                                     .type = OPTION_TEXT,
                                     .env = "GATEHOUSE_SANDBOX_PREVIEW_URL",
                                     .placeholder = "URL",
                                     .help =
                                         "serve ports of sandboxes at names below this one, like "
                                         "https://preview.example, so that each has an origin of "
                                         "its own (default: at paths of the service)"},
    [SANDBOXD_OPTION_ALLOW_WEAKER] = {.name = "allow-weaker",
                                      .env = "GATEHOUSE_SANDBOX_ALLOW_WEAKER",
                                      .help = "serve even if this machine cannot isolate as well "
                                              "as usual; every record then says so"},
    [SANDBOXD_OPTION_STATE_DIR] = {.name = "state-dir",
                                   .type = OPTION_DIR,
                                   .env = "GATEHOUSE_STATE_DIR",
                                   .help = "directory of the state and of the sandboxes' files "
                                           "(default: ~/.local/state/gatehouse)"},
    [SANDBOXD_OPTION_LOG_LEVEL] = {.name = "log-level",
                                   .type = OPTION_CHOICE,
                                   .choices = shared_levels,
                                   .env = "GATEHOUSE_LOG_LEVEL",
                                   .fallback = "warn",
                                   .help = "how much to log to stderr"},
};
