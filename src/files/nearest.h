/* SPDX-License-Identifier: Apache-2.0 */
/* What exists near a name that leads nowhere, so that the next call gets it right. */
#ifndef FILES_NEAREST_H
#define FILES_NEAREST_H

#include "files/tool.h"

enum { NEAREST_WORDS_BYTES = TOOL_SHOWN_BYTES + 40 };

/*
 * "did you mean src/util?" or "the nearest that exists is src", for a missing name relative to the
 * root. The same name in another directory comes before a similar one. False: nothing to say, or
 * the call may not learn of its neighbours.
 */
bool nearest_explain(const struct tool_call *call, struct str missing,
                     char out_words[NEAREST_WORDS_BYTES]);

#endif
