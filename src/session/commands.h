/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the client's commands, if the user allowed them: a launcher that is forked before this
 * process drops its privileges, and the shell's tools on the loop. What commands can see and change
 * is fixed here, once; permission to run is checked for each command.
 */
#ifndef SESSION_COMMANDS_H
#define SESSION_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "loop/loop.h"
#include "session/session.h"
#include "shell/shell.h"

struct commands;

struct commands_config {
    const struct session *session; /* must outlive the commands */
    bool is_open; /* dangerous: no sandbox, and the restrictions below have no effect */
    bool has_network;
    const char *const *domains; /* hosts on the web, NULL-terminated; or NULL */
    const char *libexec;        /* where our other programs may be */
    const char *hidden; /* directory hidden from all commands, whatever is granted; or NULL */
    const char *const *writable; /* directories besides the folder, NULL-terminated; or NULL */
    const char *const *readable; /* the same; writable ones need not be repeated */
    const char *const *env;      /* more variables: see environment_clean(); or NULL */
    const char *const *denied;   /* globs of --deny as given, NULL-terminated; or NULL */
    int64_t timeout_ms;
    /* Called once, when the launcher has died and no command can be run any more. */
    void (*on_final)(void *data);
    void *data;
};

/*
 * Forks the launcher: call it before session_confine() and before starting any thread.
 * ERR_UNSUPPORTED if no sandbox can be built; the message says what is missing.
 */
int commands_open(const struct commands_config *config, struct commands **out_commands,
                  struct err *err);

/* A warning for the user that commands can do what modes deny to other tools; or NULL. */
const char *commands_warning(const struct commands *commands);

/*
 * A writable place where commands can leave a file that the user's own programs run later; or NULL.
 */
const char *commands_risk(const struct commands *commands);

#define COMMANDS_RISK_WARNING                                                                      \
    "commands can change files that later run automatically outside of any sandbox, for example "  \
    "at the next login"

/* Call after session_confine(). */
int commands_start(struct commands *commands, struct loop *loop, struct err *err);

/* NULL without commands. */
struct shell *commands_shell(const struct commands *commands);

/* Kills everything that runs. Call before freeing the loop. */
void commands_free(struct commands *commands);
/*
 * Like commands_free(), but keeps what shell_prepare() uses, because a thread hangs in it. The
 * process must exit afterwards.
 */
void commands_leave(struct commands *commands);

#endif
