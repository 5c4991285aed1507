/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The working half of gatehouse-browser: takes calls from the front end and does them in a browser.
 * It is confined: it can open no files, start nothing and reach nothing but the front end, its
 * keeper (browser/keeper.h), and the browser that the keeper hands it.
 */
#ifndef BROWSER_HOST_H
#define BROWSER_HOST_H

#include "base/err.h"

struct browser_host_config {
    int front_fd;
    int keeper_fd;
};

/* Serves until the front end closes. Starts threads. */
int browser_host_serve(const struct browser_host_config *config, struct err *err);

#endif
