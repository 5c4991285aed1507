/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notifications on the user's desktop, by notify-send: that a question waits in a terminal that may
 * be behind other windows. It is a courtesy: without a desktop or the program nothing is shown and
 * nothing fails, one program runs at a time and not for long, and of those that come meanwhile the
 * newest is shown next.
 */
#ifndef PROGRAMS_CONNECT_DESKTOP_H
#define PROGRAMS_CONNECT_DESKTOP_H

#include <stdbool.h>

#include "base/str.h"
#include "loop/loop.h"

enum {
    DESKTOP_TITLE_BYTES = 128,
    DESKTOP_TEXT_BYTES = 512,
    DESKTOP_MS = 5000, /* then the program is killed */
};

#define DESKTOP_PROGRAM "/usr/bin/notify-send"

struct desktop;

/* `program` is DESKTOP_PROGRAM, or what a test puts in its place; it is borrowed. */
int desktop_new(struct loop *loop, const char *program, struct desktop **out_desktop);

/* What is being shown is ended. */
void desktop_free(struct desktop *desktop);

/*
 * Both are for people and may hold anything: they are cut, secrets are hidden, and what a desktop
 * would take for an option or for markup is plain text.
 */
void desktop_show(struct desktop *desktop, struct str title, struct str text);

/* Whether showing was possible so far: there is a session, and the program could be started. */
bool desktop_is_there(const struct desktop *desktop);

#endif
