/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A crash in the middle of a prompt: the terminal gets its modes back before the
 * process goes its way, to its end or to whoever handled the signal before. One
 * terminal of a process at a time.
 */
#ifndef CONSOLE_RESCUE_H
#define CONSOLE_RESCUE_H

#include <termios.h>

/* From here on; what is written to it then leaves the prompt's screen. */
void rescue_arm(int fd, const struct termios *modes);
void rescue_disarm(void);

#endif
