/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines of a program: a message and key=value fields, one write each, to one file descriptor.
 * Only programs log; libraries return errors.
 *
 *     log_write(&log, LOG_WARN, "stream closed", LOG_INT("attempt", 3), LOG_STR("url", url));
 *     2026-03-01T12:00:00.123Z warn stream closed attempt=3 url="http://localhost:5678/ x"
 *
 * or, for programs that read logs, one JSON object a line:
 *
 *     {"time":"2026-03-01T12:00:00.123Z","level":"warn","message":"stream closed","attempt":3,…}
 *
 * A field always stays on its line: control characters, invisible marks and invalid UTF-8 are
 * escaped. A line over its limit ends before the field that does not fit, with LOG_CUT_MARK in its
 * place, or "cut":true in JSON. A field is not called time, level, message or cut.
 *
 * Secrets are redacted. The value of a field whose name ends in a word for one ("token",
 * "Set-Cookie", "client_secret") is replaced, and so is, in any text:
 *
 *   - the value of such a name: token=…, "token": "…", Authorization: Bearer …
 *   - what follows Bearer or Basic
 *   - our own keys: gw_…, sess_…
 *   - the password of a URL: https://user:…@host
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

enum log_level {
    LOG_SILENT, /* only as a threshold */
    LOG_ERROR,
    LOG_WARN,
    LOG_INFO,
    LOG_DEBUG,
};

enum log_format {
    LOG_PLAIN,   /* time, level, message */
    LOG_JOURNAL, /* "<6>" and the message: the journal adds the time */
};

enum {
    LOG_LINE_MAX_BYTES = 8192,
    LOG_VALUE_MAX_BYTES = 1024, /* of a message or value; longer ones are cut and marked */
};

/* Marks a cut line. Values that contain it are quoted, so none can forge it. */
#define LOG_CUT_MARK " \u2026"

struct log_field;

/* Also receives what is logged, to store it elsewhere in its own format. */
typedef void log_also_fn(void *data, enum log_level level, const char *message,
                         const struct log_field *fields, size_t count);

struct log {
    int fd; /* -1: only to `also` */
    enum log_level threshold;
    enum log_format format;
    bool is_json;
    const struct clock *clock;
    log_also_fn *also; /* or NULL */
    void *also_data;
};

struct log_field {
    const char *key;
    enum { LOG_FIELD_STR, LOG_FIELD_INT } type;
    struct str text;
    int64_t number;
};

#define LOG_STR(key_, view)                                                                        \
    {                                                                                              \
        .key = (key_), .type = LOG_FIELD_STR, .text = (view)                                       \
    }
#define LOG_TEXT(key_, c_text)                                                                     \
    {                                                                                              \
        .key = (key_), .type = LOG_FIELD_STR, .text = str_from(c_text)                             \
    }
#define LOG_INT(key_, value)                                                                       \
    {                                                                                              \
        .key = (key_), .type = LOG_FIELD_INT, .number = (value)                                    \
    }

/* Writes to `fd`; in journal format if it is the one that systemd's JOURNAL_STREAM names. */
void log_init(struct log *log, int fd, enum log_level threshold, const struct clock *clock);

/* "silent", "error", "warn", "info", "debug"; false for anything else. */
bool log_level_from(struct str name, enum log_level *out_level);
const char *log_level_name(enum log_level level);

static inline bool log_wants(const struct log *log, enum log_level level)
{
    return level != LOG_SILENT && level <= log->threshold;
}

/* Evaluates the fields only if the level is enabled. */
#define log_write(log, level, message, ...)                                                        \
    do {                                                                                           \
        if (log_wants((log), (level))) {                                                           \
            const struct log_field log_fields_[] = {{0}, ##__VA_ARGS__};                           \
                                                                                                   \
            log_write_fields((log), (level), (message), log_fields_ + 1,                           \
                             sizeof(log_fields_) / sizeof(log_fields_[0]) - 1);                    \
        }                                                                                          \
    } while (0)

/* Logs an error that is not passed on: its text, name and field. */
void log_error(const struct log *log, const char *message, const struct err *err);

void log_write_fields(const struct log *log, enum log_level level, const char *message,
                      const struct log_field *fields, size_t count);

/* Formats the line without its newline, for storing it elsewhere and for tests. */
void log_format_line(const struct log *log, enum log_level level, const char *message,
                     const struct log_field *fields, size_t count, struct buf *out);

#endif
