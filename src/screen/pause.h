/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pause in the middle of a request, which the user can cut short. The process does one request
 * at a time, so that there is one watcher.
 */
#ifndef SCREEN_PAUSE_H
#define SCREEN_PAUSE_H

#include "base/err.h"

/* Pauses so long; an error means that the request must end now. */
typedef int screen_pause_fn(void *data, unsigned ms, struct err *err);

/* NULL: nobody watches. */
void screen_pause_watch(screen_pause_fn *watch, void *data);

int screen_pause(unsigned ms, struct err *err);

#endif
