/* SPDX-License-Identifier: Apache-2.0 */
/* isolate's launcher as a starter: what it tells comes as events of the loop. */
#ifndef SHELL_LAUNCHED_H
#define SHELL_LAUNCHED_H

#include "isolate/launcher.h"
#include "loop/loop.h"
#include "shell/starter.h"

struct launched;

/* The launcher stays the caller's, who uses it for nothing else. */
int launched_new(struct loop *loop, struct launcher *launcher, struct launched **out_launched);
/* Before the launcher; no command of it may be left, but those that were forgotten. */
void launched_free(struct launched *launched);

const struct starter *launched_starter(const struct launched *launched);

/*
 * Asked before each start: what is left by now of the envelope's places, in its order, since
 * grants end. Returns for how many of them it has said so.
 */
typedef size_t launched_narrow_fn(void *data, enum box_access out_at_most[BOX_MAX_PLACES]);
void launched_set_narrow(struct launched *launched, launched_narrow_fn *narrow, void *data);

/* Told once, when no command can be started any more. */
typedef void launched_final_fn(void *data);
void launched_set_final(struct launched *launched, launched_final_fn *final, void *data);

#endif
