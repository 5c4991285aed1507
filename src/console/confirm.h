/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The question before a session: which server, which folder, what each group of
 * tools may do. Yes, No, or Edit, for this session alone: nothing is written, and
 * whether the folder can be used is for the program to say.
 *
 * The default is No. The prompt also comes up when a page asks the daemon's port to
 * connect, and then an Enter that was meant for something else must not give the
 * machine away; for who started the daemon it is one key more.
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

enum { CONFIRM_MAX_WRITABLE = 64, CONFIRM_MAX_TEXT = 4096 };

struct confirm_offer {
    struct str url;
    bool is_exposed; /* the way there is not encrypted, and leads over a network */
    struct str dir;
    struct permission_modes modes;
    bool has_write_access; /* false: files are not changed, whatever the mode says */
    bool shell_is_open;    /* commands can do all that the user can; the next ones hold nothing */
    bool shell_has_network;
    const struct str *shell_writable; /* what commands may change besides the folder */
    size_t shell_writable_count;
    /*
     * What was typed as a folder, whole and as it will be used; its error stays in the editor. With
     * the data of `done`. NULL: everything is taken as it is.
     */
    int (*take_dir)(void *data, struct str typed, struct buf *out_dir, struct err *err);
};

struct confirm_result {
    bool is_accepted;
    /* As they are to be, edited or not. */
    struct permission_modes modes;
    bool has_write_access;
    struct str dir; /* valid during the call */
};

typedef void confirm_done_fn(void *data, const struct confirm_result *result);

/*
 * Copies the offer. `done` is called once, later; a terminal that is gone says No. ERR_BUSY while
 * another one waits for its answer, ERR_TOO_LARGE over the ceilings.
 */
int confirm_ask(struct console *console, const struct confirm_offer *offer, confirm_done_fn *done,
                void *data);

/* Takes it from the screen; `done` is not called. Harmless when there is none. */
void confirm_cancel(struct console *console);

#endif
