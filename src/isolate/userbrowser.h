/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's own browser, if it lets itself be debugged: then it has written to the file
 * DevToolsActivePort of its profile where it listens. It is not in a box, and nothing here starts
 * or ends it.
 */
#ifndef ISOLATE_USERBROWSER_H
#define ISOLATE_USERBROWSER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum { USERBROWSER_PATH_BYTES = 96, USERBROWSER_FILE_BYTES = 256 };

struct userbrowser {
    uint16_t port; /* of 127.0.0.1 */
    char path[USERBROWSER_PATH_BYTES];
};

/* The file has two lines: the port, and the path of the WebSocket. */
bool userbrowser_parse(struct str text, struct userbrowser *out_browser);

/*
 * Connects to the user's "chromium", "chrome", "brave" or "edge"; an empty name is the first one
 * that answers. Only files of this user count, and only if a program of this user listens.
 * ERR_NOT_FOUND: none does.
 */
int userbrowser_connect(struct str name, struct userbrowser *out_browser, int *out_fd,
                        struct err *err);

/* A socket on 127.0.0.1 that listens for the user's browser, which comes by itself. */
int userbrowser_listen(uint16_t *out_port, int *out_fd, struct err *err);

#endif
