/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox needs of an X server of this machine, for a program that opens windows. */
#ifndef ISOLATE_X11PLACE_H
#define ISOLATE_X11PLACE_H

#include <limits.h>
#include <stdbool.h>

struct x11place {
    int number;
    char socket[64];          /* of the server; as a writable place */
    char authority[PATH_MAX]; /* the file with its cookie; or empty */
};

/*
 * Finds the display by $DISPLAY, and its cookie by $XAUTHORITY or in the home directory. False:
 * there is no X server of this machine that one could reach by a file.
 */
bool x11place_find(struct x11place *out_place);

/*
 * Libraries try the abstract socket of a display first, which Landlock closes, and then give up.
 * There is none of this number: a link of this name to the socket works instead.
 */
#define X11PLACE_OTHER_NUMBER(number) ((number) + 10000)

/*
 * Writes a private file with this display's cookie alone, for any number, over an earlier one.
 * False: it has none.
 */
bool x11place_write_cookie(const struct x11place *place, const char *path);

#endif
