/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/audit/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hex.h"

enum {
    MAX_DEPTH = 4,         /* of a record's JSON */
    ARENA_BYTES = 4 << 20, /* more than a line of that length can take */
    LOOK_MS = 500,         /* between two looks for what is new, where inotify is not to be had */
};

/* ---- One line ---- */

static bool is_timestamp(struct str text)
{
    static const char shape[] = "dddd-dd-ddTdd:dd:dd.dddZ";

    if (text.len != AUDIT_TIMESTAMP_BYTES)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        bool is_digit = text.ptr[i] >= '0' && text.ptr[i] <= '9';

        if (shape[i] == 'd' ? !is_digit : text.ptr[i] != shape[i])
            return false;
    }
    return true;
}

/* At most PATH_MAX bytes, or none. */
static bool decode_hex(struct str text, char out_bytes[PATH_MAX], size_t *out_len)
{
    if (text.len % 2 != 0 || text.len / 2 > PATH_MAX || !hex_is_small(text))
        return false;
    for (size_t i = 0; i < text.len; i += 2)
        out_bytes[i / 2] = (char)hex_byte(text, i);
    *out_len = text.len / 2;
    return true;
}

bool audit_record_name(const struct json_value *record, struct str field, char out_bytes[PATH_MAX],
                       size_t *out_len)
{
    char hex_field[32];
    struct str text;

    if (json_get_str(record, field, &text)) {
        if (text.len > PATH_MAX)
            return false;
        memcpy(out_bytes, text.ptr, text.len);
        *out_len = text.len;
        return true;
    }
    if (field.len + sizeof(AUDIT_HEX_SUFFIX) > sizeof(hex_field))
        return false;
    memcpy(hex_field, field.ptr, field.len);
    memcpy(hex_field + field.len, AUDIT_HEX_SUFFIX, sizeof(AUDIT_HEX_SUFFIX) - 1);
    return json_get_str(record, (struct str){hex_field, field.len + sizeof(AUDIT_HEX_SUFFIX) - 1},
                        &text) &&
           decode_hex(text, out_bytes, out_len);
}

/* Missing, or text, or hex: only one of them, and valid. */
static bool is_name_sound(const struct json_value *record, struct str field, struct str hex_field)
{
    const struct json_value *text = json_get(record, field);
    const struct json_value *hex = json_get(record, hex_field);
    char bytes[PATH_MAX];
    size_t len;

    if (text == NULL && hex == NULL)
        return true;
    return (text == NULL || hex == NULL) && audit_record_name(record, field, bytes, &len);
}

static bool has_text(const struct json_value *record, struct str group, struct str field)
{
    const struct json_value *holder = group.len > 0 ? json_get(record, group) : record;
    struct str text;

    return holder != NULL && json_get_str(holder, field, &text);
}

static bool is_outcome(struct str word)
{
    return str_eq_c(word, authority_outcome_name(AUTHORITY_INTENT)) ||
           str_eq_c(word, authority_outcome_name(AUTHORITY_SUCCESS)) ||
           str_eq_c(word, authority_outcome_name(AUTHORITY_DENIED)) ||
           str_eq_c(word, authority_outcome_name(AUTHORITY_FAILED)) ||
           str_eq_c(word, authority_outcome_name(AUTHORITY_NOTICED)); /* another sink's */
}

/* The fields of every record. Later versions may add others. */
static bool is_record(const struct json_value *value)
{
    struct str text;

    return value->type == JSON_OBJECT && json_get_str(value, STR("timestamp"), &text) &&
           is_timestamp(text) && has_text(value, STR_EMPTY, STR("requestId")) &&
           has_text(value, STR("subject"), STR("type")) &&
           has_text(value, STR("subject"), STR("id")) &&
           has_text(value, STR("root"), STR("kind")) && has_text(value, STR("root"), STR("id")) &&
           has_text(value, STR_EMPTY, STR("operation")) &&
           json_get_str(value, STR("outcome"), &text) && is_outcome(text) &&
           is_name_sound(value, STR("relativePath"), STR("relativePath" AUDIT_HEX_SUFFIX)) &&
           is_name_sound(value, STR("destinationPath"), STR("destinationPath" AUDIT_HEX_SUFFIX));
}

int audit_parse(struct arena *arena, struct str line, const struct json_value **out_record)
{
    const struct json_value *value;
    int r = json_parse(arena, line, (struct json_limits){AUDIT_MAX_RECORD_BYTES, MAX_DEPTH}, &value,
                       NULL);

    if (r == ERR_NO_MEMORY)
        return r;
    if (r < 0 || !is_record(value))
        return ERR_INVALID_JSON;
    *out_record = value;
    return 0;
}

/* ---- One ring ---- */

/* A ring, read record by record. */
struct source {
    struct audit_logs logs;
    struct audit_scan scan;
    struct arena arena;
    struct str line;
    const struct json_value *head; /* the next record that fits; NULL at the end */
};

struct audit_reader {
    struct audit_config config;
    int news_fd; /* inotify or a clock; -1: not following */
    struct source sources[AUDIT_KINDS];
};

/* Advances to the next matching record. */
static int advance(struct source *source)
{
    const struct json_value *record;
    int r;

    source->head = NULL;
    do {
        r = audit_scan_next(&source->scan, &source->line);
        if (r < 0)
            return r == ERR_NOT_FOUND ? 0 : r;
        arena_reset(&source->arena);
        r = audit_parse(&source->arena, source->line, &record);
        if (r < 0 && r != ERR_INVALID_JSON)
            return r;
        source->scan.skipped += r < 0;
    } while (r < 0 || !audit_match_record(source->scan.match, record));
    source->head = record;
    return 0;
}

/* ---- Both rings ---- */

static struct str text_of(const struct json_value *record, struct str field)
{
    struct str text = STR_EMPTY;

    json_get_str(record, field, &text);
    return text;
}

/* Decimal numbers without leading zeros compare by length, then as text. */
static int compare_numbers(struct str left, struct str right)
{
    if (left.len != right.len)
        return left.len < right.len ? -1 : 1;
    return memcmp(left.ptr, right.ptr, left.len);
}

/* By time; within a millisecond by request, and within a request the intent first. */
static bool comes_before(const struct json_value *left, const struct json_value *right)
{
    int order = memcmp(text_of(left, STR("timestamp")).ptr, text_of(right, STR("timestamp")).ptr,
                       AUDIT_TIMESTAMP_BYTES);

    if (order == 0)
        order = compare_numbers(text_of(left, STR("requestId")), text_of(right, STR("requestId")));
    if (order == 0)
        return str_eq_c(text_of(left, STR("outcome")), authority_outcome_name(AUTHORITY_INTENT));
    return order < 0;
}

/* The ring whose record comes next. */
static struct source *choose(struct source sources[AUDIT_KINDS], bool newest_first)
{
    struct source *changes = &sources[AUDIT_CHANGES];
    struct source *reads = &sources[AUDIT_READS];

    if (changes->head == NULL || reads->head == NULL)
        return changes->head != NULL ? changes : reads;
    return comes_before(changes->head, reads->head) != newest_first ? changes : reads;
}

static int visit_all(struct source sources[AUDIT_KINDS], const struct audit_query *query,
                     audit_visit_fn *visit, void *data)
{
    int r = 0;

    for (unsigned kind = 0; r == 0 && kind < AUDIT_KINDS; kind++)
        r = advance(&sources[kind]);
    for (size_t found = 1; r == 0; found++) {
        struct source *source = choose(sources, query->newest_first);

        if (source->head == NULL)
            return 0;
        r = visit(data, source->line, source->head);
        /* Records after the last requested one are not read. */
        if (r != 0 || found == query->max_records)
            return r;
        r = advance(source);
    }
    return r;
}

static int refuse_files(struct err *err, int code)
{
    return err_set(err, code, "cannot read the audit log: %s", err_text(code));
}

int audit_reader_query(struct audit_reader *reader, const struct audit_query *query,
                       audit_visit_fn *visit, void *data, uint64_t *out_skipped, struct err *err)
{
    struct audit_match match;
    int r = audit_match_init(&match, query);

    if (r < 0) {
        err_set_plain(err, r);
    } else {
        for (unsigned kind = 0; kind < AUDIT_KINDS; kind++)
            audit_scan_init(&reader->sources[kind].scan, &reader->sources[kind].logs, &match,
                            query->newest_first);
        r = visit_all(reader->sources, query, visit, data);
        if (out_skipped != NULL)
            *out_skipped = reader->sources[AUDIT_CHANGES].scan.skipped +
                           reader->sources[AUDIT_READS].scan.skipped;
    }
    audit_match_done(&match);
    return r;
}

/* ---- Opening, and what comes later ---- */

/* Other programs can have all inotify instances or watches of the user; then a clock ticks. */
static int watch_directory(struct audit_reader *reader)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    char name[64];

    /* By file descriptor: whatever its present name. */
    snprintf(name, sizeof(name), "/proc/self/fd/%d/.", reader->config.dir_fd);
    if (fd >= 0 &&
        inotify_add_watch(fd, name, IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) < 0) {
        close(fd);
        fd = -1;
    }
    reader->news_fd = fd >= 0 ? fd : clock_ticker(LOOK_MS);
    return reader->news_fd < 0 ? err_from_errno(errno) : 0;
}

int audit_reader_open(const struct audit_config *config, bool follows,
                      struct audit_reader **out_reader, struct err *err)
{
    struct audit_reader *reader;
    int r = 0;

    if (!audit_name_is_usable(config->name))
        return err_set(err, ERR_INVALID_ARGUMENT, "the audit log needs a plain file name");
    reader = calloc(1, sizeof(*reader));
    if (reader == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    reader->config = *config;
    reader->news_fd = -1;
    for (unsigned kind = 0; kind < AUDIT_KINDS; kind++)
        reader->sources[kind].arena = (struct arena)ARENA_INIT(ARENA_BYTES);
    /* Before the files are looked at, so that nothing comes between the two. */
    if (follows)
        r = watch_directory(reader);
    for (unsigned kind = 0; r == 0 && kind < AUDIT_KINDS; kind++)
        r = audit_logs_open(&reader->sources[kind].logs, config, (enum audit_kind)kind);
    if (r < 0) {
        audit_reader_close(reader);
        return refuse_files(err, r);
    }
    *out_reader = reader;
    return 0;
}

void audit_reader_close(struct audit_reader *reader)
{
    if (reader == NULL)
        return;
    for (unsigned kind = 0; kind < AUDIT_KINDS; kind++) {
        audit_logs_done(&reader->sources[kind].logs);
        arena_done(&reader->sources[kind].arena);
    }
    if (reader->news_fd >= 0)
        close(reader->news_fd);
    free(reader);
}

int audit_reader_fd(const struct audit_reader *reader)
{
    return reader->news_fd;
}

/* Drops the events: the files tell what happened. */
static void drain(int fd)
{
    char events[4096];

    while (read(fd, events, sizeof(events)) > 0)
        continue;
}

int audit_reader_follow(struct audit_reader *reader, const struct audit_query *query,
                        audit_visit_fn *visit, void *data, uint64_t *out_skipped, struct err *err)
{
    struct audit_query forward = *query;
    int r = 0;

    forward.newest_first = false;
    if (reader->news_fd >= 0)
        drain(reader->news_fd);
    for (unsigned kind = 0; r == 0 && kind < AUDIT_KINDS; kind++)
        r = audit_logs_advance(&reader->sources[kind].logs, &reader->config, (enum audit_kind)kind);
    if (r < 0)
        return refuse_files(err, r);
    return audit_reader_query(reader, &forward, visit, data, out_skipped, err);
}

/* ---- Once ---- */

struct once {
    int (*visit)(void *data, const struct json_value *record);
    void *data;
};

static int visit_once(void *data, struct str line, const struct json_value *record)
{
    const struct once *once = data;

    (void)line;
    return once->visit(once->data, record);
}

int audit_query(const struct audit_config *config, const struct audit_query *query,
                int (*visit)(void *data, const struct json_value *record), void *data,
                uint64_t *out_skipped, struct err *err)
{
    struct once once = {visit, data};
    struct audit_reader *reader = NULL;
    int r = audit_reader_open(config, false, &reader, err);

    if (reader == NULL)
        return r;
    r = audit_reader_query(reader, query, visit_once, &once, out_skipped, err);
    audit_reader_close(reader);
    return r;
}
