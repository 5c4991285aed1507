/* SPDX-License-Identifier: Apache-2.0 */
#include "base/colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool colour_can_draw(const char *term)
{
    return term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0;
}

bool colour_can_colour(const char *term, const char *no_color)
{
    return colour_can_draw(term) && (no_color == NULL || no_color[0] == '\0');
}

bool colour_has_terminal(int fd)
{
    return isatty(fd) && colour_can_draw(getenv("TERM"));
}

bool colour_is_wanted(int fd)
{
    return isatty(fd) && colour_can_colour(getenv("TERM"), getenv("NO_COLOR"));
}
