/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol between a front end, which decides and talks to the world, and its toolhost, which
 * touches the files: frames on one stream socket, with JSON bodies.
 * docs/internals/program-toolhost.md says what each message means and when it may be sent; this is
 * only the format, in the frames of ipc/frames.h.
 */
#ifndef PROTOCOL_TOOLWIRE_H
#define PROTOCOL_TOOLWIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "ipc/frames.h"

enum toolwire_side { TOOLWIRE_FRONT, TOOLWIRE_HOST };

enum toolwire_type {
    /* From the front end. */
    TOOLWIRE_PREPARE = 0x01,
    TOOLWIRE_RUN = 0x02,
    TOOLWIRE_DROP = 0x03,
    TOOLWIRE_CANCEL = 0x04,
    TOOLWIRE_PREVIEW = 0x05,
    TOOLWIRE_RULES = 0x06,
    /* From the host. */
    TOOLWIRE_READY = 0x11,
    TOOLWIRE_PREPARED = 0x12,
    TOOLWIRE_RESULT = 0x13,
    TOOLWIRE_ERROR = 0x14,
    TOOLWIRE_PROGRESS = 0x15,
    TOOLWIRE_LOST = 0x16,
    TOOLWIRE_PREVIEWED = 0x17,
    TOOLWIRE_CHANGE = 0x18,
};

enum {
    TOOLWIRE_VERSION = 3,
    TOOLWIRE_HEADER_BYTES = FRAMES_HEADER_BYTES,
    TOOLWIRE_NO_CALL = 0, /* about the connection, not a call */
    /* Of a call's arguments; the body around them is one deeper. */
    TOOLWIRE_MAX_DEPTH = JSON_DEFAULT_MAX_DEPTH,
    TOOLWIRE_MAX_CHANGE_BYTES = 8 << 10,
};
#define TOOLWIRE_MAX_TIMEOUT_MS (INT64_C(24) * 60 * 60 * 1000)

/* The largest bodies, for files of at most this size (itself at most 64 MiB). */
size_t toolwire_max_request(uint64_t max_file_bytes);
size_t toolwire_max_answer(uint64_t max_file_bytes);

/* ---- frames ---- */

struct toolwire_frame {
    uint32_t call;
    enum toolwire_type type;
    struct str body;
};

/* Writes the header of a frame, which the body follows. */
void toolwire_write_header(uint32_t call, enum toolwire_type type, size_t body_len,
                           char out_header[TOOLWIRE_HEADER_BYTES]);

struct toolwire_decoder {
    enum toolwire_side from;
    struct frames_decoder frames;
};

/* For the stream from that side, with bodies of up to max_body_bytes. */
void toolwire_decoder_init(struct toolwire_decoder *decoder, enum toolwire_side from,
                           size_t max_body_bytes);
void toolwire_decoder_done(struct toolwire_decoder *decoder);

/* The body is invalid after it returns. An error ends the decoding. */
typedef int toolwire_frame_fn(void *data, const struct toolwire_frame *frame, struct err *err);

/*
 * Decodes the next bytes of the stream, split in any way. After an error nothing more is decoded,
 * since the rest has no meaning: ERR_TOO_LARGE for a frame over the limit, ERR_INVALID_ARGUMENT for
 * one that is malformed or not allowed from this side. A bad header is reported before its body was
 * received.
 */
int toolwire_feed(struct toolwire_decoder *decoder, struct str bytes, toolwire_frame_fn *on_frame,
                  void *data, struct err *err);

/* ---- bodies ---- */

struct toolwire_prepare {
    struct str tool;
    const struct json_value *arguments; /* an object */
    int64_t timeout_ms;                 /* for preparing, and again for running */
    int64_t keep_ms;                    /* how long it waits for RUN or DROP */
    bool may_list;                      /* the client may list any directory without a question */
};

/*
 * The text must outlive what is read from it. ERR_NO_MEMORY and ERR_TOO_LARGE come from the arena;
 * every other error means that the body is invalid.
 */
int toolwire_read_prepare(struct arena *arena, struct str body,
                          struct toolwire_prepare *out_prepare, struct err *err);

/* `has_begun`: a worker had started to run the call, and it may have taken effect. */
int toolwire_write_error(const struct err *error, bool has_begun, struct buf *out);

/* A total of 0 is unknown, and omitted. */
int toolwire_write_progress(uint64_t done, uint64_t total, const char *what, struct buf *out);

#endif
