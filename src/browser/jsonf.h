/* SPDX-License-Identifier: Apache-2.0 */
/* Writes small JSON texts by a pattern, as printf() does: the parameters of commands, results. */
#ifndef BROWSER_JSONF_H
#define BROWSER_JSONF_H

#include <stdarg.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"

/*
 * Appends the pattern with values in place of:
 *
 *     %s  struct str, as a JSON string; bytes that are not UTF-8 are replaced
 *     %z  const char *, the same
 *     %d  int64_t
 *     %f  double
 *     %b  bool (as int)
 *     %v  const struct json_value *, or null if it is NULL
 *     %r  struct str of finished JSON
 */
int jsonf(struct buf *out, const char *pattern, ...);
int jsonf_list(struct buf *out, const char *pattern, va_list values);

#endif
