/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command's own program, called by itself: what the front door has for all its
 * commands, --help and --version, it then has too.
 */
#ifndef CLI_ALONE_H
#define CLI_ALONE_H

#include "base/options/options.h"

/* From the arguments and the environment. The values live in the arena. */
int alone_read_options(struct arena *arena, const struct option_command *command, int argc,
                       char *const *argv, struct option_values **out_values, struct err *err);

/* Whether it is only to tell about itself, and that, on standard output. */
bool alone_is_asked_about_itself(const struct option_values *values);
int alone_tell_about_itself(const struct option_values *values, struct err *err);

#endif
