/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/webproxy.h"

const struct option_argument webproxy_arguments[WEBPROXY_ARGUMENTS] = {
    {.name = "HOST",
     .type = OPTION_TEXT,
     .is_rest = true,
     .is_optional = true,
     .help = "what commands may reach, like example.com, *.example.com or example.com:8443"},
};
