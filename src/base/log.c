/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/printable.h"
#include "base/redact.h"
#include "base/utf8.h"

/* In place of the fields that did not fit. */
#define LOG_JSON_CUT_END ",\"cut\":true}"

static const char *const level_names[] = {
    [LOG_SILENT] = "silent", [LOG_ERROR] = "error", [LOG_WARN] = "warn",
    [LOG_INFO] = "info",     [LOG_DEBUG] = "debug",
};

/* syslog's numbers, which the journal reads from the start of a line. */
static const int journal_levels[] = {
    [LOG_ERROR] = 3, [LOG_WARN] = 4, [LOG_INFO] = 6, [LOG_DEBUG] = 7};

/* systemd identifies the stream it gave us by device and inode. */
static bool is_journal(int fd)
{
    const char *stream = getenv("JOURNAL_STREAM");
    char expected[64];
    struct stat about;

    if (stream == NULL || fstat(fd, &about) < 0)
        return false;
    snprintf(expected, sizeof(expected), "%llu:%llu", (unsigned long long)about.st_dev,
             (unsigned long long)about.st_ino);
    return strcmp(stream, expected) == 0;
}

void log_init(struct log *log, int fd, enum log_level threshold, const struct clock *clock)
{
    *log = (struct log){
        .fd = fd,
        .threshold = threshold,
        .format = is_journal(fd) ? LOG_JOURNAL : LOG_PLAIN,
        .clock = clock,
    };
}

bool log_level_from(struct str name, enum log_level *out_level)
{
    for (size_t i = 0; i < array_size(level_names); i++) {
        if (str_eq_c(name, level_names[i])) {
            *out_level = (enum log_level)i;
            return true;
        }
    }
    return false;
}

const char *log_level_name(enum log_level level)
{
    return level_names[level];
}

/* A value that needs no quotes: one word of printable ASCII, nothing to escape. */
static bool is_bare(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\')
            return false;
    }
    return text.len > 0;
}

static int append_text(struct buf *out, struct str text, bool is_message)
{
    cleanup_buf struct buf redacted = BUF_INIT(LOG_VALUE_MAX_BYTES);
    struct str view;
    size_t used;
    int r;

    /* What cannot be redacted is not shown. */
    if (redact_cut(text, LOG_VALUE_MAX_BYTES, &redacted, &used) < 0)
        return buf_append_str(out, STR(REDACT_MARK));
    view = buf_view(&redacted);
    if (is_message) {
        r = printable_append(out, view, PRINTABLE_LINE);
    } else if (is_bare(view)) {
        r = buf_append_str(out, view);
    } else {
        r = buf_append_char(out, '"');
        if (r == 0)
            r = printable_append(out, view, PRINTABLE_QUOTED);
        if (r == 0)
            r = buf_append_char(out, '"');
    }
    if (r == 0 && used < text.len)
        r = buf_printf(out, "+%zu-bytes", text.len - used);
    return r;
}

/* As it is in JSON: in ASCII, so that no character of it means anything to a terminal. */
static int append_json_text(struct buf *out, struct str text)
{
    cleanup_buf struct buf redacted = BUF_INIT(LOG_VALUE_MAX_BYTES);
    struct str left = STR(REDACT_MARK);
    size_t used = text.len;
    int r = buf_append_char(out, '"');

    if (redact_cut(text, LOG_VALUE_MAX_BYTES, &redacted, &used) == 0)
        left = buf_view(&redacted);
    while (left.len > 0 && r == 0) {
        uint32_t c;

        (void)utf8_next(&left, &c); /* U+FFFD for what is not UTF-8 */
        if (c == '"' || c == '\\')
            r = buf_printf(out, "\\%c", (int)c);
        else if (c >= ' ' && c < 0x7f)
            r = buf_append_char(out, (char)c);
        else if (c <= 0xffff)
            r = buf_printf(out, "\\u%04x", (unsigned)c);
        else
            r = buf_printf(out, "\\u%04x\\u%04x", 0xd7c0U + (unsigned)(c >> 10),
                           0xdc00U + (unsigned)(c & 0x3ff));
    }
    if (r == 0 && used < text.len)
        r = buf_printf(out, "+%zu-bytes", text.len - used);
    return r < 0 ? r : buf_append_char(out, '"');
}

static int append_json_start(struct buf *out, const struct log *log, enum log_level level,
                             const char *message)
{
    char time[CLOCK_ISO_BYTES];
    int r = 0;

    if (log->format == LOG_JOURNAL)
        r = buf_printf(out, "<%d>", journal_levels[level]);
    clock_format_iso(clock_wall_ms(log->clock), time);
    if (r == 0)
        r = buf_printf(out, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":", time,
                       level_names[level]);
    return r < 0 ? r : append_json_text(out, str_from(message));
}

static int append_json_field(struct buf *out, const struct log_field *field)
{
    int r = buf_printf(out, ",\"%s\":", field->key);

    if (r < 0)
        return r;
    if (redact_names_secret(str_from(field->key)))
        return append_json_text(out, STR(REDACT_MARK));
    switch (field->type) {
    case LOG_FIELD_STR:
        return append_json_text(out, field->text);
    case LOG_FIELD_INT:
        return buf_printf(out, "%lld", (long long)field->number);
    }
    return 0;
}

static int append_start(struct buf *out, const struct log *log, enum log_level level,
                        const char *message)
{
    char time[CLOCK_ISO_BYTES];
    int r;

    if (log->format == LOG_JOURNAL) {
        r = buf_printf(out, "<%d>", journal_levels[level]);
    } else {
        clock_format_iso(clock_wall_ms(log->clock), time);
        r = buf_printf(out, "%s %-5s ", time, level_names[level]);
    }
    return r < 0 ? r : append_text(out, str_from(message), true);
}

static int append_field(struct buf *out, const struct log_field *field)
{
    int r = buf_printf(out, " %s=", field->key);

    if (r < 0)
        return r;
    if (redact_names_secret(str_from(field->key)))
        return buf_append_str(out, STR(REDACT_MARK));
    switch (field->type) {
    case LOG_FIELD_STR:
        return append_text(out, field->text, false);
    case LOG_FIELD_INT:
        return buf_printf(out, "%lld", (long long)field->number);
    }
    return 0;
}

/*
 * Each piece is formatted separately and appended whole: half of one, or one after a piece that did
 * not fit, would say something that nobody logged. Room for the end is kept after every piece.
 */
void log_format_line(const struct log *log, enum log_level level, const char *message,
                     const struct log_field *fields, size_t count, struct buf *out)
{
    const struct str end = log->is_json ? STR("}") : STR_EMPTY;
    const struct str cut = log->is_json ? STR(LOG_JSON_CUT_END) : STR(LOG_CUT_MARK);
    cleanup_buf struct buf piece = BUF_INIT(LOG_LINE_MAX_BYTES);
    int r = log->is_json ? append_json_start(&piece, log, level, message)
                         : append_start(&piece, log, level, message);

    for (size_t i = 0;; i++) {
        if (r == 0)
            r = buf_reserve(out, piece.len + cut.len);
        if (r < 0) {
            buf_append_str(out, cut);
            return;
        }
        buf_append_str(out, buf_view(&piece));
        if (i == count) {
            buf_append_str(out, end);
            return;
        }
        buf_clear(&piece);
        r = log->is_json ? append_json_field(&piece, &fields[i]) : append_field(&piece, &fields[i]);
    }
}

void log_write_fields(const struct log *log, enum log_level level, const char *message,
                      const struct log_field *fields, size_t count)
{
    cleanup_buf struct buf line = BUF_INIT(LOG_LINE_MAX_BYTES);
    struct str rest;

    if (!log_wants(log, level))
        return;
    if (log->also != NULL)
        log->also(log->also_data, level, message, fields, count);
    if (log->fd < 0)
        return;
    /* Room for the line's end, kept free from the start. */
    line.max = LOG_LINE_MAX_BYTES - 1;
    log_format_line(log, level, message, fields, count, &line);
    line.max = LOG_LINE_MAX_BYTES;
    /* Without its end it would run into the next one. */
    if (buf_append_char(&line, '\n') < 0)
        return;
    rest = buf_view(&line);
    while (rest.len > 0) {
        ssize_t written = write(log->fd, rest.ptr, rest.len);

        if (written < 0 && errno == EINTR)
            continue;
        /* There is nowhere left to report that the log cannot be written. */
        if (written <= 0)
            return;
        rest = str_slice(rest, (size_t)written, rest.len);
    }
}

void log_error(const struct log *log, const char *message, const struct err *err)
{
    const struct log_field fields[] = {
        LOG_TEXT("error", err_name(err->code)),
        LOG_TEXT("reason", err->message),
        LOG_TEXT("field", err->field),
    };

    log_write_fields(log, LOG_ERROR, message, fields, err->field[0] != '\0' ? 3 : 2);
}
