/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a front end and gatehouse-workspacehost say to each other over their socket, in frames
 * (ipc/frames.h) with the number of the call. Both are from the same build on the same machine.
 *
 *     front end                                        gatehouse-workspacehost
 *     SETUP   struct workspace_wire_setup, steps       READY, or FAILED
 *     CALL    {"tool", "key", "arguments"}             DONE   the result's object
 *     CANCEL                                           FAILED a code and a message
 *     END     the key of a workspace                   PROGRESS struct workspace_wire_progress
 *     USE     the key of a workspace
 *
 * END has a number, too, and DONE comes when the provider has the workspace no longer. USE asks for
 * its background commands, and DONE has a struct workspace_wire_use.
 */
#ifndef WORKSPACE_WIRE_H
#define WORKSPACE_WIRE_H

#include "workspace/settings.h"

enum {
    WORKSPACE_WIRE_BYTES = 272 << 20, /* a file whose every byte is escaped */
    WORKSPACE_WIRE_ID_BYTES = 64,
};

enum workspace_wire_type {
    WORKSPACE_WIRE_FILES = 1, /* before SETUP */
    WORKSPACE_WIRE_SETUP,
    WORKSPACE_WIRE_CALL,
    WORKSPACE_WIRE_CANCEL,
    WORKSPACE_WIRE_END,
    WORKSPACE_WIRE_READY,
    WORKSPACE_WIRE_DONE,
    WORKSPACE_WIRE_FAILED,
    WORKSPACE_WIRE_PROGRESS,
    WORKSPACE_WIRE_USE,
};

/* With the key, which no child inherits by its environment. Lines with the steps follow. */
struct workspace_wire_setup {
    struct workspace_settings settings;
    char adopted[WORKSPACE_WIRE_ID_BYTES]; /* a sandbox that all keys use; or empty */
};

/* One of FILES; its path and its content follow. */
struct workspace_wire_file {
    uint32_t path_len;
    uint32_t content_len;
    bool is_executable;
};

struct workspace_wire_progress {
    uint64_t bytes;
};

struct workspace_wire_use {
    int64_t idle_ms; /* see background_idle_ms() */
};

/* A message follows. */
struct workspace_wire_failure {
    int32_t code;
};

#endif
