/* SPDX-License-Identifier: Apache-2.0 */
/* isolate's launcher as a starter: what it tells comes as events of the loop. */
#ifndef SHELL_LAUNCHED_H
#define SHELL_LAUNCHED_H

#include "isolate/launcher/launcher.h"
#include "loop/loop.h"
#include "shell/starter.h"

struct launched;

/* The launcher stays the caller's, who uses it for nothing else. */
int launched_new(struct loop *loop, struct launcher *launcher, struct launched **out_launched);
/* Before the launcher; no command of it may be left, but those that were forgotten. */
void launched_free(struct launched *launched);

const struct starter *launched_starter(const struct launched *launched);

/* What one command gets less than the envelope. */
struct launched_less {
    enum box_access at_most[BOX_MAX_PLACES]; /* of its places, in its order */
    size_t at_most_count;
    const struct box_denial *denials; /* until the next question */
    size_t denial_count;
};

/*
 * Asked before each start, since grants end and rules are made; the list is empty then. After an
 * error the command is not started.
 */
typedef int launched_narrow_fn(void *data, struct launched_less *less, struct err *err);
void launched_set_narrow(struct launched *launched, launched_narrow_fn *narrow, void *data);

/* Told once, when no command can be started any more. */
typedef void launched_final_fn(void *data);
void launched_set_final(struct launched *launched, launched_final_fn *final, void *data);

#endif
