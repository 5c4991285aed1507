/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few sequences of byte sets, one of which is in a text; for search/window.c
 * alone.
 */
#ifndef SEARCH_SEQUENCES_H
#define SEARCH_SEQUENCES_H

#include "search/window.h"

struct sequences {
    unsigned count;
    struct window_sequence list[WINDOW_MAX_SEQUENCES];
};

/* One that takes no bytes. */
extern const struct sequences sequences_of_nothing;

/* Each of a with each of b behind it. False, and nothing is set, when that is too much or nothing.
 */
bool sequences_join(const struct sequences *a, const struct sequences *b, struct sequences *out);

/* False, and nothing is added, when there is no room for all. */
bool sequences_add(struct sequences *to, const struct sequences *from);

#endif
