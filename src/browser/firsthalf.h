/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Browser calls with two halves (call/joint.h): the family of files reads files of the user, with
 * the permission that this needs, and then the page gets them. browser_upload copies them to where
 * the browser sees them; a call that opens a file: address makes sure that it may be read.
 */
#ifndef BROWSER_FIRSTHALF_H
#define BROWSER_FIRSTHALF_H

#include "base/buf.h"
#include "base/json.h"
#include "protocol/catalog.h"

/* As struct joint_config has it. */
const struct catalog_tool *browser_first_tool(const struct catalog_tool *tool,
                                              const struct json_value *arguments);
/* Of the first half; `number` is the call's in the audit log. */
int browser_write_first_arguments(const struct json_value *arguments, uint64_t number,
                                  struct buf *out);
/* Writes the list of the copies, absolute paths; the second half gives them to the page. */
int browser_upload_write_files(const struct json_value *arguments, uint64_t number,
                               const char *staging_dir, struct buf *out);

#endif
