/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames on a stream socket between our own processes, for bodies that do not fit into a packet.
 * Who uses it defines the types and checks the content.
 *
 *     u32 length of what follows | u32 number | u8 type | body     (little endian)
 */
#ifndef IPC_FRAMES_H
#define IPC_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum {
    FRAMES_HEADER_BYTES = 9,
    FRAMES_UNCOUNTED_BYTES = 4, /* the length does not count itself */
};

struct ipc_frame {
    uint32_t number;
    uint8_t type;
    struct str body;
};

/* Writes the header of a frame, which the body follows. */
void frames_write_header(uint32_t number, uint8_t type, size_t body_len,
                         char out_header[FRAMES_HEADER_BYTES]);

struct frames_decoder {
    struct buf begun; /* incomplete frame */
    bool is_broken;
};

/* For bodies of up to max_body_bytes. */
void frames_decoder_init(struct frames_decoder *decoder, size_t max_body_bytes);
void frames_decoder_done(struct frames_decoder *decoder);

struct frames_events {
    /* Whether such a frame may come, before its body is received; the body is only its length. */
    int (*check)(void *data, const struct ipc_frame *frame, struct err *err);
    /* The body is invalid after it returns. An error ends the decoding. */
    int (*on_frame)(void *data, const struct ipc_frame *frame, struct err *err);
    void *data;
};

/*
 * Decodes the next bytes of the stream, split in any way. After an error nothing more is decoded,
 * since the rest has no meaning: ERR_TOO_LARGE for a frame over the limit, ERR_INVALID_ARGUMENT for
 * one without a header, or that of a callback.
 */
int frames_feed(struct frames_decoder *decoder, struct str bytes,
                const struct frames_events *events, struct err *err);

#endif
