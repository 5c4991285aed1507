/* SPDX-License-Identifier: Apache-2.0 */
#include "net/websocket/websocket.h"

#include <stdlib.h>
#include <string.h>
#include <wslay/wslay.h>

#include "base/buf.h"
#include "base/rand.h"
#include "base/utf8.h"
#include "net/websocket/frame.h"

enum {
    SPARE_BYTES = 64 << 10,
    MASK_BYTES = 4,
    CODE_BYTES = 2,
    CLOSE_MAX_BYTES = CODE_BYTES + WEBSOCKET_MAX_REASON_BYTES,
};

/* A close: its code and reason in wire format. */
struct farewell {
    size_t len;
    uint8_t bytes[CLOSE_MAX_BYTES];
};

struct websocket {
    wslay_event_context_ptr wslay;
    enum websocket_role role;
    struct websocket_sink sink;
    size_t max_queue_bytes;
    struct wsframe_scan scan;
    struct str incoming; /* what is left of the piece that is being received */
    struct buf message;  /* what came of one that is not whole */
    size_t queued;       /* bytes of frames that the wire has not taken */
    size_t head_len;     /* the head of a frame, which goes out with its payload */
    uint8_t head[WSFRAME_HEAD_BYTES];
    uint8_t opcode;          /* of the frame that is being received */
    struct farewell waiting; /* ours, until earlier messages are sent: wslay would drop those */
    int failure;             /* a code, after which nothing works */
    bool is_closing;         /* ours waits or is on its way */
    bool is_close_queued;    /* wslay has one */
    bool is_close_received;
    bool has_wire_failed;
    bool is_freed;  /* inside a callback: goes when that returns */
    unsigned depth; /* callbacks may be under way */
};

/* Size of a frame on the wire. */
static size_t frame_bytes(const struct websocket *websocket, size_t payload)
{
    size_t head = payload > UINT16_MAX ? 10 : payload > 125 ? 4 : 2;

    return head + payload + (websocket->role == WEBSOCKET_CLIENT ? MASK_BYTES : 0);
}

static void destroy(struct websocket *websocket)
{
    wslay_event_context_free(websocket->wslay);
    buf_done(&websocket->message);
    free(websocket);
}

static void enter(struct websocket *websocket)
{
    websocket->depth++;
}

static void leave(struct websocket *websocket)
{
    if (--websocket->depth == 0 && websocket->is_freed)
        destroy(websocket);
}

static bool has_stopped(const struct websocket *websocket)
{
    return websocket->failure < 0 || websocket->is_freed;
}

static void forget_message(struct websocket *websocket)
{
    size_t max = websocket->message.max;

    buf_clear(&websocket->message);
    /* What one large message needed is not held for ever. */
    if (websocket->message.capacity > SPARE_BYTES) {
        buf_done(&websocket->message);
        buf_init(&websocket->message, max);
    }
}

/* Passes a close to wslay, ahead of everything that waits there; the first one counts. */
static void queue_close(struct websocket *websocket, const struct farewell *farewell)
{
    uint16_t code = 0;

    if (websocket->is_close_queued)
        return;
    if (farewell->len >= CODE_BYTES)
        code = (uint16_t)(farewell->bytes[0] << 8 | farewell->bytes[1]);
    if (wslay_event_queue_close(websocket->wslay, code, farewell->bytes + CODE_BYTES,
                                farewell->len < CODE_BYTES ? 0 : farewell->len - CODE_BYTES) != 0) {
        websocket->failure = ERR_NO_MEMORY; /* nobody would be notified, so nobody would answer */
        return;
    }
    websocket->is_closing = true;
    websocket->is_close_queued = true;
    websocket->queued += frame_bytes(websocket, farewell->len);
}

static struct farewell farewell_of(uint16_t code, struct str reason)
{
    struct farewell farewell = {.len = CODE_BYTES + reason.len};

    farewell.bytes[0] = (uint8_t)(code >> 8);
    farewell.bytes[1] = (uint8_t)code;
    if (reason.len > 0)
        memcpy(farewell.bytes + CODE_BYTES, reason.ptr, reason.len);
    return farewell;
}

static uint16_t code_for(int error)
{
    switch (error) {
    case ERR_WS_PROTOCOL:
        return WEBSOCKET_BAD_FRAME;
    case ERR_INVALID_UTF8:
        return WEBSOCKET_BAD_TEXT;
    case ERR_TOO_LARGE:
        return WEBSOCKET_TOO_LARGE;
    case ERR_BUSY:
        return WEBSOCKET_REFUSED;
    default:
        return WEBSOCKET_INTERNAL;
    }
}

/* Stops reading and sending, except for a close with the matching code. */
static void fail(struct websocket *websocket, int error)
{
    struct farewell farewell = farewell_of(code_for(error), STR_EMPTY);

    if (has_stopped(websocket))
        return;
    queue_close(websocket, &farewell);
    wslay_event_shutdown_read(websocket->wslay);
    websocket->failure = error;
}

static ssize_t on_recv(wslay_event_context_ptr wslay, uint8_t *bytes, size_t len, int flags,
                       void *data)
{
    struct websocket *websocket = data;
    size_t taken = websocket->incoming.len < len ? websocket->incoming.len : len;

    (void)flags;
    if (taken == 0) {
        wslay_event_set_error(wslay, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    memcpy(bytes, websocket->incoming.ptr, taken);
    websocket->incoming = str_slice(websocket->incoming, taken, websocket->incoming.len);
    return (ssize_t)taken;
}

/* Sends the kept header and what follows it: how much of the latter was taken, or -1. */
static ssize_t send_parts(struct websocket *websocket, const uint8_t *bytes, size_t len)
{
    const struct str parts[] = {{(const char *)websocket->head, websocket->head_len},
                                {(const char *)bytes, len}};
    size_t first = websocket->head_len > 0 ? 0 : 1;
    size_t taken = 0;
    size_t of_head;
    int r = websocket->sink.wire(websocket->sink.data, parts + first, 2 - first, &taken);

    if (r < 0) {
        websocket->failure = r;
        websocket->has_wire_failed = true;
        wslay_event_set_error(websocket->wslay, WSLAY_ERR_CALLBACK_FAILURE);
        return -1;
    }
    websocket->queued -= taken < websocket->queued ? taken : websocket->queued;
    of_head = taken < websocket->head_len ? taken : websocket->head_len;
    websocket->head_len -= of_head;
    memmove(websocket->head, websocket->head + of_head, websocket->head_len);
    if (websocket->head_len > 0 || taken - of_head == 0) {
        wslay_event_set_error(websocket->wslay, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    return (ssize_t)(taken - of_head);
}

static ssize_t on_send(wslay_event_context_ptr wslay, const uint8_t *bytes, size_t len, int flags,
                       void *data)
{
    struct websocket *websocket = data;

    (void)wslay;
    /* A head alone would be a packet, or a record of TLS, of its own. */
    if ((flags & WSLAY_MSG_MORE) != 0 && websocket->head_len == 0 &&
        len <= sizeof(websocket->head)) {
        memcpy(websocket->head, bytes, len);
        websocket->head_len = len;
        return (ssize_t)len;
    }
    return send_parts(websocket, bytes, len);
}

static int on_mask(wslay_event_context_ptr wslay, uint8_t *bytes, size_t len, void *data)
{
    (void)wslay;
    (void)data;
    rand_bytes(bytes, len);
    return 0;
}

static void on_frame_start(wslay_event_context_ptr wslay,
                           const struct wslay_event_on_frame_recv_start_arg *arg, void *data)
{
    struct websocket *websocket = data;

    (void)wslay;
    websocket->opcode = arg->opcode;
}

/* wslay does not buffer messages: it would allocate at once what a header announces. */
static void on_frame_chunk(wslay_event_context_ptr wslay,
                           const struct wslay_event_on_frame_recv_chunk_arg *arg, void *data)
{
    struct websocket *websocket = data;
    int r;

    (void)wslay;
    if (has_stopped(websocket) || wslay_is_ctrl_frame(websocket->opcode))
        return;
    r = buf_append(&websocket->message, arg->data, arg->data_length);
    if (r < 0)
        fail(websocket, r);
}

/* Sends as much as the wire takes. */
static void flush(struct websocket *websocket)
{
    bool has_more = !websocket->has_wire_failed;

    while (has_more) {
        int r = wslay_event_send(websocket->wslay);

        if (r != 0 && websocket->failure == 0)
            websocket->failure = r == WSLAY_ERR_NOMEM ? ERR_NO_MEMORY : ERR_INTERNAL;
        has_more = websocket->failure == 0 && websocket->waiting.len > 0 && websocket->queued == 0;
        if (has_more) {
            queue_close(websocket, &websocket->waiting);
            websocket->waiting.len = 0;
        }
    }
    /* A close drops what it overtook. */
    if (wslay_event_get_close_sent(websocket->wslay))
        websocket->queued = 0;
}

static void on_message(wslay_event_context_ptr wslay, const struct wslay_event_on_msg_recv_arg *arg,
                       void *data)
{
    struct websocket *websocket = data;
    struct str bytes = {(const char *)arg->msg, arg->msg_length};

    (void)wslay;
    if (has_stopped(websocket))
        return;
    switch ((enum wslay_opcode)arg->opcode) {
    case WSLAY_TEXT_FRAME:
    case WSLAY_BINARY_FRAME:
        websocket->sink.message(websocket->sink.data,
                                arg->opcode == WSLAY_TEXT_FRAME ? WEBSOCKET_TEXT : WEBSOCKET_BINARY,
                                buf_view(&websocket->message));
        forget_message(websocket);
        break;
    case WSLAY_PONG:
        if (websocket->sink.pong != NULL)
            websocket->sink.pong(websocket->sink.data, arg->msg_length > 0 ? bytes : STR_EMPTY);
        break;
    case WSLAY_PING:
        /* wslay has queued the answer, as it does for any number of pings. */
        if (!websocket->is_close_queued)
            websocket->queued += frame_bytes(websocket, arg->msg_length);
        flush(websocket);
        if (websocket->queued > websocket->max_queue_bytes)
            fail(websocket, ERR_BUSY);
        break;
    case WSLAY_CONNECTION_CLOSE: /* never gets there */
    case WSLAY_CONTINUATION_FRAME:
        break;
    }
}

static void run_wslay(struct websocket *websocket)
{
    int r = wslay_event_recv(websocket->wslay);

    if (r != 0)
        fail(websocket, r == WSLAY_ERR_NOMEM ? ERR_NO_MEMORY : ERR_WS_PROTOCOL);
    if (has_stopped(websocket) || wslay_event_get_read_enabled(websocket->wslay))
        return;
    /* It found text that is none, and has queued a close for that. */
    if (!websocket->is_close_queued)
        websocket->queued += frame_bytes(websocket, CODE_BYTES);
    websocket->is_closing = true;
    websocket->is_close_queued = true;
    websocket->failure = ERR_INVALID_UTF8;
}

static bool may_be_sent(uint16_t code)
{
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

/* The peer's close is complete. Echoes it, unless ours is being sent. */
static void take_close(struct websocket *websocket)
{
    const struct wsframe_scan *scan = &websocket->scan;
    struct farewell farewell = {.len = scan->close_len};
    uint16_t code = WEBSOCKET_NO_CODE;
    struct str reason = STR_EMPTY;

    memcpy(farewell.bytes, scan->close, scan->close_len);
    if (scan->close_len >= CODE_BYTES) {
        code = (uint16_t)(scan->close[0] << 8 | scan->close[1]);
        reason = (struct str){(const char *)scan->close + CODE_BYTES, scan->close_len - CODE_BYTES};
    }
    if (scan->close_len == 1 || (scan->close_len > 0 && !may_be_sent(code))) {
        fail(websocket, ERR_WS_PROTOCOL);
        return;
    }
    if (!utf8_is_valid(reason)) {
        fail(websocket, ERR_INVALID_UTF8);
        return;
    }
    websocket->is_close_received = true;
    websocket->waiting.len = 0;
    queue_close(websocket, &farewell);
    wslay_event_shutdown_read(websocket->wslay);
    websocket->sink.closed(websocket->sink.data, code, reason);
}

int websocket_receive(struct websocket *websocket, struct str bytes, struct err *err)
{
    size_t good = 0;
    int scanned;
    int r;

    if (websocket->failure < 0)
        return err_set_plain(err, websocket->failure);
    if (websocket->is_close_received)
        return 0;
    enter(websocket);
    scanned = wsframe_feed(&websocket->scan, bytes, &good);
    websocket->incoming = str_slice(bytes, 0, good);
    run_wslay(websocket);
    websocket->incoming = STR_EMPTY;
    if (scanned < 0)
        fail(websocket, scanned);
    if (!has_stopped(websocket) && websocket->scan.is_close_whole)
        take_close(websocket);
    if (!websocket->is_freed)
        flush(websocket);
    r = websocket->is_freed ? ERR_CANCELLED : websocket->failure;
    leave(websocket);
    return r < 0 ? err_set_plain(err, r) : 0;
}

static int send_frame(struct websocket *websocket, uint8_t opcode, struct str bytes)
{
    const struct wslay_event_msg message = {
        .opcode = opcode, .msg = (const uint8_t *)bytes.ptr, .msg_length = bytes.len};
    size_t size = frame_bytes(websocket, bytes.len);

    if (websocket->failure < 0)
        return websocket->failure;
    if (websocket->is_closing)
        return ERR_WS_CLOSED;
    if (size > websocket->max_queue_bytes)
        return ERR_TOO_LARGE;
    if (websocket->queued > websocket->max_queue_bytes - size)
        return ERR_BUSY;
    if (wslay_event_queue_msg(websocket->wslay, &message) != 0)
        return ERR_NO_MEMORY;
    websocket->queued += size;
    flush(websocket);
    return websocket->failure;
}

int websocket_send(struct websocket *websocket, enum websocket_kind kind, struct str bytes)
{
    if (kind == WEBSOCKET_TEXT && !utf8_is_valid(bytes))
        return ERR_INVALID_UTF8;
    return send_frame(websocket, kind == WEBSOCKET_TEXT ? WSLAY_TEXT_FRAME : WSLAY_BINARY_FRAME,
                      bytes);
}

int websocket_ping(struct websocket *websocket, struct str bytes)
{
    return bytes.len > WEBSOCKET_MAX_PING_BYTES ? ERR_TOO_LARGE
                                                : send_frame(websocket, WSLAY_PING, bytes);
}

int websocket_close(struct websocket *websocket, uint16_t code, struct str reason)
{
    if (!may_be_sent(code) || !utf8_is_valid(reason))
        return ERR_INVALID_ARGUMENT;
    if (websocket->failure < 0 || websocket->is_closing)
        return websocket->failure;
    websocket->waiting = farewell_of(code, utf8_cut(reason, WEBSOCKET_MAX_REASON_BYTES));
    websocket->is_closing = true;
    flush(websocket);
    return websocket->failure;
}

int websocket_flush(struct websocket *websocket)
{
    if (websocket->failure == 0)
        flush(websocket);
    return websocket->failure;
}

size_t websocket_queued(const struct websocket *websocket)
{
    return websocket->queued;
}

bool websocket_is_over(const struct websocket *websocket)
{
    return websocket->failure < 0 ||
           (websocket->is_close_received && wslay_event_get_close_sent(websocket->wslay) != 0);
}

int websocket_new(enum websocket_role role, const struct websocket_limits *limits,
                  const struct websocket_sink *sink, struct websocket **out_websocket)
{
    const struct wslay_event_callbacks callbacks = {
        .recv_callback = on_recv,
        .send_callback = on_send,
        .genmask_callback = on_mask,
        .on_frame_recv_start_callback = on_frame_start,
        .on_frame_recv_chunk_callback = on_frame_chunk,
        .on_msg_recv_callback = on_message,
    };
    struct websocket *websocket = calloc(1, sizeof(*websocket));
    bool is_server = role == WEBSOCKET_SERVER;
    int r;

    if (websocket == NULL)
        return ERR_NO_MEMORY;
    r = is_server ? wslay_event_context_server_init(&websocket->wslay, &callbacks, websocket)
                  : wslay_event_context_client_init(&websocket->wslay, &callbacks, websocket);
    if (r != 0) {
        free(websocket);
        return ERR_NO_MEMORY;
    }
    wslay_event_config_set_no_buffering(websocket->wslay, 1);
    websocket->role = role;
    websocket->sink = *sink;
    websocket->max_queue_bytes = limits->max_queue_bytes;
    websocket->incoming = STR_EMPTY;
    buf_init(&websocket->message, limits->max_message_bytes);
    wsframe_scan_init(&websocket->scan, is_server, limits->max_message_bytes);
    *out_websocket = websocket;
    return 0;
}

void websocket_free(struct websocket *websocket)
{
    if (websocket == NULL)
        return;
    websocket->is_freed = true;
    if (websocket->depth == 0)
        destroy(websocket);
    else
        wslay_event_shutdown_read(websocket->wslay);
}
