/* SPDX-License-Identifier: Apache-2.0 */
/* The tools for screen, mouse and keyboard: the family "screen" of the catalogue. */
#ifndef SCREEN_SCREENTOOLS_H
#define SCREEN_SCREENTOOLS_H

#include "call/openquestions.h"
#include "call/provider.h"
#include "gatehouse/authority.h"
#include "protocol/toolresult.h"
#include "screen/client.h"

struct screen_tools;

struct screen_tools_config {
    struct screen_client *client;
    enum toolresult_form form;        /* of results and errors */
    struct authority_scope *recorded; /* where its audit records go; NULL: none are written */
    /* While one is open, no input is given: an agent must not answer it. NULL: none ever are. */
    struct open_questions *questions;
};

int screen_tools_new(const struct screen_tools_config *config, struct screen_tools **out_tools,
                     struct err *err);
void screen_tools_free(struct screen_tools *tools);

/* Works on a struct screen_tools, or on NULL: then no tool is offered. */
extern const struct provider screen_provider;

#endif
