/* SPDX-License-Identifier: Apache-2.0 */
/* Explains why a passage was not found in a text. */
#ifndef FILES_PASSAGE_H
#define FILES_PASSAGE_H

#include "base/str.h"

enum { PASSAGE_HINT_BYTES = 160 };

/*
 * Tells how many lines the text has, and where the passage would match with other line ends or
 * other whitespace, or where its first line is.
 */
void passage_explain_missing(struct str text, struct str passage,
                             char out_hint[PASSAGE_HINT_BYTES]);

#endif
