/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of gatehouse-webproxy, which only our own programs start. */
#ifndef CLI_WEBPROXY_H
#define CLI_WEBPROXY_H

#include "base/options/options.h"
#include "cli/programs.h"

enum { WEBPROXY_ARGUMENTS = 1 };

extern const struct option_argument webproxy_arguments[WEBPROXY_ARGUMENTS];

/* As a row of a table. */
#define WEBPROXY_COMMAND                                                                           \
    {                                                                                              \
        .name = "webproxy", .summary = WEBPROXY_SUMMARY, .arguments = webproxy_arguments,          \
        .argument_count = WEBPROXY_ARGUMENTS                                                       \
    }

#endif
