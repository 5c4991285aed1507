/* SPDX-License-Identifier: Apache-2.0 */
/* Why a passage may not be in a text: for an agent that has to correct its edit. */
#ifndef FILES_MISSING_H
#define FILES_MISSING_H

#include "base/str.h"

enum { MISSING_HINT_BYTES = 192 };

/*
 * For a passage that passage_find() does not find. Tells where it would match without what is often
 * added by mistake, or where it begins and which line differs, or which line is like its first one.
 */
void missing_explain(struct str text, struct str old, char out_hint[MISSING_HINT_BYTES]);

#endif
