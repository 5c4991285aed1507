/* SPDX-License-Identifier: Apache-2.0 */
/* The tools for web pages: the family "browser" of the catalogue. */
#ifndef BROWSER_BROWSERTOOLS_H
#define BROWSER_BROWSERTOOLS_H

#include "browser/client.h"
#include "call/executor.h"
#include "gatehouse/authority.h"
#include "permission/rules/keeper.h"
#include "protocol/toolresult.h"

struct browser_tools;

/* Who can create a credential at a server. */
struct browser_credentials {
    /* Takes the body over; `done` comes once, unless it is cancelled. */
    int (*create)(void *data, struct buf *body,
                  void (*done)(void *context, const struct err *err, struct str id), void *context,
                  void **out_handle, struct err *err);
    void (*cancel)(void *handle);
    void *data;
};

struct browser_tools_config {
    struct browser_client *client;
    struct loop *loop;
    struct keeper *keeper;            /* the rules, which pages obey too */
    enum toolresult_form form;        /* of results and errors */
    struct authority_scope *recorded; /* where its audit records go; NULL: none are written */
    /* As in --browser-default, or NULL; must outlive it. */
    const char *default_browser;
    const char *staging_dir; /* as the client has it; NULL or empty: no uploads, no downloads */
    const struct browser_credentials *credentials; /* must outlive it; NULL: there is no server */
    /* What no page reaches, whatever the rules say. */
    uint16_t own_port;       /* of this machine, where we listen; 0: nowhere */
    const char *server_host; /* that we serve; NULL: none */
    uint16_t server_port;
};

int browser_tools_new(const struct browser_tools_config *config, struct browser_tools **out_tools,
                      struct err *err);
/*
 * Before the first call: lets pages of file: addresses show what this executor reads. Relative ones
 * begin in first_dir, which must outlive the tools. Without this there are no such pages.
 */
void browser_tools_use_files(struct browser_tools *tools, struct executor *files,
                             const char *first_dir);
/* Before that executor ends. Both do nothing without tools. */
void browser_tools_drop_files(struct browser_tools *tools);
/* Before the loop is freed. */
void browser_tools_free(struct browser_tools *tools);

/* Whether such a session offers the tool of this family. */
bool browser_tools_offer(const struct catalog_tool *tool, bool has_staging, bool has_server);

/* Works on a struct browser_tools, or on NULL: then no tool is offered. */
extern const struct provider browser_provider;

#endif
