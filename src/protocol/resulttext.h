/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The object of a tool's result as text for a model, without the escapes and quotes of JSON: file
 * contents, output and diffs as they are, matches as lines, and the rest in one last line:
 *
 *     src/a.c
 *     12:    return 0;
 *     [truncated, totalMatches 312]
 *
 * The format follows the names of members, not tools: see the table in resulttext.c.
 */
#ifndef PROTOCOL_RESULTTEXT_H
#define PROTOCOL_RESULTTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"

/*
 * Appends the text, which is not empty. *out_is_text is false, and nothing is appended, for an
 * object without such members, which is shorter as JSON.
 */
int resulttext_write(const struct json_value *object, struct buf *out, bool *out_is_text);

/*
 * False if the object, as JSON, has no such members, as far as that is seen without parsing it:
 * most results of changes are short and have none.
 */
bool resulttext_may_be_text(struct str object);

/*
 * The text of a list, which is written together with its object: a list of thousands would take
 * longer to parse than to read.
 */
struct resulttext_entry {
    struct str path;
    bool is_directory;
    bool has_size;
    uint64_t size;
    struct str modified; /* empty: not told */
};
int resulttext_append_entry(const struct resulttext_entry *entry, struct buf *out);

/* After the last entry of a text that began empty. */
int resulttext_end_entries(bool is_truncated, struct buf *out);

#endif
