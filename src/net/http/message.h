/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads an HTTP/1 message, line by line and then its body: common to requests and answers.
 * httpparse and httpresponse interpret the lines.
 */
#ifndef NET_HTTP_MESSAGE_H
#define NET_HTTP_MESSAGE_H

#include "net/http/body.h"

/* LINE -> HEADER -> TOLD -> BODY -> COMPLETE; an owner may go back to LINE from HEADER. */
enum httpmessage_state {
    HTTPMESSAGE_LINE,
    HTTPMESSAGE_HEADER,
    HTTPMESSAGE_TOLD, /* the head was reported; the body, if any, begins */
    HTTPMESSAGE_BODY,
    HTTPMESSAGE_DONE,
    HTTPMESSAGE_REFUSED,
};

enum httpmessage_event { HTTPMESSAGE_MORE, HTTPMESSAGE_HEAD, HTTPMESSAGE_COMPLETE };

struct httpmessage {
    struct httpbody body;
    enum httpmessage_state state;
    int error;
    size_t line_at; /* start of the present line in the head */
};

struct httpmessage_kind {
    /* `len` bytes at `at` in the head, without the LF. */
    int (*read_line)(void *owner, bool is_first, size_t at, size_t len);
    /* The empty line was read. Returns 0 for TOLD, 1 to start again with LINE, or an error. */
    int (*finish_head)(void *owner);
    /* False: there is no body. */
    bool (*frame)(const void *owner, enum httpbody_framing *out_framing, uint64_t *out_length);
    int too_long; /* code for a first line that does not end */
};

/* Also call before the next message. */
void httpmessage_reset(struct httpmessage *message);

/* Returns an event, or the final error. */
int httpmessage_take(struct httpmessage *message, const struct httpmessage_kind *kind, void *owner,
                     struct buf *head, struct str *bytes);

#endif
