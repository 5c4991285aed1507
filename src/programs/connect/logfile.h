/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's log as a file in its state directory, for later reading where no service manager
 * keeps it. A full file is rotated and the oldest is deleted, so that their total size is limited.
 * Lines that cannot be written are counted and reported when writing works again; nothing stops
 * because of them.
 *
 * Attach it to a struct log, which redacts secrets:
 *
 *     log.also = logfile_write;
 *     log.also_data = file;
 *
 * One process writes to a file name, from one thread at a time.
 */
#ifndef PROGRAMS_CONNECT_LOGFILE_H
#define PROGRAMS_CONNECT_LOGFILE_H

#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"

enum {
    LOGFILE_MAX_BYTES = 4 << 20, /* of one file */
    LOGFILE_KEPT = 3,            /* rotated files: NAME.1 is the newest of them */
    LOGFILE_LEAST_BYTES = 2 * LOG_LINE_MAX_BYTES,
    LOGFILE_NAME_BYTES = 64,
};

struct logfile_config {
    const char *directory; /* private, created if missing */
    const char *name;      /* file name: "daemon-7655.log" */
    uint64_t max_bytes;    /* 0: LOGFILE_MAX_BYTES; at least LOGFILE_LEAST_BYTES */
    unsigned kept;         /* 0: LOGFILE_KEPT */
    const struct clock *clock;
};

struct logfile;

/*
 * Sets the file's mode to 0600. Refuses a link, and anything but a regular file of this user. The
 * process ignores SIGXFSZ from here on.
 */
int logfile_open(const struct logfile_config *config, struct logfile **out_file, struct err *err);
void logfile_close(struct logfile *file);

/* A log_also_fn; `data` is a struct logfile. */
void logfile_write(void *data, enum log_level level, const char *message,
                   const struct log_field *fields, size_t count);

#endif
