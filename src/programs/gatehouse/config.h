/* SPDX-License-Identifier: Apache-2.0 */
/* `gatehouse mcp --print-config`: the configuration with which a client starts us. */
#ifndef PROGRAMS_GATEHOUSE_CONFIG_H
#define PROGRAMS_GATEHOUSE_CONFIG_H

#include "base/buf.h"
#include "base/options/options.h"

/*
 * `program` is the path by which the client shall start us. The configuration repeats the values of
 * the command's options; `directory` is absolute.
 */
int config_print(const struct option_values *values, const char *program, const char *directory,
                 struct buf *out, struct err *err);

#endif
