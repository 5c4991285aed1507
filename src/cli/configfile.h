/* SPDX-License-Identifier: Apache-2.0 */
/* The file of options that an option names (is_file), for programs whose table has one. */
#ifndef CLI_CONFIGFILE_H
#define CLI_CONFIGFILE_H

#include "base/options/options.h"

enum { CONFIGFILE_MAX_BYTES = 64 << 10 };

/* Reads it, if one was named. Errors name the file. */
int configfile_read(struct option_values *values, struct err *err);

#endif
