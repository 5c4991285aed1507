/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message of HTTP/1 as it comes, line by line and then its body: what requests and answers share.
 * What stands in the lines is read by httpparse and httpresponse.
 */
#ifndef NET_HTTP_MESSAGE_H
#define NET_HTTP_MESSAGE_H

#include "net/http/body.h"

/* LINE -> HEADER -> TOLD -> BODY -> COMPLETE; an owner may go back to LINE from HEADER. */
enum httpmessage_state {
    HTTPMESSAGE_LINE,
    HTTPMESSAGE_HEADER,
    HTTPMESSAGE_TOLD, /* of the head; the body, if there is one, begins */
    HTTPMESSAGE_BODY,
    HTTPMESSAGE_DONE,
    HTTPMESSAGE_REFUSED,
};

enum httpmessage_event { HTTPMESSAGE_MORE, HTTPMESSAGE_HEAD, HTTPMESSAGE_COMPLETE };

struct httpmessage {
    struct httpbody body;
    enum httpmessage_state state;
    int error;
    size_t line_at; /* where the line under way begins in the head */
};

struct httpmessage_kind {
    /* Of `len` bytes at `at` in the head, without the LF. */
    int (*read_line)(void *owner, bool is_first, size_t at, size_t len);
    /* The empty line has come. 0 in TOLD, 1 in LINE again, or an error. */
    int (*finish_head)(void *owner);
    /* False: there is no body. */
    bool (*frame)(const void *owner, enum httpbody_framing *out_framing, uint64_t *out_length);
    int too_long; /* the code for a first line that does not end */
};

/* Also before the next message. */
void httpmessage_reset(struct httpmessage *message);

/* An event, or the error that stays. */
int httpmessage_take(struct httpmessage *message, const struct httpmessage_kind *kind, void *owner,
                     struct buf *head, struct str *bytes);

#endif
