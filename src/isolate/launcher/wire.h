/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between a launcher and its client: one per packet, parsed as untrusted input, since
 * the client may be compromised. Numbers are in host byte order; both are the same program.
 */
#ifndef ISOLATE_LAUNCHER_WIRE_H
#define ISOLATE_LAUNCHER_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "isolate/box/box.h"

enum {
    LAUNCHER_MAX_MESSAGE = 128 << 10,
    LAUNCHER_MAX_WORDS = 256, /* of a command, and of variables */
    LAUNCHER_MAX_DENIALS = 512,
};

enum launcher_request_kind { LAUNCHER_START, LAUNCHER_SIGNAL };

struct launcher_request {
    enum launcher_request_kind kind;
    uint32_t number; /* the client's id of the command */
    int signal;
    /*
     * For a start. The lists are NULL-terminated; after parsing, all strings point into the
     * message.
     */
    bool wants_stdin; /* else it reads from /dev/null */
    bool wants_pty;
    unsigned short rows;
    unsigned short columns;
    const char *cwd;
    size_t word_count;
    const char *words[LAUNCHER_MAX_WORDS + 1];
    size_t variable_count; /* NAME=value: added to the envelope's, or replacing them */
    const char *variables[LAUNCHER_MAX_WORDS + 1];
    size_t at_most_count; /* places of the envelope, in its order; the others are unchanged */
    enum box_access at_most[BOX_MAX_PLACES];
    size_t denial_count; /* in addition to the envelope's */
    struct box_denial denials[LAUNCHER_MAX_DENIALS];
};

enum launcher_notice_kind {
    LAUNCHER_STARTED, /* with its file descriptors */
    LAUNCHER_REFUSED, /* not started; the number is free again */
    LAUNCHER_ENDED,   /* no process of it is left */
};

struct launcher_notice {
    enum launcher_notice_kind kind;
    uint32_t number;
    /* Refused: */
    struct err err;
    /* Ended: */
    bool is_signal;
    int value; /* exit code or signal */
};

/* ERR_TOO_LARGE over a limit; ERR_INVALID_ARGUMENT for what the receiver would refuse. */
int launcher_wire_write_request(const struct launcher_request *request, struct buf *out);
int launcher_wire_write_notice(const struct launcher_notice *notice, struct buf *out);

/* ERR_INVALID_REQUEST for anything that the functions above would not have written. */
int launcher_wire_read_request(struct str message, struct launcher_request *out_request);
int launcher_wire_read_notice(struct str message, struct launcher_notice *out_notice);

#endif
