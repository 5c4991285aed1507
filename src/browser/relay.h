/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's own browser by n8n's extension, which connects to a port of this machine. The relay
 * makes a browser of it: it takes commands of the DevTools protocol, and gives answers and events.
 *
 *     to the extension     {"id", "method", "params"}: listRegisteredTabs, attachTab {id},
 *                          createTab {url}, closeTab {id}, forwardCDPCommand {id, method, params}
 *     from it              {"id", "result"} or {"id", "error"}
 *                          {"method", "params"}: forwardCDPEvent {id, method, params}, tabOpened,
 *                          tabClosed {id}, keepalive
 *
 * One extension at a time, which names the relay's secret and comes from its own origin. Internal
 * to gatehouse-browser, inside the monitor.
 */
#ifndef BROWSER_RELAY_H
#define BROWSER_RELAY_H

#include <poll.h>

#include "browser/internal.h"
#include "isolate/userbrowser.h"

enum {
    RELAY_CALLERS = 32, /* who have not yet said who they are */
    RELAY_FDS = 2 + RELAY_CALLERS,
};

/* Takes the listening socket over. */
int relay_open(struct host *host, int listen_fd, uint16_t port, struct err *err);
void relay_close(struct host *host);
/* Where the user's browser lets it in: see userbrowser_address(). */
uint16_t relay_port(const struct host *host);
struct str relay_path(const struct host *host);
void relay_address(const struct host *host, char out_address[USERBROWSER_ADDRESS_BYTES]);
/* Whether that was opened for the user already: a second time would be one tab more. */
bool relay_was_shown(const struct host *host);
void relay_set_shown(struct host *host);
bool relay_is_connected(const struct host *host);
/* It was, and went so recently that it may come again by itself. */
bool relay_is_expected(const struct host *host);
/* Commands of an earlier link are forgotten. */
void relay_begin(struct host *host);

/* Whether this is where it listens, which no page may reach. */
bool relay_is_at(const struct host *host, struct str name, uint16_t port);

/* A command of the DevTools protocol. */
int relay_send(struct host *host, struct str message);

/* For the reading thread: what to wait for, how long (-1: forever), and what has happened. */
int relay_watch(struct host *host, struct pollfd out_fds[RELAY_FDS]);
/* False: the extension has gone. */
bool relay_look(struct host *host, const struct pollfd fds[RELAY_FDS], char *room, size_t size);

#endif
