/* SPDX-License-Identifier: Apache-2.0 */
/* Which browsers this machine has. */
#ifndef BROWSER_INSTALLED_H
#define BROWSER_INSTALLED_H

#include "base/str.h"

/*
 * The program of "chromium", "chrome", "brave" or "edge"; an empty name is the first one there is.
 * NULL: not installed. It is never a script, which would read settings of its own.
 */
const char *browser_installed(struct str name);

#endif
