/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's own browser. If it lets itself be debugged, it has written to the file
 * DevToolsActivePort of its profile where it listens. If it has n8n's extension, it can be asked to
 * open the page where the user lets it in. It is not in a box, and nothing here ends it.
 */
#ifndef ISOLATE_USERBROWSER_H
#define ISOLATE_USERBROWSER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum {
    USERBROWSER_PATH_BYTES = 96,
    USERBROWSER_FILE_BYTES = 256,
    USERBROWSER_ADDRESS_BYTES = 256,
};

/* n8n's extension. */
#define USERBROWSER_EXTENSION "cegmdpndekdfpnafgacidejijecomlhh"
#define USERBROWSER_ORIGIN    "chrome-extension://" USERBROWSER_EXTENSION

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

/*
 * The extension's page for a relay on that port of 127.0.0.1; false if the path is none of a relay:
 * "/extension/" and a UUID.
 */
bool userbrowser_address(uint16_t port, struct str path,
                         char out_address[USERBROWSER_ADDRESS_BYTES]);

/*
 * Opens that page in the user's browser of this name, or the first one that has the extension, and
 * starts it if need be. It goes on after us. ERR_NOT_FOUND: none has the extension.
 * ERR_UNSUPPORTED: there is no display, or the user is root, for whom browsers do not start.
 */
int userbrowser_open(struct str name, uint16_t port, struct str path, struct err *err);

#endif
