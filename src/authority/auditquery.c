/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/audit_internal.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
    MAX_DEPTH = 4, /* of a record's JSON */
    BLOCK_BYTES = 2 * AUDIT_MAX_RECORD_BYTES,
    ARENA_BYTES = 4 << 20, /* more than a line of that length can take */
    LAST_LINE_LOOKS = 20,
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

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* At most PATH_MAX bytes, or none. */
static bool decode_hex(struct str text, char out_bytes[PATH_MAX], size_t *out_len)
{
    if (text.len % 2 != 0 || text.len / 2 > PATH_MAX)
        return false;
    for (size_t i = 0; i < text.len; i += 2) {
        int high = hex_digit(text.ptr[i]);
        int low = hex_digit(text.ptr[i + 1]);

        if (high < 0 || low < 0)
            return false;
        out_bytes[i / 2] = (char)(high << 4 | low);
    }
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

/* Missing, or text, or hex: one of them, and readable. */
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

/* What every record has. Other fields may come with later versions. */
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

/* ---- Which records ---- */

struct search {
    const struct audit_query *query;
    char since[AUDIT_TIMESTAMP_BYTES];
    char until[AUDIT_TIMESTAMP_BYTES];
    char request_id[20];
    size_t request_id_len;
    uint64_t skipped;
};

static bool next_component(struct str *rest, struct str *out_component)
{
    while (str_cut(rest, '/', out_component)) {
        if (out_component->len > 0 && !str_eq(*out_component, STR(".")))
            return true;
    }
    return false;
}

/* Names are recorded as they were given, so "./a//b" is below "a" as well. */
static bool is_below(struct str name, struct str prefix)
{
    struct str wanted;
    struct str got;

    while (next_component(&prefix, &wanted)) {
        if (!next_component(&name, &got) || !str_eq(got, wanted))
            return false;
    }
    return true;
}

static bool fits_name(const struct json_value *record, struct str field, struct str prefix)
{
    char bytes[PATH_MAX];
    size_t len;

    return audit_record_name(record, field, bytes, &len) &&
           is_below((struct str){bytes, len}, prefix);
}

static bool fits_text(const struct json_value *holder, struct str field, struct str wanted)
{
    struct str text;

    return wanted.len == 0 || (json_get_str(holder, field, &text) && str_eq(text, wanted));
}

static bool fits_time(const struct search *search, struct str timestamp)
{
    const struct audit_query *query = search->query;

    return (query->since_ms == 0 ||
            memcmp(timestamp.ptr, search->since, AUDIT_TIMESTAMP_BYTES) >= 0) &&
           (query->until_ms == 0 ||
            memcmp(timestamp.ptr, search->until, AUDIT_TIMESTAMP_BYTES) < 0);
}

static bool fits(const struct search *search, const struct json_value *record)
{
    const struct audit_query *query = search->query;
    struct str timestamp = STR_EMPTY;

    json_get_str(record, STR("timestamp"), &timestamp);
    return fits_time(search, timestamp) &&
           fits_text(record, STR("requestId"),
                     (struct str){search->request_id, search->request_id_len}) &&
           fits_text(record, STR("operation"), query->operation) &&
           fits_text(record, STR("outcome"), query->outcome) &&
           fits_text(json_get(record, STR("subject")), STR("id"), query->subject_id) &&
           fits_text(json_get(record, STR("root")), STR("id"), query->root_id) &&
           (query->name_prefix.len == 0 ||
            fits_name(record, STR("relativePath"), query->name_prefix) ||
            fits_name(record, STR("destinationPath"), query->name_prefix));
}

/* ---- The lines of one ring ---- */

struct opened {
    size_t count;
    struct {
        int fd;
        uint64_t size;
        dev_t device;
        ino_t inode;
    } files[AUDIT_MAX_FILES + 1]; /* newest first */
};

/* A ring that is read line by line, from its oldest file on. */
struct source {
    struct opened opened;
    size_t left;      /* files that were not read to their end; the last of them is being read */
    struct buf block; /* of that file */
    size_t at;        /* in the block, where the next line begins */
    uint64_t begun;   /* the same in the file; lines that begin behind its size came later */
    bool is_too_long; /* the line there: its beginning is gone, and counted */
    struct arena arena;
    const struct json_value *head; /* the next record that fits; NULL at the end */
};

static void source_done(struct source *source)
{
    for (size_t i = 0; i < source->opened.count; i++)
        close(source->opened.files[i].fd);
    buf_done(&source->block);
    arena_done(&source->arena);
}

/* At the end, but in a line: torn, or just being written, and then its rest is a moment away. */
static ssize_t read_on(int fd, char *at, size_t room)
{
    static const struct timespec moment = {.tv_nsec = 1000000};
    ssize_t got;

    for (unsigned looks = 0; looks < LAST_LINE_LOOKS; looks++) {
        got = read(fd, at, room);
        if (got > 0 || (got < 0 && errno != EINTR))
            return got;
        nanosleep(&moment, NULL);
    }
    return 0;
}

static void next_file(struct source *source)
{
    source->left--;
    source->begun = 0;
    source->is_too_long = false;
    source->at = 0;
    buf_clear(&source->block);
}

/* Leaves the beginning of a line in front, unless it is longer than any record, and reads on. */
static int fill_block(struct source *source, uint64_t *skipped)
{
    struct buf *block = &source->block;
    ssize_t got;

    buf_drop_front(block, source->at);
    source->at = 0;
    if (block->len > AUDIT_MAX_RECORD_BYTES) {
        *skipped += !source->is_too_long;
        source->is_too_long = true;
        source->begun += block->len;
        buf_clear(block);
    }
    got = read_on(source->opened.files[source->left - 1].fd, block->data + block->len,
                  BLOCK_BYTES - block->len);
    if (got < 0)
        return err_from_errno(errno);
    if (got == 0) {
        *skipped += block->len > 0 && !source->is_too_long;
        next_file(source);
        return 0;
    }
    block->len += (size_t)got;
    return 0;
}

/* The next line that is not too long, valid until the next call; ERR_NOT_FOUND at the end. */
static int next_line(struct source *source, uint64_t *skipped, struct str *out_line)
{
    while (source->left > 0) {
        const char *line = source->block.data + source->at;
        const char *end = memchr(line, '\n', source->block.len - source->at);
        bool is_whole = !source->is_too_long;
        int r;

        if (source->begun >= source->opened.files[source->left - 1].size) {
            next_file(source);
        } else if (end == NULL) {
            r = fill_block(source, skipped);
            if (r < 0)
                return r;
        } else {
            size_t len = (size_t)(end - line);

            source->is_too_long = false;
            source->begun += len + 1;
            source->at += len + 1;
            /* An empty one: somebody made sure that a line of theirs begins on its own. */
            if (is_whole && len > 0) {
                *out_line = (struct str){line, len};
                return 0;
            }
        }
    }
    return ERR_NOT_FOUND;
}

/* Goes to the next record that fits. */
static int advance(struct search *search, struct source *source)
{
    const struct json_value *record;
    struct str line;
    int r;

    source->head = NULL;
    do {
        r = next_line(source, &search->skipped, &line);
        if (r < 0)
            return r == ERR_NOT_FOUND ? 0 : r;
        arena_reset(&source->arena);
        r = audit_parse(&source->arena, line, &record);
        if (r < 0 && r != ERR_INVALID_JSON)
            return r;
        search->skipped += r < 0;
    } while (r < 0 || !fits(search, record));
    source->head = record;
    return 0;
}

static bool has_opened(const struct opened *opened, const struct stat *about)
{
    for (size_t i = 0; i < opened->count; i++) {
        if (opened->files[i].inode == about->st_ino && opened->files[i].device == about->st_dev)
            return true;
    }
    return false;
}

/*
 * From the newest to the oldest, without a lock: rotation moves files the same way, so one that
 * moves meanwhile is met twice and none is missed. Open files stay, whatever becomes of their
 * names.
 */
static int open_all(const struct audit_config *config, enum audit_kind kind, struct opened *opened,
                    uint64_t *skipped)
{
    char stem[AUDIT_NAME_BYTES];

    audit_stem(config->name, kind, stem);
    for (unsigned number = 0; number <= AUDIT_MAX_FILES; number++) {
        char name[AUDIT_NAME_BYTES];
        struct stat about;
        cleanup_fd int fd = -1;

        audit_file_name(stem, number, name);
        fd = audit_open_to_read(config->dir_fd, name, &about);
        if (fd == ERR_SYMLINK_REJECTED || fd == ERR_NOT_REGULAR_FILE) {
            *skipped += 1;
        } else if (fd < 0 && fd != ERR_NOT_FOUND) {
            return fd;
        } else if (fd >= 0 && !has_opened(opened, &about)) {
            opened->files[opened->count].size = (uint64_t)about.st_size;
            opened->files[opened->count].device = about.st_dev;
            opened->files[opened->count].inode = about.st_ino;
            opened->files[opened->count++].fd = steal_fd(&fd);
        }
    }
    return 0;
}

static int source_open(struct source *source, const struct audit_config *config,
                       enum audit_kind kind, uint64_t *skipped)
{
    int r = buf_reserve(&source->block, BLOCK_BYTES);

    if (r == 0)
        r = open_all(config, kind, &source->opened, skipped);
    source->left = source->opened.count;
    return r;
}

/* ---- Both rings ---- */

static struct str text_of(const struct json_value *record, struct str field)
{
    struct str text = STR_EMPTY;

    json_get_str(record, field, &text);
    return text;
}

/* Digits without zeros before them compare like their numbers. */
static int compare_numbers(struct str left, struct str right)
{
    if (left.len != right.len)
        return left.len < right.len ? -1 : 1;
    return memcmp(left.ptr, right.ptr, left.len);
}

/* By time; within a millisecond by request, and of one request its intent first. */
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

static struct source *earlier(struct source sources[AUDIT_KINDS])
{
    struct source *changes = &sources[AUDIT_CHANGES];
    struct source *reads = &sources[AUDIT_READS];

    if (changes->head == NULL || reads->head == NULL)
        return changes->head != NULL ? changes : reads;
    return comes_before(changes->head, reads->head) ? changes : reads;
}

struct sources {
    struct source of[AUDIT_KINDS];
};

static void sources_done(struct sources *sources)
{
    for (unsigned kind = 0; kind < AUDIT_KINDS; kind++)
        source_done(&sources->of[kind]);
}

static int search_all(struct search *search, struct sources *sources,
                      int (*visit)(void *data, const struct json_value *record), void *data)
{
    size_t max = search->query->max_records;
    int r = 0;

    for (unsigned kind = 0; r == 0 && kind < AUDIT_KINDS; kind++)
        r = advance(search, &sources->of[kind]);
    for (size_t found = 1; r == 0; found++) {
        struct source *source = earlier(sources->of);

        if (source->head == NULL)
            return 0;
        r = visit(data, source->head);
        /* What comes behind the last that was wanted is nobody's concern. */
        if (r != 0 || found == max)
            return r;
        r = advance(search, source);
    }
    return r;
}

int audit_query(const struct audit_config *config, const struct audit_query *query,
                int (*visit)(void *data, const struct json_value *record), void *data,
                uint64_t *out_skipped, struct err *err)
{
    cleanup_with(sources_done) struct sources sources = {.of = {{.head = NULL}}};
    struct search search = {.query = query};
    int r = 0;

    if (!audit_name_is_usable(config->name))
        return err_set(err, ERR_INVALID_ARGUMENT, "the audit needs a plain file name");
    audit_timestamp(query->since_ms, search.since);
    audit_timestamp(query->until_ms, search.until);
    if (query->request_id > 0)
        search.request_id_len = audit_digits(query->request_id, search.request_id);
    for (unsigned kind = 0; r == 0 && kind < AUDIT_KINDS; kind++) {
        struct source *source = &sources.of[kind];

        buf_init(&source->block, BLOCK_BYTES);
        source->arena = (struct arena)ARENA_INIT(ARENA_BYTES);
        r = source_open(source, config, (enum audit_kind)kind, &search.skipped);
    }
    if (r < 0)
        return err_set(err, r, "the audit's files: %s", err_text(r));
    r = search_all(&search, &sources, visit, data);
    if (out_skipped != NULL)
        *out_skipped = search.skipped;
    return r;
}
