/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a tool as clients get it: MCP's CallToolResult, which the gateway uses too. */
#ifndef PROTOCOL_TOOLRESULT_H
#define PROTOCOL_TOOLRESULT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* What stands in a result for a tool's object. */
enum toolresult_form {
    TOOLRESULT_JSON, /* the object as text and as structuredContent: the gateway's form */
    TOOLRESULT_BOTH, /* plain text for a model (JSON over 256 KB), and structuredContent */
    TOOLRESULT_TEXT, /* plain text alone */
};

/*
 * Appends a whole CallToolResult: `text` as the text block, `structured`, which is finished JSON,
 * as structuredContent (empty: none).
 */
int toolresult_write(struct buf *out, struct str text, struct str structured, bool is_error);

/* Appends a whole CallToolResult for one JSON object, whose text is made from it. */
int toolresult_write_object(struct buf *out, struct str object, enum toolresult_form form,
                            bool is_error);

/*
 * The same for a tool that knows its plain text, which saves parsing the object: `quoted` is that
 * text as a JSON string, and may be a part of the object.
 */
int toolresult_write_told(struct buf *out, struct str object, struct str quoted,
                          enum toolresult_form form);

/*
 * Whether a result, as written here, is an error; then *out_err has its message, or only the code
 * if it is longer than any that we make.
 */
bool toolresult_is_error(struct str result, struct err *out_err);

/* The message as text, in TOOLRESULT_JSON as {"error": message}. */
int toolresult_write_error(const struct err *err, enum toolresult_form form, struct buf *out);

#endif
