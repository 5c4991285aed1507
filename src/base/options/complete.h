/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes completion scripts for bash, zsh and fish from a program's tables. A script knows the
 * whole tree of commands. It runs the program only for names of things that there are, which the
 * program prints as the first words of lines.
 */
#ifndef BASE_OPTIONS_COMPLETE_H
#define BASE_OPTIONS_COMPLETE_H

#include "base/buf.h"
#include "base/options/options.h"

enum option_shell {
    OPTION_BASH,
    OPTION_ZSH,
    OPTION_FISH,
};

/* Appends the script. Returns 0, ERR_TOO_LARGE or ERR_NO_MEMORY. */
int options_complete(const struct option_command *program, enum option_shell shell,
                     struct buf *out);

#endif
