/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a tool as clients get it: MCP's CallToolResult, which the gateway uses too. */
#ifndef PROTOCOL_TOOLRESULT_H
#define PROTOCOL_TOOLRESULT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/*
 * Appends a whole CallToolResult around finished JSON: `text` as the text block,
 * `structured` as structuredContent (empty: none).
 */
int toolresult_write(struct buf *out, struct str text, struct str structured, bool is_error);

/*
 * Whether a result is an error; then *out_err has its message. Long results never count as errors.
 */
bool toolresult_is_error(struct str result, struct err *out_err);

/* {"error": message} as text. */
int toolresult_write_error(const struct err *err, struct buf *out);

#endif
