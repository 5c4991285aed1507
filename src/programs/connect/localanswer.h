/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon answers on its own local ports: JSON, the same to a page of the user's browser
 * and to the user's own commands. Who is let in is decided before.
 */
#ifndef PROGRAMS_CONNECT_LOCALANSWER_H
#define PROGRAMS_CONNECT_LOCALANSWER_H

#include "base/str.h"
#include "net/http/exchange.h"
#include "programs/connect/report.h"

enum {
    LOCALANSWER_WORDS_BYTES = 2 << 10, /* of what is said about an error */
};

/* Where it goes, and what stands in its head beside the type. */
struct localanswer {
    struct exchange *exchange;
    const struct http_field *fields;
    size_t field_count;
    bool is_last; /* the connection ends behind it */
};

void localanswer_body(const struct localanswer *to, int status, struct str body);

/* {"<key>":"<words>"}: the words as one line, without what looks like a secret. */
void localanswer_words(const struct localanswer *to, int status, const char *key, struct str words);

/* What `write` makes of the report; 500 where it cannot. */
void localanswer_report(const struct localanswer *to, const struct report *report,
                        int (*write)(const struct report *report, struct buf *out));

#endif
