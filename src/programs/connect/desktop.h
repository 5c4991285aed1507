/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Desktop notifications by notify-send, for a question that waits in a terminal behind other
 * windows. It is optional: without a desktop or the program nothing is shown and nothing fails. One
 * process runs at a time, for a short time; of the notifications that come meanwhile only the
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
    DESKTOP_MS = 5000, /* then the process is killed */
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
 * Whether notifications worked so far: there is a desktop session, and the program could be
 * started.
 */
bool desktop_is_there(const struct desktop *desktop);

#endif
