/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The variables that a command in a box gets: those that say where things are and how the user
 * likes them, and none that opens something. What is not on the list is left out; a person names
 * what else is wanted.
 */
#ifndef ISOLATE_ENVIRONMENT_H
#define ISOLATE_ENVIRONMENT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

enum { ENVIRONMENT_MAX = 200 };

/* "NAME=value", and whether its name, or a password in the address of a proxy, says so. */
bool environment_is_secret(const char *variable);

/* "NAME=value", and whether it is on the list and does not look like a secret. */
bool environment_is_kept(const char *variable);

/*
 * Of `from`, what is kept, with a PATH and a TMPDIR in any case; then `more`, each NAME=value, or
 * NAME for what `from` has under it. A later one replaces an earlier. Of the PATH of `from`, the
 * absolute directories alone. ERR_TOO_LARGE past ENVIRONMENT_MAX.
 */
int environment_clean(struct arena *arena, char *const *from, const char *const *more,
                      const char *const **out_env, struct err *err);

#endif
