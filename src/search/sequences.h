/* SPDX-License-Identifier: Apache-2.0 */
/* A few sequences of byte sets, one of which is in a text; internal to search/window.c. */
#ifndef SEARCH_SEQUENCES_H
#define SEARCH_SEQUENCES_H

#include "search/window.h"

struct sequences {
    unsigned count;
    struct window_sequence list[WINDOW_MAX_SEQUENCES];
};

/* One empty sequence. */
extern const struct sequences sequences_of_nothing;

/*
 * Each sequence of a followed by each of b. False, without changing *out, if that is too many or
 * none.
 */
bool sequences_join(const struct sequences *a, const struct sequences *b, struct sequences *out);

/* False, without adding any, if there is not enough room. */
bool sequences_add(struct sequences *to, const struct sequences *from);

#endif
