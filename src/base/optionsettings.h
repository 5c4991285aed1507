/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options from a settings document that somebody else has read and parsed. A
 * row's key is a path: "permissions.shell" is {"permissions":{"shell":...}}.
 */
#ifndef BASE_OPTIONSETTINGS_H
#define BASE_OPTIONSETTINGS_H

#include <stdbool.h>

#include "base/json.h"
#include "base/options.h"

/* True to accept a key that is in no table. The key is made printable and cut. */
typedef bool option_unknown_fn(void *context, const char *key, const struct json_value *value);

/*
 * Texts are copied, so the document may go. Keys of commands that were not
 * named are known, and left alone. An empty string counts as not set. Without
 * `unknown`, a key that is in no table is an error. Errors are those of
 * options_read_args(); err.field is the dotted key.
 */
int options_read_settings(struct option_values *values, const struct json_value *document,
                          option_unknown_fn *unknown, void *context, struct err *err);

#endif
