/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the tools of the family "workspace" in a workspace, whatever its provider: what a tool needs
 * of it, one call after the other, and the result as an object.
 */
#ifndef WORKSPACE_PERFORM_H
#define WORKSPACE_PERFORM_H

#include "base/json.h"
#include "protocol/catalog.h"
#include "workspace/workspace.h"

struct performance;

struct perform_events {
    /* A command has written so many bytes by now. */
    void (*on_progress)(void *data, uint64_t bytes);
    /* Once, never from inside perform_begin(): an error, or the result's JSON. */
    void (*on_done)(void *data, const struct err *err, struct str object);
    void *data;
};

/* `tool` is one of workspace_tools; the arguments fit its schema, and are copied as needed. */
int perform_begin(struct workspace *workspace, const struct catalog_tool *tool,
                  const struct json_value *arguments, const struct perform_events *events,
                  struct performance **out_performance, struct err *err);
/* on_done does not come. */
void perform_cancel(struct performance *performance);

#endif
