/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs and gatehouse-transfer say to each other: one request, one answer. A request names
 * a server and a credential; whether that server may be asked, and what the credential is, only
 * gatehouse-transfer knows.
 */
#ifndef TRANSFER_WIRE_H
#define TRANSFER_WIRE_H

#include "base/buf.h"
#include "base/err.h"
#include "transfer/place.h"

enum transfer_operation {
    TRANSFER_PROBE = 1, /* does the protocol work here? */
    TRANSFER_GET,
    TRANSFER_PUT,
    TRANSFER_LIST, /* a directory */
    TRANSFER_EXEC, /* a command, of TRANSFER_SSH only */
    TRANSFER_OPERATION_END
};

enum {
    TRANSFER_MAX_ENTRIES = 1000, /* of a list */
    TRANSFER_MAX_OUTPUTS = TRANSFER_MAX_ENTRIES,
    TRANSFER_MAX_TARGET_BYTES = 32 << 10,
    TRANSFER_MAX_CREDENTIAL_BYTES = 64,
    TRANSFER_ENTRY_HEAD = 9, /* before the name of an entry */
};
#define TRANSFER_MAX_BYTES    (UINT32_C(128) << 20) /* of a request, and of an answer */
#define TRANSFER_UNKNOWN_SIZE UINT64_MAX

struct transfer_request {
    enum transfer_operation operation;
    enum transfer_protocol protocol;
    uint16_t port;
    uint32_t max_bytes;    /* of what comes back */
    struct str host;       /* as transfer_read_place() gives it */
    struct str target;     /* the path there, or the command */
    struct str credential; /* its name */
    struct str content;    /* of TRANSFER_PUT */
};

struct transfer_answer {
    int code;        /* 0, or of base/err.h */
    uint32_t status; /* of TRANSFER_EXEC: the command's; of TRANSFER_LIST: 1 if there are more */
    size_t output_count;
    /* The content; or what the command wrote to its two outputs; or entries. */
    struct str outputs[TRANSFER_MAX_OUTPUTS];
};

struct transfer_entry {
    char kind;     /* 'f', 'd', 'l', or '?' */
    uint64_t size; /* or TRANSFER_UNKNOWN_SIZE */
    struct str name;
};

bool transfer_is_credential(struct str name);

int transfer_write_request(const struct transfer_request *request, struct buf *out);
/* ERR_INVALID_ARGUMENT for one that is not complete, or beyond the limits. Strings are views. */
int transfer_read_request(struct str bytes, struct transfer_request *out_request, struct err *err);

int transfer_write_answer(const struct transfer_answer *answer, struct buf *out);
int transfer_write_error(const struct err *err, struct buf *out);
/* The same for an answer. One with a code other than 0 is returned as that error. */
int transfer_read_answer(struct str bytes, struct transfer_answer *out_answer, struct err *err);

int transfer_write_entry(const struct transfer_entry *entry, struct buf *out);
bool transfer_read_entry(struct str bytes, struct transfer_entry *out_entry);

#endif
