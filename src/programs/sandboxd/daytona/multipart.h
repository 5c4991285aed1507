/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a multipart/form-data body (RFC 7578) that comes in pieces of any size; the result does not
 * depend on how they were split. It keeps the head of a part and what may be the beginning of a
 * boundary, no content.
 *
 *     while ((event = multipart_next(&multipart, &bytes, &data)) > MULTIPART_MORE)
 *         ...
 */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_MULTIPART_H
#define PROGRAMS_SANDBOXD_DAYTONA_MULTIPART_H

#include "base/buf.h"
#include "base/str.h"

enum {
    MULTIPART_MAX_BOUNDARY = 70, /* by RFC 2046 */
    MULTIPART_MAX_HEAD_BYTES = 16 << 10,
    MULTIPART_MAX_PARTS = 20000,
};

enum multipart_event {
    MULTIPART_MORE, /* all bytes were consumed */
    MULTIPART_PART, /* a part begins: its name is multipart_name() */
    MULTIPART_DATA, /* some content of it, valid until the next call or until the piece goes */
    MULTIPART_PART_END,
    MULTIPART_END, /* the last boundary; what follows is ignored */
};

enum multipart_state {
    MULTIPART_IN_PREAMBLE,
    MULTIPART_AFTER_BOUNDARY, /* two dashes, or the end of the line */
    MULTIPART_IN_HEAD,
    MULTIPART_IN_CONTENT,
    MULTIPART_IN_EPILOGUE,
};

struct multipart {
    enum multipart_state state;
    char delimiter[MULTIPART_MAX_BOUNDARY + 5]; /* a newline, two dashes and the boundary */
    size_t delimiter_len;
    size_t matched; /* bytes of the delimiter at the end of the last piece */
    struct buf head;
    struct str name; /* in it */
    unsigned parts;
    int error;
};

/* The boundary is that of a Content-Type. ERR_INVALID_ARGUMENT if it has none. */
int multipart_init(struct multipart *multipart, struct str content_type);
void multipart_done(struct multipart *multipart);

/*
 * Consumes bytes and returns one event, or ERR_INVALID_REQUEST, ERR_TOO_LARGE or ERR_NO_MEMORY,
 * which is final.
 */
int multipart_next(struct multipart *multipart, struct str *bytes, struct str *out_data);

/* The name of the present part, until its end. */
struct str multipart_name(const struct multipart *multipart);

#endif
