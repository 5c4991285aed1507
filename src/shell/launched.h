/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher of isolate as a starter: its messages become events of the loop. */
#ifndef SHELL_LAUNCHED_H
#define SHELL_LAUNCHED_H

#include "isolate/launcher/launcher.h"
#include "loop/loop.h"
#include "shell/starter.h"

struct launched;

/* The caller owns the launcher, but must not use it for anything else. */
int launched_new(struct loop *loop, struct launcher *launcher, struct launched **out_launched);
/* Call before freeing the launcher; none of its commands may be left, except forgotten ones. */
void launched_free(struct launched *launched);

const struct starter *launched_starter(const struct launched *launched);

/* The restrictions of one command, compared to the launcher's envelope. */
struct launched_less {
    enum box_access at_most[BOX_MAX_PLACES]; /* for each place, in the envelope's order */
    size_t at_most_count;
    const struct box_denial *denials; /* valid until the next call */
    size_t denial_count;
};

/*
 * Called before each start, since grants end and rules change; `less` is empty then. On an error
 * the command is not started.
 */
typedef int launched_narrow_fn(void *data, struct launched_less *less, struct err *err);
void launched_set_narrow(struct launched *launched, launched_narrow_fn *narrow, void *data);

/* Called once, when no command can be started any more. */
typedef void launched_final_fn(void *data);
void launched_set_final(struct launched *launched, launched_final_fn *final, void *data);

#endif
