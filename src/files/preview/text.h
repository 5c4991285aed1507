/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to preview.c: words, numbers and lines that are safe to show to a user. */
#ifndef FILES_PREVIEW_TEXT_H
#define FILES_PREVIEW_TEXT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"

enum { PREVIEW_NUMBER_BYTES = 40 };

/* "1,204" */
const char *preview_count(uint64_t count, char out_text[PREVIEW_NUMBER_BYTES]);
/* "1 byte", "512 bytes", "3.4 KB" */
const char *preview_size(uint64_t bytes, char out_text[PREVIEW_NUMBER_BYTES]);

/* Lines as read_file counts them. */
uint64_t preview_line_count(struct str text);

/* Replaces invisible and reordering characters by U+FFFD and marks CR; tabs stay. */
int preview_add_harmless(struct buf *out, struct str text);

/*
 * Adds lines to the detail, each cut to its maximum, up to the limits; then how many more there
 * are.
 */
int preview_add_lines(struct buf *out, struct str text);

/* Adds a line "key: value" for each member; text of several lines is indented. */
int preview_add_arguments(struct buf *out, const struct json_value *arguments);

#endif
