/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What gatehouse-media is asked and what it answers: one request, then one answer, each complete
 * when its sender closes. Numbers are little endian; lengths come before all bytes.
 *
 *     request: u8 operation | u8 format | u8 fit | u8 0 | u32 width, height, x, y, quality,
 *              max_bytes, ranges, inputs | (u32 first, u32 last) for each range |
 *              u32 length of each input | inputs
 *     answer:  u8 code | u8 format | u16 0 | u32 width, height, first, last, total, outputs |
 *              u32 length of each output | outputs
 *
 * A code other than 0 is an error; then the only output is a sentence about it.
 */
#ifndef MEDIA_WIRE_H
#define MEDIA_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* Which libraries a request needs: another process each. */
enum media_job { MEDIA_JOB_IMAGE = 1, MEDIA_JOB_DOCUMENT, MEDIA_JOB_TEXT, MEDIA_JOB_END };

enum media_operation {
    MEDIA_PROBE = 1, /* of any job: does it work here? */
    MEDIA_RESIZE,
    MEDIA_CROP,
    MEDIA_CONVERT,
    MEDIA_FIT,   /* smaller until it has at most max_bytes, for who only looks at it */
    MEDIA_SPLIT, /* an output for each range; without ranges, for each page */
    MEDIA_MERGE, /* all inputs in one */
    MEDIA_PART,  /* from the first page of the range on, as many as max_bytes hold */
    MEDIA_TEXT,  /* of the pages in the range */
    MEDIA_OPERATION_END
};

enum media_format {
    MEDIA_NO_FORMAT, /* of a request: that of the input */
    MEDIA_JPEG,
    MEDIA_PNG,
    MEDIA_WEBP,
    MEDIA_AVIF,
    MEDIA_GIF,
    MEDIA_FORMAT_END
};

/* How an image gets into width x height. */
enum media_fit {
    MEDIA_INSIDE, /* not larger in either, in its proportions */
    MEDIA_COVER,  /* exactly, cut at the longer sides */
    MEDIA_FILL,   /* exactly, out of proportion */
    MEDIA_FIT_END
};

enum {
    MEDIA_MAX_INPUTS = 64,
    MEDIA_MAX_RANGES = 1024,
    MEDIA_MAX_OUTPUTS = MEDIA_MAX_RANGES,
    MEDIA_MAX_SIDE = 16384, /* pixels */
    MEDIA_MAX_QUALITY = 100,
};
#define MEDIA_MAX_BYTES (UINT32_C(256) << 20) /* of a request, and of an answer */

struct media_range {
    uint32_t first; /* pages, from 1 */
    uint32_t last;  /* 0: to the end */
};

struct media_request {
    enum media_operation operation;
    enum media_format format;
    enum media_fit fit;
    uint32_t width; /* 0: by the height */
    uint32_t height;
    uint32_t x;
    uint32_t y;
    uint32_t quality; /* 0: the format's usual one */
    uint32_t max_bytes;
    size_t range_count;
    struct media_range ranges[MEDIA_MAX_RANGES];
    size_t input_count;
    struct str inputs[MEDIA_MAX_INPUTS];
};

struct media_answer {
    int code; /* 0, or of base/err.h */
    enum media_format format;
    uint32_t width; /* of the result; of MEDIA_FIT: of the input */
    uint32_t height;
    uint32_t first; /* pages of MEDIA_PART */
    uint32_t last;
    uint32_t total; /* pages; of MEDIA_PROBE: a bit for each format */
    size_t output_count;
    struct str outputs[MEDIA_MAX_OUTPUTS];
};

/* By name, "jpeg" and the like; MEDIA_NO_FORMAT if there is no such format. */
enum media_format media_format_by_name(struct str name);
/* By the ending of a file's name. */
enum media_format media_format_by_ending(struct str name);
/* By its first bytes. */
enum media_format media_format_by_content(struct str bytes);
const char *media_format_name(enum media_format format);

/* The job that does it. MEDIA_PROBE is of all of them. */
enum media_job media_job_of(enum media_operation operation);

/* ERR_TOO_LARGE beyond the limits. */
int media_write_request(const struct media_request *request, struct buf *out);
/* ERR_INVALID_ARGUMENT for one that is not complete, or beyond the limits. Inputs are views. */
int media_read_request(struct str bytes, struct media_request *out_request, struct err *err);

int media_write_answer(const struct media_answer *answer, struct buf *out);
int media_write_error(const struct err *err, struct buf *out);
/* The same for an answer. One with a code other than 0 is returned as that error. */
int media_read_answer(struct str bytes, struct media_answer *out_answer, struct err *err);

#endif
