/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's log as a file in its state directory: for those who look later, where no service
 * manager keeps what it says. A full file makes way for a new one and the oldest goes, so that all
 * of them together have a ceiling. What cannot be written is counted, told of when writing works
 * again, and stops nothing.
 *
 * It is hooked into a struct log, which hides secrets:
 *
 *     log.also = logfile_write;
 *     log.also_data = file;
 *
 * One process writes to a name, from one thread at a time.
 */
#ifndef PROGRAMS_CONNECT_LOGFILE_H
#define PROGRAMS_CONNECT_LOGFILE_H

#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"

enum {
    LOGFILE_MAX_BYTES = 4 << 20, /* of one file */
    LOGFILE_KEPT = 3,            /* older ones: NAME.1 is the last before this */
    LOGFILE_LEAST_BYTES = 2 * LOG_LINE_MAX_BYTES,
    LOGFILE_NAME_BYTES = 64,
};

struct logfile_config {
    const char *directory; /* private, made if it is missing */
    const char *name;      /* in it: "daemon-7655.log" */
    uint64_t max_bytes;    /* 0: LOGFILE_MAX_BYTES; at least LOGFILE_LEAST_BYTES */
    unsigned kept;         /* 0: LOGFILE_KEPT */
    const struct clock *clock;
};

struct logfile;

/*
 * The file is 0600, and made so if it is not. A link, or what is no file of the user's own, is
 * refused. The process ignores SIGXFSZ from here on.
 */
int logfile_open(const struct logfile_config *config, struct logfile **out_file, struct err *err);
void logfile_close(struct logfile *file);

/* A log_also_fn; `data` is a struct logfile. */
void logfile_write(void *data, enum log_level level, const char *message,
                   const struct log_field *fields, size_t count);

/* Lines that could not be written and were not told of yet. */
uint64_t logfile_lost(const struct logfile *file);

#endif
