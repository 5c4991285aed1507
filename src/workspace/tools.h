/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools of a workspace: the family "workspace" of the catalogue. A front end offers them to an
 * agent instead of those for the machine; gatehouse-workspacehost does them.
 *
 * Rules and questions name what is in a workspace apart from what is on this machine: files as
 * /workspace:PROVIDER/PATH, commands as `workspace:PROVIDER COMMAND`. So a permission for one is
 * never one for the other.
 */
#ifndef WORKSPACE_TOOLS_H
#define WORKSPACE_TOOLS_H

#include "call/provider.h"
#include "gatehouse/authority.h"
#include "protocol/toolresult.h"
#include "workspace/client.h"

struct workspace_tools;

/* Whom a workspace belongs to. Must not change. */
struct workspace_conversation {
    const char *key;                  /* of the workspace */
    struct authority_scope *recorded; /* where audit records go; NULL: none are written */
    unsigned *running; /* counts calls at work: until they have ended, it must stay; or NULL */
};

struct workspace_tools_config {
    struct workspace_client *client;
    struct loop *loop;
    enum workspace_provider provider;
    enum toolresult_form form; /* of results and errors */
    /* NULL: the session of each call is its struct workspace_conversation. */
    const struct workspace_conversation *only;
};

int workspace_tools_new(const struct workspace_tools_config *config,
                        struct workspace_tools **out_tools, struct err *err);
/* With `only`: its workspace is gone, if it had one; the next call says so. */
void workspace_tools_lose(struct workspace_tools *tools);
/* Calls under way must have ended; before the loop is freed. */
void workspace_tools_free(struct workspace_tools *tools);

/* Works on a struct workspace_tools, or on NULL: then no tool is offered. */
extern const struct provider workspace_family;

#endif
