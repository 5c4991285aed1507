/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts one server into the text of a client's settings, or takes it out. Everything else in the
 * text stays as it is, byte by byte, with its comments and its order. A text that is not understood
 * is ERR_UNSUPPORTED, with the reason and its line.
 */
#ifndef PROGRAMS_MCP_SPLICE_H
#define PROGRAMS_MCP_SPLICE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum { SPLICE_MAX_DEPTH = 64 };

/*
 * JSON, with comments and commas before a closing bracket where the client allows them: sets the
 * member `name` of the member `group`. `value` is JSON with two-space indentation; names need no
 * escapes. An empty text becomes an object. An empty value takes the member out, if it is there.
 */
int splice_json(struct str text, struct str group, struct str name, struct str value,
                struct buf *out, struct err *err);

/*
 * TOML: sets the table [group.name] to the lines of `body`. Tables below it stay. Texts with
 * multi-line strings, and servers written in another form than as tables, are not understood. An
 * empty body takes the table out, and those below it.
 */
int splice_toml(struct str text, struct str group, struct str name, struct str body,
                struct buf *out, struct err *err);

#endif
