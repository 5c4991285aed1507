/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of the toolbox: each is one shell that lives until it is deleted, or its sandbox stops,
 * so its commands share a directory and variables. They run one after the other; those with
 * `runAsync` are answered at once. The output and the exit code of each are kept as long as the
 * session, and can be followed over a WebSocket.
 *
 * The shell runs a loop of ours, which reads commands from its standard input and marks the end of
 * each in both of its output streams with a word that only this session knows. While a command with
 * runAsync runs, its standard input is the rest of that same stream; the next command is sent when
 * it has ended.
 */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_SESSION_H
#define PROGRAMS_SANDBOXD_DAYTONA_SESSION_H

#include "programs/sandboxd/call.h"
#include "programs/sandboxd/service.h"

enum {
    SESSION_MOST = 64,           /* of a sandbox */
    SESSION_MOST_COMMANDS = 256, /* of a session; then the oldest that are over go */
};

/* Ends and forgets all of a sandbox. */
void session_forget_all(struct sandbox *sandbox);

/* ---- endpoints ---- */

void session_create(const struct api_call *call);
void session_list(const struct api_call *call);
void session_get(const struct api_call *call);
void session_remove(const struct api_call *call);
void session_execute(const struct api_call *call);
void session_get_command(const struct api_call *call);
void session_logs(const struct api_call *call);
void session_input(const struct api_call *call);

#endif
