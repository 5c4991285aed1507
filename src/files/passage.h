/* SPDX-License-Identifier: Apache-2.0 */
/* Why a passage is not in a text: words that help to find it. */
#ifndef FILES_PASSAGE_H
#define FILES_PASSAGE_H

#include "base/str.h"

enum { PASSAGE_HINT_BYTES = 160 };

/*
 * Says how many lines the text has, and whether and where the passage would
 * match with other line ends or other blanks, or where its first line stands.
 */
void passage_explain_missing(struct str text, struct str passage,
                             char out_hint[PASSAGE_HINT_BYTES]);

#endif
