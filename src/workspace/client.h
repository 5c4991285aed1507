/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection of a front end to gatehouse-workspacehost, which holds the workspaces: calls with
 * their results, in any order. Start it while the process may still start programs; the rest
 * happens on the loop.
 */
#ifndef WORKSPACE_CLIENT_H
#define WORKSPACE_CLIENT_H

#include "base/err.h"
#include "base/str.h"
#include "loop/loop.h"
#include "workspace/settings.h"

struct workspace_client;

struct workspace_client_config {
    const char *libexec;   /* where the program may be installed */
    const char *state_dir; /* the user's */
    int error_fd;
    const struct workspace_settings *settings;
    struct str setup;    /* steps of an image, one in a line; may be empty */
    struct str files;    /* for each new workspace, as the wire has them; may be empty */
    const char *adopted; /* a sandbox that exists already, for all keys; or NULL */
};

/* Waits until it is ready, or says why it cannot be. */
int workspace_client_start(const struct workspace_client_config *config,
                           struct workspace_client **out_client, struct err *err);
/* Waits until it has ended all workspaces, but not long. */
void workspace_client_free(struct workspace_client *client);
/* For a process that starts it for another: returns the socket, and frees the client. */
int workspace_client_hand_over(struct workspace_client *client);

/* Before the first call. */
int workspace_client_attach(struct workspace_client *client, struct loop *loop);
/* Before the loop is freed. Calls under way fail. */
void workspace_client_detach(struct workspace_client *client);

/*
 * The program has ended, with all workspaces. Called from the loop: then, and for each call until
 * workspace_client_reopen(). Without this, an error tells the user to restart.
 */
void workspace_client_on_lost(struct workspace_client *client, void (*on_lost)(void *data),
                              void *data);
/* Goes on with another one, whose socket workspace_client_hand_over() has returned. */
int workspace_client_reopen(struct workspace_client *client, int fd);

struct workspace_client_events {
    void (*on_progress)(void *data, uint64_t bytes);
    /* Once, never from inside workspace_client_call(): an error, or the result's JSON. */
    void (*on_done)(void *data, const struct err *err, struct str object);
    void *data;
};

/* `message` is {"tool", "key", "arguments"}. */
int workspace_client_call(struct workspace_client *client, struct str message,
                          const struct workspace_client_events *events, uint32_t *out_number);
/* on_done comes with ERR_CANCELLED. */
void workspace_client_cancel(struct workspace_client *client, uint32_t number);
/* Ends the workspace of this key: on_done comes when it is gone, unless this fails. */
int workspace_client_end(struct workspace_client *client, struct str key,
                         const struct workspace_client_events *events);
/*
 * Asks for how long no background command has run in the workspace of this key: on_done comes with
 * what workspace_client_read_use() reads, 0 if one does and INT64_MAX if none ever has, unless this
 * fails.
 */
int workspace_client_ask_use(struct workspace_client *client, struct str key,
                             const struct workspace_client_events *events);
int64_t workspace_client_read_use(struct str object);

#endif
