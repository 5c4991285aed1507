/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment variables of a sandboxed command: those that tell where things are and the user's
 * preferences, and none that grants access. It is an allow list; the user names additional ones.
 */
#ifndef ISOLATE_ENVIRONMENT_H
#define ISOLATE_ENVIRONMENT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum { ENVIRONMENT_MAX = 200 };

/* Whether the name of "NAME=value", or a password in a proxy's URL, indicates a secret. */
bool environment_is_secret(const char *variable);

/* Whether "NAME=value" is on the list and does not look like a secret. */
bool environment_is_kept(const char *variable);

/*
 * For what a user gives as `option`, up to a NULL: ERR_INVALID_OPTION unless each is NAME=value, or
 * the NAME of a variable of `from`, with a name that a shell can use. The message has no value.
 */
int environment_check(const char *option, const char *const *given, char *const *from,
                      struct err *err);

/*
 * Both lists, each up to a NULL or NULL itself, as `more` of environment_clean(): what is in `then`
 * wins. The strings are not copied. NULL: no memory.
 */
const char *const *environment_join(struct arena *arena, const char *const *first,
                                    const char *const *then);

/*
 * Appends the text with the values of such a list, or NULL, replaced by REDACT_MARK: they may be
 * secrets. Short ones stay, which are words that stand anywhere.
 */
int environment_hide(const char *const *given, char *const *from, struct str text, struct buf *out);

/*
 * Keeps the listed variables of `from`, with a PATH and a TMPDIR in any case; then adds `more`,
 * each NAME=value, or NAME to take its value from `from`. Later ones replace earlier ones. Of the
 * PATH in `from`, only absolute directories are kept. ERR_TOO_LARGE beyond ENVIRONMENT_MAX.
 */
int environment_clean(struct arena *arena, char *const *from, const char *const *more,
                      const char *const **out_env, struct err *err);

#endif
