/* SPDX-License-Identifier: Apache-2.0 */
/*
 * browser_upload has two halves (call/joint.h): the family of files reads the files, with the
 * permission that this needs, and copies them to where the browser sees them; then the page gets
 * the copies.
 */
#ifndef BROWSER_UPLOAD_H
#define BROWSER_UPLOAD_H

#include "base/buf.h"
#include "base/json.h"
#include "protocol/catalog.h"

const struct catalog_tool *browser_upload_first_tool(const struct catalog_tool *tool);
/* Of the first half; `number` is the call's in the audit log. */
int browser_upload_write_arguments(const struct json_value *arguments, uint64_t number,
                                   struct buf *out);
/* Writes the list of the copies, absolute paths; the second half gives them to the page. */
int browser_upload_write_files(const struct json_value *arguments, uint64_t number,
                               const char *staging_dir, struct buf *out);

#endif
