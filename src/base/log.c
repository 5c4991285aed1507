/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"

#define REDACTED "[redacted]"

static const char *const level_names[] = {
    [LOG_SILENT] = "silent", [LOG_ERROR] = "error", [LOG_WARN] = "warn",
    [LOG_INFO] = "info",     [LOG_DEBUG] = "debug",
};

/* syslog's numbers, which the journal reads from the start of a line. */
static const int journal_levels[] = {
    [LOG_ERROR] = 3, [LOG_WARN] = 4, [LOG_INFO] = 6, [LOG_DEBUG] = 7};

/* systemd names the stream it gave us by device and inode. */
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

/* Fields of these names hold secrets whatever their value looks like. */
static bool names_a_secret(const char *key)
{
    static const char *const words[] = {"token",      "secret",     "password",
                                        "passphrase", "apikey",     "authorization",
                                        "cookie",     "sessionkey", "credential"};
    char folded[64];
    size_t len = 0;

    /* "session_key", "Session-Key" and "sessionKey" are the same word. */
    for (; *key != '\0' && len < sizeof(folded) - 1; key++) {
        if (*key >= 'A' && *key <= 'Z')
            folded[len++] = (char)(*key + ('a' - 'A'));
        else if (*key != '_' && *key != '-' && *key != '.')
            folded[len++] = *key;
    }
    folded[len] = '\0';
    for (size_t i = 0; i < array_size(words); i++)
        if (strstr(folded, words[i]) != NULL)
            return true;
    return false;
}

static bool is_token_char(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("_-.~+/=", c) != NULL);
}

static size_t token_length(struct str text)
{
    size_t len = 0;

    while (len < text.len && is_token_char(text.ptr[len]))
        len++;
    return len;
}

/* What a secret starts with, and how much of it must follow for it to be one. */
static const struct {
    struct str prefix;
    size_t least;
} secret_shapes[] = {
    {STR_LITERAL("gw_"), 8},    {STR_LITERAL("sess_"), 8},         {STR_LITERAL("Bearer "), 4},
    {STR_LITERAL("Basic "), 4}, {STR_LITERAL("apiKey="), 1},       {STR_LITERAL("api_key="), 1},
    {STR_LITERAL("token="), 1}, {STR_LITERAL("access_token="), 1}, {STR_LITERAL("password="), 1},
};

/* Length of the secret that begins at text, its prefix included; 0 if none does. */
static size_t secret_at(struct str text, size_t *out_prefix)
{
    for (size_t i = 0; i < array_size(secret_shapes); i++) {
        struct str prefix = secret_shapes[i].prefix;
        size_t len;

        if (text.len < prefix.len || !str_eq_nocase(str_slice(text, 0, prefix.len), prefix))
            continue;
        len = token_length(str_slice(text, prefix.len, text.len));
        if (len >= secret_shapes[i].least) {
            *out_prefix = prefix.len;
            return prefix.len + len;
        }
    }
    return 0;
}

int log_redact(struct str text, struct buf *out)
{
    size_t kept_from = 0;
    size_t i = 0;

    while (i < text.len) {
        size_t prefix = 0;
        size_t len;
        int r;

        /* A key begins where a word does: "log_gw_x" is somebody's file name. */
        if (i > 0 && is_token_char(text.ptr[i - 1]) && text.ptr[i - 1] != '=' &&
            text.ptr[i - 1] != '/') {
            i++;
            continue;
        }
        len = secret_at(str_slice(text, i, text.len), &prefix);
        if (len == 0) {
            i++;
            continue;
        }
        r = buf_append_str(out, str_slice(text, kept_from, i + prefix - kept_from));
        if (r == 0)
            r = buf_append_str(out, STR(REDACTED));
        if (r < 0)
            return r;
        i += len;
        kept_from = i;
    }
    return buf_append_str(out, str_slice(text, kept_from, text.len));
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

/* Printable on one line: controls and bytes that are no UTF-8 become escapes. */
static void append_escaped(struct buf *out, struct str text, bool is_quoted)
{
    while (text.len > 0) {
        unsigned char first = (unsigned char)text.ptr[0];
        struct str before = text;
        uint32_t code_point;
        bool is_valid = utf8_next(&text, &code_point);

        if (!is_valid)
            buf_printf(out, "\\x%02x", first);
        else if (code_point == '\n')
            buf_append_str(out, STR("\\n"));
        else if (is_quoted && (code_point == '"' || code_point == '\\'))
            buf_printf(out, "\\%c", first);
        /* C1 controls, line separators and the marks that reorder text move what is shown. */
        else if (code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) ||
                 (code_point >= 0x200b && code_point <= 0x200f) ||
                 (code_point >= 0x2028 && code_point <= 0x202e) ||
                 (code_point >= 0x2066 && code_point <= 0x2069) || code_point == 0xfeff)
            buf_printf(out, "\\u%04x", (unsigned)code_point);
        else
            buf_append(out, before.ptr, before.len - text.len);
    }
}

static void append_value(struct buf *out, struct str text)
{
    cleanup_buf struct buf redacted = BUF_INIT(2 * LOG_VALUE_MAX_BYTES);
    struct str shown = utf8_cut(text, LOG_VALUE_MAX_BYTES);
    struct str view;

    /* What cannot be redacted is not shown. */
    if (log_redact(shown, &redacted) < 0)
        buf_clear(&redacted);
    view = buf_view(&redacted);
    if (is_bare(view)) {
        buf_append_str(out, view);
    } else {
        buf_append_char(out, '"');
        append_escaped(out, view, true);
        buf_append_char(out, '"');
    }
    if (shown.len < text.len)
        buf_printf(out, "+%zu-bytes", text.len - shown.len);
}

static void append_field(struct buf *out, const struct log_field *field)
{
    buf_printf(out, " %s=", field->key);
    if (field->type == LOG_FIELD_SECRET || names_a_secret(field->key)) {
        buf_append_str(out, STR(REDACTED));
        return;
    }
    switch (field->type) {
    case LOG_FIELD_STR:
        append_value(out, field->text);
        break;
    case LOG_FIELD_INT:
        buf_printf(out, "%lld", (long long)field->number);
        break;
    case LOG_FIELD_BOOL:
        buf_append_str(out, field->number != 0 ? STR("true") : STR("false"));
        break;
    case LOG_FIELD_SECRET:
        break;
    }
}

/* A line that meets its ceiling ends there: appends that do not fit change nothing. */
void log_format_line(const struct log *log, enum log_level level, const char *message,
                     const struct log_field *fields, size_t count, struct buf *out)
{
    cleanup_buf struct buf redacted = BUF_INIT(LOG_LINE_MAX_BYTES);

    if (log->format == LOG_JOURNAL) {
        buf_printf(out, "<%d>", journal_levels[level]);
    } else {
        char time[CLOCK_ISO_BYTES];

        clock_format_iso(clock_wall_ms(log->clock), time);
        buf_printf(out, "%s %-5s ", time, level_names[level]);
    }
    if (log_redact(str_from(message), &redacted) == 0)
        append_escaped(out, buf_view(&redacted), false);
    for (size_t i = 0; i < count; i++)
        append_field(out, &fields[i]);
}

void log_write_fields(const struct log *log, enum log_level level, const char *message,
                      const struct log_field *fields, size_t count)
{
    cleanup_buf struct buf line = BUF_INIT(LOG_LINE_MAX_BYTES);
    struct str rest;

    if (!log_wants(log, level))
        return;
    /* Room for the line's end, kept free from the start. */
    line.max = LOG_LINE_MAX_BYTES - 1;
    log_format_line(log, level, message, fields, count, &line);
    line.max = LOG_LINE_MAX_BYTES;
    buf_append_char(&line, '\n');
    rest = buf_view(&line);
    while (rest.len > 0) {
        ssize_t written = write(log->fd, rest.ptr, rest.len);

        if (written < 0 && errno == EINTR)
            continue;
        /* There is nowhere left to say that the log cannot be written. */
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
