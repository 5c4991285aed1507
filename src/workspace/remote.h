/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the providers have in common that are services: their calls by HTTP (web.h), ids and lists
 * in their answers, and finding out whether a sandbox is there.
 */
#ifndef WORKSPACE_REMOTE_H
#define WORKSPACE_REMOTE_H

#include "workspace/internal.h"
#include "workspace/web.h"

enum { REMOTE_ARENA_BYTES = 2 * WEB_MAX_ANSWER_BYTES };

/* The service of the settings; `own` finds it instead, or is NULL. */
int remote_open(const struct workspaces *workspaces, const struct ownservice_config *own,
                struct web **out_web, struct err *err);

/* A call at the service. */
struct remote_call {
    struct workspace_call *call;
    struct web_request request;
    struct arena arena; /* of the answer */
    struct err refused; /* the 404 that is looked into */
};

void remote_call_init(struct remote_call *remote, struct workspace_call *call, struct web *web);
/* Drops the request, and frees what the answer may point to. */
void remote_call_done(struct remote_call *remote);

/* After a 404: asks whether the sandbox is there, by the target of its record. */
void remote_look(struct remote_call *remote, const char *kind, const struct err *refused);

/* Only what an id may have, so that it stays one part of a path. */
bool remote_is_id(struct str text);

/* Milliseconds since 1970; 0: unknown. */
int64_t remote_time(const struct json_value *object, struct str key);

/* Reads one entry; false if it makes no sense. */
typedef bool remote_entry_fn(const struct json_value *object, bool is_listed,
                             struct workspace_entry *out_entry);
/* The answer of a list, or of a stat. */
int remote_read_entries(struct remote_call *remote, struct str body, remote_entry_fn *read,
                        struct err *err);

#endif
