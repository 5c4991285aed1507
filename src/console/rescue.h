/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restores the terminal's modes when the process crashes during a prompt, then lets the signal take
 * its course: the default action or the previous handler. One terminal per process at a time.
 */
#ifndef CONSOLE_RESCUE_H
#define CONSOLE_RESCUE_H

#include <termios.h>

/* Active from here on; also switches back from the prompt's screen. */
void rescue_arm(int fd, const struct termios *modes);
void rescue_disarm(void);

#endif
