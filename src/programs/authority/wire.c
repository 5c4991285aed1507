/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/authority/wire.h"

#include "ipc/bytes.h"

int wire_check(void *data, const struct ipc_frame *frame, struct err *err)
{
    (void)data;
    if (frame->type != WIRE_REQUEST && frame->type != WIRE_CANCEL && frame->type != WIRE_ANSWER)
        return err_set(err, ERR_INVALID_ARGUMENT, "a frame of unknown type %d", frame->type);
    return 0;
}

int wire_parse_body(struct str body, struct str *out_json, struct str *out_content, struct err *err)
{
    struct bytes_rest rest = {.bytes = body};
    uint32_t json_len = bytes_take_u32(&rest);
    struct str json = bytes_take(&rest, json_len);

    if (rest.is_short)
        return err_set(err, ERR_INVALID_ARGUMENT, "a frame is shorter than its JSON");
    if (json.len > WIRE_MAX_JSON)
        return err_set(err, ERR_TOO_LARGE, "the JSON of a frame is over 1 MiB");
    if (rest.bytes.len > WIRE_MAX_CONTENT)
        return err_set(err, ERR_TOO_LARGE, "the content of a frame is over 64 MiB");
    *out_json = json;
    *out_content = rest.bytes;
    return 0;
}

void wire_write_head(uint32_t number, enum wire_type type, size_t json_len, size_t content_len,
                     char out_head[WIRE_HEAD])
{
    uint32_t len = (uint32_t)json_len;

    frames_write_header(number, (uint8_t)type, WIRE_JSON_LENGTH + json_len + content_len, out_head);
    for (int i = 0; i < WIRE_JSON_LENGTH; i++)
        out_head[FRAMES_HEADER_BYTES + i] = (char)(len >> (8 * i) & 0xFF);
}
