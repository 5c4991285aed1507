/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands for the client, where the user allowed them: a launcher that is
 * forked before this process gives up its rights, and the shell's tools on the
 * loop behind it. What a command can see and change is settled here, once; what
 * may run is asked for each.
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
    const struct session *session; /* outlives the commands */
    bool is_open;                  /* dangerous: there are no boxes, and the rest holds nothing */
    bool has_network;
    const char *hidden;          /* a directory, from all commands, whatever is granted; or NULL */
    const char *const *writable; /* directories besides the folder, up to a NULL; or NULL */
    int64_t timeout_ms;
    /* Once, when something has ended what starts them and none can be run any more. */
    void (*on_final)(void *data);
    void *data;
};

/*
 * Forks: before the walls and before any thread. ERR_UNSUPPORTED where no box can be built: the
 * message says what is missing.
 */
int commands_open(const struct commands_config *config, struct commands **out_commands,
                  struct err *err);

/* What the user should know: that commands can do what modes deny to other tools. Or NULL. */
const char *commands_warning(const struct commands *commands);

/* A place where commands can leave something that the user's own programs run later; or NULL. */
const char *commands_risk(const struct commands *commands);

#define COMMANDS_RISK_WARNING                                                                      \
    "commands can change files that are run by themselves later, outside of any box, as at the "   \
    "next login"

/* Behind the walls. */
int commands_start(struct commands *commands, struct loop *loop, struct err *err);

/* NULL without commands. */
struct shell *commands_shell(const struct commands *commands);

/* Before the loop. Everything that runs is killed. */
void commands_free(struct commands *commands);
/* The same, but for what shell_prepare() uses: some thread hangs in it. Nothing else may follow. */
void commands_leave(struct commands *commands);

#endif
