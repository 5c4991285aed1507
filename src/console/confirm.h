/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The question before a session: which server, which folders, what each group of tools may do. Yes,
 * No, or Edit, for this session only: nothing is saved, and the program checks the folder.
 *
 * The default is No. The prompt also appears when a page asks the daemon's port to connect, and
 * then an Enter meant for something else must not give access to the machine; for a user who
 * started the daemon it is just one more key.
 */
#ifndef CONSOLE_CONFIRM_H
#define CONSOLE_CONFIRM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "console/console.h"
#include "permission/modes.h"

enum { CONFIRM_MAX_WRITABLE = 64, CONFIRM_MAX_OTHERS = 32, CONFIRM_MAX_TEXT = 4096 };

struct confirm_folder {
    struct str path;
    bool may_write; /* where files may be changed at all */
};

struct confirm_offer {
    struct str url;
    bool is_exposed; /* not encrypted, and over a network */
    struct str dir;
    struct permission_modes modes;
    bool has_write_access; /* false: files are not changed, whatever the mode */
    bool only_reads_dir;   /* files are changed in others at most */
    const struct confirm_folder *others;
    size_t other_count;
    const char *const *denied;    /* globs of files that are hidden, NULL-terminated; or NULL */
    const char *const *allowed;   /* those of the only ones that are not; or NULL */
    const char *commands_refusal; /* static: why commands must be denied; NULL: they need not */
    bool shell_is_open; /* commands can do everything the user can; the next ones have no effect */
    bool shell_has_network;
    const char *const *shell_domains; /* hosts on the web, NULL-terminated; or NULL */
    const struct str *shell_writable; /* what commands may change besides the folder */
    size_t shell_writable_count;
    /*
     * Turns what was typed as a folder into the absolute path to use; the editor shows its error.
     * Gets the data of `done`. NULL: accept everything.
     */
    int (*take_dir)(void *data, struct str typed, struct buf *out_dir, struct err *err);
};

struct confirm_result {
    bool is_accepted;
    /* The final values, edited or not. */
    struct permission_modes modes;
    bool has_write_access;
    struct str dir; /* valid during the call */
};

typedef void confirm_done_fn(void *data, const struct confirm_result *result);

/*
 * Copies the offer. Calls `done` once, later; a terminal that is gone means No. ERR_BUSY while
 * another one waits for its answer, ERR_TOO_LARGE over the limits.
 */
int confirm_ask(struct console *console, const struct confirm_offer *offer, confirm_done_fn *done,
                void *data);

/* Removes it from the screen; `done` is not called. Does nothing if there is none. */
void confirm_cancel(struct console *console);

#endif
