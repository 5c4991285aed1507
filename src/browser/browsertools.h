/* SPDX-License-Identifier: Apache-2.0 */
/* The tools for web pages: the family "browser" of the catalogue. */
#ifndef BROWSER_BROWSERTOOLS_H
#define BROWSER_BROWSERTOOLS_H

#include "browser/client.h"
#include "call/provider.h"
#include "gatehouse/authority.h"
#include "permission/rules/keeper.h"
#include "protocol/toolresult.h"

struct browser_tools;

struct browser_tools_config {
    struct browser_client *client;
    struct loop *loop;
    struct keeper *keeper;            /* the rules, which pages obey too */
    enum toolresult_form form;        /* of results and errors */
    struct authority_scope *recorded; /* where its audit records go; NULL: none are written */
    bool is_headless;
    const char *default_browser; /* by name; NULL or empty: the first one there is */
    /* What no page reaches, whatever the rules say. */
    uint16_t own_port;       /* of this machine, where we listen; 0: nowhere */
    const char *server_host; /* that we serve; NULL: none */
    uint16_t server_port;
};

int browser_tools_new(const struct browser_tools_config *config, struct browser_tools **out_tools,
                      struct err *err);
/* Before the loop is freed. */
void browser_tools_free(struct browser_tools *tools);

/* Works on a struct browser_tools, or on NULL: then no tool is offered. */
extern const struct provider browser_provider;

#endif
