/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames between gatehouse-authority and its host (docs/authority-protocol.md): those of
 * ipc/frames.h, whose body is the length of a JSON text, the text, and bytes.
 */
#ifndef PROGRAMS_AUTHORITY_WIRE_H
#define PROGRAMS_AUTHORITY_WIRE_H

#include "ipc/frames.h"

enum wire_type {
    WIRE_READY,
    WIRE_REQUEST,
    WIRE_RESULT,
    WIRE_ERROR,
    WIRE_CANCEL,
    WIRE_QUESTION,
    WIRE_ANSWER,
    WIRE_EVENT,
    WIRE_CHANGE,
};

enum {
    WIRE_MAX_CONTENT = 64 << 20,
    WIRE_MAX_JSON = 1 << 20, /* of the host's */
    WIRE_JSON_LENGTH = 4,
    WIRE_HEAD = FRAMES_HEADER_BYTES + WIRE_JSON_LENGTH,
};

/* The largest body of a frame of the host. */
#define WIRE_MAX_BODY ((size_t)WIRE_JSON_LENGTH + WIRE_MAX_JSON + WIRE_MAX_CONTENT)

/* Whether the host may send such a frame; its body may be missing yet. */
int wire_check(void *data, const struct ipc_frame *frame, struct err *err);

/* Takes a body apart; ERR_INVALID_ARGUMENT if it is too short, ERR_TOO_LARGE over a limit. */
int wire_parse_body(struct str body, struct str *out_json, struct str *out_content,
                    struct err *err);

/* What comes before the JSON. */
void wire_write_head(uint32_t number, enum wire_type type, size_t json_len, size_t content_len,
                     char out_head[WIRE_HEAD]);

#endif
