/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other half of gatehouse-browser: one thread that starts browsers in boxes and keeps their
 * profiles. The working half, which reads what pages say, asks it over a socket pair and has no
 * right to do any of that itself.
 *
 * Requests and answers are JSON objects, one in a packet, with descriptors:
 *
 *     {"launch": {"mode", "profile", "browser", "own"}}   to the browser, and from it
 *     {"attach": {"browser"}}                    to and from the user's own, as one socket
 *     {"listen": true}                           a socket for it to come by itself
 *     {"open": {"browser", "port", "path"}}      shows the user the extension's page for that
 * socket
 *     {"stop": true}
 *     {"file": "name"}                           to write into, new, in the staging directory
 *
 * "own" is what the browser must not reach, as "host:port" or "*:port".
 *
 * An answer has "error", "message" if it failed, and whether the browser has "windows": on the
 * display of the user, unless there is none or it is headless; and if it uses a "proxy". That to
 * "attach" has the "port" and "path" of the WebSocket, that to "listen" the "port"; no descriptor
 * if no browser of the user lets itself be debugged. That to "open" has in "opened" 0 or an error.
 */
#ifndef BROWSER_KEEPER_H
#define BROWSER_KEEPER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

enum { KEEPER_MAX_PACKET = 16 << 10, KEEPER_FDS = 2 };

struct browser_keeper_config {
    int socket;
    const char *state_dir;   /* where profiles are kept */
    const char *staging_dir; /* where files wait on their way to and from pages; or NULL */
    bool is_headless;        /* no windows, even if there is a display */
};

/* Serves until the other side closes; then nothing of what it started is left. */
int browser_keeper_serve(const struct browser_keeper_config *config, struct err *err);

/*
 * For the working half: asks and waits. The answer's text is in `room`. Descriptors that did not
 * come are -1.
 */
int browser_keeper_ask(int socket, struct str request, char room[KEEPER_MAX_PACKET],
                       struct str *out_answer, int out_fds[KEEPER_FDS], struct err *err);

#endif
