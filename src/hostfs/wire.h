/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server and gatehouse-hostfs say to each other: requests of clients as they came, and
 * complete answers. In frames of ipc/frames.h, whose type is the operation.
 *
 *     request: u8 major of the protocol | u8 access | body of the request
 *     answer:  u16 HTTP status, little endian | body of the answer, JSON
 *     ready:   u16 features, little endian; the first frame, once, with number 0
 */
#ifndef HOSTFS_WIRE_H
#define HOSTFS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "ipc/frames.h"

/* Operations, and the types of frames from the server. */
enum hostfs_operation {
    HOSTFS_READ = 1,
    HOSTFS_WRITE,
    HOSTFS_DELETE,
    HOSTFS_STAT,
    HOSTFS_LIST,
    HOSTFS_ARCHIVE,
    HOSTFS_IMAGE,
    HOSTFS_PDF,
    HOSTFS_TRANSPORT,
    HOSTFS_RUN_START,
    HOSTFS_RUN_GET,    /* the body is the run's id */
    HOSTFS_RUN_EVENTS, /* same */
    HOSTFS_OPERATION_END
};

/* Types of frames from the process. */
enum { HOSTFS_ANSWER = 0x40, HOSTFS_READY = 0x41 };

/* Of the OpenWOP protocol. */
enum hostfs_major { HOSTFS_V1 = 1, HOSTFS_V2 = 2 };

/* What the client's key allows. */
enum { HOSTFS_MAY_READ = 1 << 0, HOSTFS_MAY_WRITE = 1 << 1 };

/* What works on this machine beyond the five operations. */
enum {
    HOSTFS_HAS_ARCHIVE = 1 << 0,
    HOSTFS_HAS_IMAGE = 1 << 1,
    HOSTFS_HAS_PDF = 1 << 2,
    HOSTFS_HAS_FTP = 1 << 3,
    HOSTFS_HAS_SFTP = 1 << 4,
    HOSTFS_HAS_SSH = 1 << 5,
    HOSTFS_HAS_TRANSPORT = HOSTFS_HAS_FTP | HOSTFS_HAS_SFTP | HOSTFS_HAS_SSH, /* any of them */
    HOSTFS_FORMAT_SHIFT = 8, /* of images: 1 << (HOSTFS_FORMAT_SHIFT + MEDIA_JPEG) and so on */
};

enum {
    HOSTFS_REQUEST_HEAD = 2,
    HOSTFS_ANSWER_HEAD = 2,
    HOSTFS_READY_BYTES = 2,
    HOSTFS_BODY_SPARE = 1 << 20,   /* of a request, beyond the bytes of a file */
    HOSTFS_ANSWER_SPARE = 8 << 20, /* the same of an answer: a list */
};

struct hostfs_request {
    enum hostfs_operation operation;
    enum hostfs_major major;
    unsigned access;
    struct str body;
};

/* The largest bodies for files of at most this size, which are base64 there. */
size_t hostfs_max_request(uint64_t max_file_bytes);
size_t hostfs_max_answer(uint64_t max_file_bytes);

/* frames_events.check for each side. */
int hostfs_check_request(void *data, const struct ipc_frame *frame, struct err *err);
int hostfs_check_answer(void *data, const struct ipc_frame *frame, struct err *err);

/* ERR_INVALID_ARGUMENT for one that the server never sends. */
int hostfs_read_request(const struct ipc_frame *frame, struct hostfs_request *out_request,
                        struct err *err);
void hostfs_write_request_head(const struct hostfs_request *request,
                               char out_head[HOSTFS_REQUEST_HEAD]);

void hostfs_write_ready(unsigned features, char out_body[HOSTFS_READY_BYTES]);
unsigned hostfs_read_ready(const char body[HOSTFS_READY_BYTES]);

int hostfs_read_answer(const struct ipc_frame *frame, int *out_status, struct str *out_body);
void hostfs_write_answer_head(int status, char out_head[HOSTFS_ANSWER_HEAD]);

#endif
