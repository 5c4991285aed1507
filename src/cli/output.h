/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffered text output. The first error is kept and later calls do nothing, so only output_finish()
 * must be checked. A reader that has closed the pipe is no error.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <signal.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum {
    OUTPUT_FLUSH_BYTES = 64 << 10,
    /* The largest line: a match with all the lines around it, as JSON. */
    OUTPUT_MAX_BYTES = 1 << 20,
};

struct output {
    int fd;
    const volatile sig_atomic_t *stopped_by; /* not 0: nothing more is written */
    struct buf text;
    int error;       /* ERR_* */
    int errno_value; /* errno of a system error */
    bool has_no_reader;
};

#define OUTPUT_INIT(fd_, stopped_by_)                                                              \
    {                                                                                              \
        .fd = (fd_), .stopped_by = (stopped_by_), .text = BUF_INIT(OUTPUT_MAX_BYTES)               \
    }

void output_done(struct output *output);
#define cleanup_output cleanup_with(output_done)

void output_str(struct output *output, struct str text);
void output_printf(struct output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds untrusted text, escaped by a rule of base/printable. */
void output_shown(struct output *output, struct str text, unsigned rule);

/* Ends a line; flushes if the buffer is full enough. */
void output_line_end(struct output *output);

/* Writes what there is so far: for text without line ends. */
void output_flush(struct output *output);

/* Writes everything; returns 0 or the first error, with a message in `err`. */
int output_finish(struct output *output, struct err *err);

#endif
