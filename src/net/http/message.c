/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/message.h"

#include "base/err.h"
#include "net/http/http.h"

static int read_head(struct httpmessage *message, const struct httpmessage_kind *kind, void *owner,
                     struct buf *head, struct str *bytes)
{
    bool is_first = message->state == HTTPMESSAGE_LINE;
    size_t max = is_first ? HTTP_MAX_LINE_BYTES : HTTP_MAX_HEAD_BYTES - message->line_at;
    size_t len;
    int r = httpbody_take_line(head, message->line_at, max,
                               is_first ? kind->too_long : ERR_HTTP_HEAD_LENGTH, bytes);

    if (r <= 0)
        return r;
    len = head->len - message->line_at - 1;
    if (!is_first && len == 1 && head->data[message->line_at] == '\r')
        return kind->finish_head(owner);
    message->state = HTTPMESSAGE_HEADER;
    r = kind->read_line(owner, is_first, message->line_at, len);
    message->line_at = head->len;
    return r < 0 ? r : 1;
}

static int begin_body(struct httpmessage *message, const struct httpmessage_kind *kind,
                      const void *owner)
{
    enum httpbody_framing framing = HTTPBODY_LENGTH;
    uint64_t length = 0;

    if (!kind->frame(owner, &framing, &length)) {
        message->state = HTTPMESSAGE_DONE;
        return 0;
    }
    httpbody_begin(&message->body, framing, length);
    message->state = HTTPMESSAGE_BODY;
    return 1;
}

static int read_body(struct httpmessage *message, struct str *bytes)
{
    int r = httpbody_step(&message->body, bytes);

    if (r == 0 && httpbody_is_complete(&message->body))
        message->state = HTTPMESSAGE_DONE;
    return r;
}

void httpmessage_reset(struct httpmessage *message)
{
    httpbody_done(&message->body);
    message->state = HTTPMESSAGE_LINE;
    message->error = 0;
    message->line_at = 0;
}

int httpmessage_take(struct httpmessage *message, const struct httpmessage_kind *kind, void *owner,
                     struct buf *head, struct str *bytes)
{
    bool was_in_head;
    int r = 1;

    do {
        was_in_head = message->state <= HTTPMESSAGE_HEADER;
        switch (message->state) {
        case HTTPMESSAGE_LINE:
        case HTTPMESSAGE_HEADER:
            r = read_head(message, kind, owner, head, bytes);
            break;
        case HTTPMESSAGE_TOLD:
            r = begin_body(message, kind, owner);
            break;
        case HTTPMESSAGE_BODY:
            r = read_body(message, bytes);
            break;
        case HTTPMESSAGE_DONE:
            r = 0;
            break;
        case HTTPMESSAGE_REFUSED:
            return message->error;
        }
    } while (r > 0);
    if (r < 0) {
        message->state = HTTPMESSAGE_REFUSED;
        message->error = r;
        return r;
    }
    if (message->state == HTTPMESSAGE_DONE)
        return HTTPMESSAGE_COMPLETE;
    return was_in_head && message->state == HTTPMESSAGE_TOLD ? HTTPMESSAGE_HEAD : HTTPMESSAGE_MORE;
}
