/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Desktop notifications by notify-send, for a question that waits in a terminal behind other
 * windows. It is optional: without a desktop or the program nothing is shown and nothing fails. One
 * process runs at a time, for a short time; of the notifications that come meanwhile only the
 * newest is shown next.
 */
#ifndef ASKING_DESKTOP_H
#define ASKING_DESKTOP_H

#include <stdbool.h>

#include "base/str.h"
#include "loop/loop.h"

enum {
    DESKTOP_TITLE_BYTES = 128,
    DESKTOP_TEXT_BYTES = 512,
    DESKTOP_MS = 5000, /* then the process is killed */
    /* So long an Allow does not count: the button may have come up under a click for something
       else. */
    DESKTOP_GUARD_MS = 1000,
    DESKTOP_CLOSE_MS = 1000, /* for one that is withdrawn */
};

#define DESKTOP_PROGRAM "/usr/bin/notify-send"

struct desktop;

/* `program` is DESKTOP_PROGRAM, or a replacement in tests; it is borrowed. */
int desktop_new(struct loop *loop, const char *program, struct desktop **out_desktop);

/* Ends the notification being shown. */
void desktop_free(struct desktop *desktop);

/*
 * Both texts are for people and may hold anything: they are cut, secrets are redacted, and what a
 * desktop would take for an option or markup is shown as plain text.
 */
void desktop_show(struct desktop *desktop, struct str title, struct str text);

/*
 * The same with buttons, where the desktop has them: "Deny" and, if may_allow, "Allow once". It
 * stays until a button is pressed, the user closes it, or desktop_withdraw(). There is one at a
 * time: call it again after one of these.
 */
void desktop_ask(struct desktop *desktop, struct str title, struct str text, bool may_allow);
void desktop_withdraw(struct desktop *desktop);

/* A button of the last one was pressed. */
void desktop_on_button(struct desktop *desktop, void (*on_button)(void *data, bool allows),
                       void *data);

#endif
