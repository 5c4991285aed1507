/* SPDX-License-Identifier: Apache-2.0 */
/* `gatehouse mcp --print-config`: the words that make a client start us. */
#ifndef PROGRAMS_GATEHOUSE_CONFIG_H
#define PROGRAMS_GATEHOUSE_CONFIG_H

#include "base/buf.h"
#include "base/options/options.h"

/*
 * `program` is how the client is to start us. The values are those of the
 * command, which the client's words repeat; `directory` is absolute.
 */
int config_print(const struct option_values *values, const char *program, const char *directory,
                 struct buf *out, struct err *err);

#endif
