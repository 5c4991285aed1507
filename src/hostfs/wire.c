/* SPDX-License-Identifier: Apache-2.0 */
#include "hostfs/wire.h"

enum { LEAST_STATUS = 200, LARGEST_STATUS = 599 };

static size_t encoded(uint64_t bytes)
{
    return (size_t)((bytes + 2) / 3 * 4);
}

size_t hostfs_max_request(uint64_t max_file_bytes)
{
    return encoded(max_file_bytes) + HOSTFS_BODY_SPARE;
}

size_t hostfs_max_answer(uint64_t max_file_bytes)
{
    return encoded(max_file_bytes) + HOSTFS_ANSWER_SPARE;
}

int hostfs_check_request(void *data, const struct ipc_frame *frame, struct err *err)
{
    (void)data;
    if (frame->type < HOSTFS_READ || frame->type >= HOSTFS_OPERATION_END || frame->number == 0 ||
        frame->body.len < HOSTFS_REQUEST_HEAD)
        return err_set(err, ERR_INVALID_ARGUMENT, "not a request: type 0x%02x, number %u",
                       frame->type, (unsigned)frame->number);
    return 0;
}

int hostfs_check_answer(void *data, const struct ipc_frame *frame, struct err *err)
{
    bool is_ready =
        frame->type == HOSTFS_READY && frame->number == 0 && frame->body.len == HOSTFS_READY_BYTES;
    bool is_answer =
        frame->type == HOSTFS_ANSWER && frame->number != 0 && frame->body.len >= HOSTFS_ANSWER_HEAD;

    (void)data;
    return is_ready || is_answer
               ? 0
               : err_set(err, ERR_INVALID_ARGUMENT, "not an answer: type 0x%02x, number %u",
                         frame->type, (unsigned)frame->number);
}

int hostfs_read_request(const struct ipc_frame *frame, struct hostfs_request *out_request,
                        struct err *err)
{
    unsigned major = (unsigned char)frame->body.ptr[0];
    unsigned access = (unsigned char)frame->body.ptr[1];

    if (major != HOSTFS_V1 && major != HOSTFS_V2)
        return err_set(err, ERR_INVALID_ARGUMENT, "a request of version %u", major);
    *out_request = (struct hostfs_request){
        .operation = (enum hostfs_operation)frame->type,
        .major = (enum hostfs_major)major,
        .access = access,
        .body = str_slice(frame->body, HOSTFS_REQUEST_HEAD, frame->body.len)};
    return 0;
}

void hostfs_write_request_head(const struct hostfs_request *request,
                               char out_head[HOSTFS_REQUEST_HEAD])
{
    out_head[0] = (char)request->major;
    out_head[1] = (char)request->access;
}

int hostfs_read_answer(const struct ipc_frame *frame, int *out_status, struct str *out_body)
{
    int status = (unsigned char)frame->body.ptr[0] | (int)(unsigned char)frame->body.ptr[1] << 8;

    if (status < LEAST_STATUS || status > LARGEST_STATUS)
        return ERR_INVALID_ARGUMENT;
    *out_status = status;
    *out_body = str_slice(frame->body, HOSTFS_ANSWER_HEAD, frame->body.len);
    return 0;
}

void hostfs_write_answer_head(int status, char out_head[HOSTFS_ANSWER_HEAD])
{
    out_head[0] = (char)(status & 0xff);
    out_head[1] = (char)(status >> 8);
}

void hostfs_write_ready(unsigned features, char out_body[HOSTFS_READY_BYTES])
{
    out_body[0] = (char)(features & 0xff);
    out_body[1] = (char)(features >> 8);
}

unsigned hostfs_read_ready(const char body[HOSTFS_READY_BYTES])
{
    return (unsigned char)body[0] | (unsigned)(unsigned char)body[1] << 8;
}
