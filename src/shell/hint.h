/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a command may have failed in its sandbox: programs only say "no such file" or "could not
 * resolve host", and a client that does not know the sandbox tries the same thing in other ways.
 */
#ifndef SHELL_HINT_H
#define SHELL_HINT_H

#include "base/buf.h"
#include "base/str.h"
#include "shell/shell.h"

/*
 * Looks for a reason at the end of what a failed command printed. Appends one or two sentences
 * that name the option with which the user can allow it; nothing if the sandbox is not the reason.
 */
int hint_find(const struct shell_sandbox *sandbox, struct str printed, struct buf *out);

/*
 * The same for a command that did not fail, but names a file that it sees empty, or is one of git
 * that compares or takes such files.
 */
int hint_find_named(const struct shell_sandbox *sandbox, struct str command, struct str printed,
                    struct buf *out);

#endif
