/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Desktop notifications as a surface of the question queue, beside a terminal: one for the oldest
 * question, with a button to deny it and, if the notification shows all of it, one to allow it
 * once.
 */
#ifndef ASKING_NOTIFIER_H
#define ASKING_NOTIFIER_H

#include "asking/desktop.h"
#include "permission/questionqueue.h"

#define NOTIFIER_NAME "desktop"

/* Longer questions have to be read in the terminal before they are allowed: desktops cut texts. */
enum { NOTIFIER_WHOLE_BYTES = 240 };

struct notifier;

/* `program` as for desktop_new(). */
int notifier_new(struct loop *loop, struct question_queue *queue, const char *program,
                 struct notifier **out_notifier);
/* Call before freeing the queue. */
void notifier_free(struct notifier *notifier);

#endif
