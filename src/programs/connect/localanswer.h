/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's answers on its local port and control socket: JSON, the same for a page in the
 * user's browser and for the user's own commands. Access was checked before.
 */
#ifndef PROGRAMS_CONNECT_LOCALANSWER_H
#define PROGRAMS_CONNECT_LOCALANSWER_H

#include "base/str.h"
#include "net/http/exchange.h"
#include "programs/connect/report.h"

enum {
    LOCALANSWER_WORDS_BYTES = 2 << 10, /* of an error message */
};

/* Where the answer goes, and its header fields besides the content type. */
struct localanswer {
    struct exchange *exchange;
    const struct http_field *fields;
    size_t field_count;
    bool is_last; /* close the connection afterwards */
};

void localanswer_body(const struct localanswer *to, int status, struct str body);

/* {"<key>":"<words>"}: the words as one line, with secrets redacted. */
void localanswer_words(const struct localanswer *to, int status, const char *key, struct str words);

/* Sends what `write` makes of the report; 500 if it fails. */
void localanswer_report(const struct localanswer *to, const struct report *report,
                        int (*write)(const struct report *report, struct buf *out));

#endif
