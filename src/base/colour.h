/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a program's output goes to a terminal, and whether in colour: TERM and NO_COLOR. */
#ifndef BASE_COLOUR_H
#define BASE_COLOUR_H

#include <stdbool.h>

/* From the values of TERM and NO_COLOR, which are NULL if unset. Without TERM nothing is drawn. */
bool colour_can_draw(const char *term);
bool colour_can_colour(const char *term, const char *no_color);

/* Same for a file descriptor, terminal or not, with the values of this process. */
bool colour_has_terminal(int fd);
bool colour_is_wanted(int fd);

#endif
