/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepares a search. A record is a few hundred bytes of JSON, and parsing it takes some fifty times
 * as long as finding that a text is not in it; so the bytes are searched first.
 */
#include "authority/audit/internal.h"
#include "authority/internal.h"

#include <assert.h>
#include <string.h>

#include "base/hex.h"
#include "base/jsonwrite.h"

enum { NEEDLES_MAX_BYTES = 256 << 10 };

#define LINE_HEAD "{\"timestamp\":\""

struct str audit_line_time(struct str line)
{
    size_t head = sizeof(LINE_HEAD) - 1;

    if (line.len < head + AUDIT_TIMESTAMP_BYTES || memcmp(line.ptr, LINE_HEAD, head) != 0)
        return STR_EMPTY;
    return (struct str){line.ptr + head, AUDIT_TIMESTAMP_BYTES};
}

/* ---- needles ---- */

/* `before` and the text as in a record, including quotes. */
static int add_text(struct audit_match *match, struct str before, struct str text)
{
    cleanup_buf struct buf bytes = BUF_INIT(NEEDLES_MAX_BYTES);
    struct json_writer writer;
    const char *copy;
    int r;

    if (text.len == 0)
        return 0;
    r = buf_append_str(&bytes, before);
    if (r < 0)
        return r;
    json_writer_init(&writer, &bytes);
    json_write_str_lossy(&writer, text);
    r = json_writer_finish(&writer);
    if (r < 0)
        return r;
    copy = arena_copy(&match->arena, buf_view(&bytes));
    if (copy == NULL)
        return match->arena.error;
    assert(match->needle_count < AUDIT_MAX_NEEDLES);
    match->needles[match->needle_count++] = (struct audit_needle){.text = {copy, bytes.len}};
    return 0;
}

static bool next_component(struct str *rest, struct str *out_component)
{
    while (str_cut(rest, '/', out_component)) {
        if (out_component->len > 0 && !str_eq(*out_component, STR(".")))
            return true;
    }
    return false;
}

static int copy_hex(struct audit_match *match, struct str bytes, struct str *out_text)
{
    char *text = arena_alloc(&match->arena, 2 * bytes.len);

    if (text == NULL)
        return match->arena.error;
    hex_write(text, bytes);
    *out_text = (struct str){text, 2 * bytes.len};
    return 0;
}

static bool is_absolute(struct str name)
{
    return name.len > 0 && name.ptr[0] == '/';
}

/*
 * One component must occur, as text or in hex; anything may be between components. For an absolute
 * name it is the last, which all its endings have.
 */
static int add_name(struct audit_match *match, struct str prefix)
{
    bool is_last = is_absolute(prefix);
    struct str longest = STR_EMPTY;
    struct audit_needle *needle;
    struct str component;
    int r;

    while (next_component(&prefix, &component))
        if (is_last || component.len > longest.len)
            longest = component;
    if (longest.len == 0)
        return 0;
    r = add_text(match, STR_EMPTY, longest);
    if (r < 0)
        return r;
    needle = &match->needles[match->needle_count - 1];
    /* Without the quotes: it is in the middle of a name. */
    needle->text = str_slice(needle->text, 1, needle->text.len - 2);
    return copy_hex(match, longest, &needle->other);
}

/* The longest is found fastest, and probably in the fewest lines. */
static void sort_needles(struct audit_match *match)
{
    for (size_t i = 1; i < match->needle_count; i++) {
        if (match->needles[i].text.len > match->needles[0].text.len) {
            struct audit_needle longer = match->needles[i];

            match->needles[i] = match->needles[0];
            match->needles[0] = longer;
        }
    }
}

int audit_match_init(struct audit_match *match, const struct audit_query *query)
{
    int r = 0;

    *match = (struct audit_match){.query = query, .arena = ARENA_INIT(NEEDLES_MAX_BYTES)};
    audit_timestamp(query->since_ms, match->since);
    audit_timestamp(query->until_ms, match->until);
    if (query->request_id > 0)
        match->request_id_len = audit_digits(query->request_id, match->request_id);
    const struct {
        struct str before;
        struct str text;
    } texts[] = {
        {STR("\"tool\":"), query->tool},
        {STR("\":"), query->decision},    /* of two fields */
        {STR("d\":"), query->subject_id}, /* "id" or "runId" */
        {STR("\"id\":"), query->root_id},
        {STR("\"operation\":"), query->operation},
        {STR("\"outcome\":"), query->outcome},
        {STR("\"requestId\":"), {match->request_id, match->request_id_len}},
    };
    _Static_assert(array_size(texts) + 1 <= AUDIT_MAX_NEEDLES, "each has its place");

    for (size_t i = 0; r == 0 && i < array_size(texts); i++)
        r = add_text(match, texts[i].before, texts[i].text);
    if (r == 0)
        r = add_name(match, query->name_prefix);
    sort_needles(match);
    return r;
}

void audit_match_done(struct audit_match *match)
{
    arena_done(&match->arena);
}

/* ---- lines and records ---- */

static bool holds(struct str line, struct str text)
{
    return memmem(line.ptr, line.len, text.ptr, text.len) != NULL;
}

static bool fits_time(const struct audit_match *match, struct str timestamp)
{
    const struct audit_query *query = match->query;

    return (query->since_ms == 0 ||
            memcmp(timestamp.ptr, match->since, AUDIT_TIMESTAMP_BYTES) >= 0) &&
           (query->until_ms == 0 || memcmp(timestamp.ptr, match->until, AUDIT_TIMESTAMP_BYTES) < 0);
}

bool audit_match_line(const struct audit_match *match, struct str line)
{
    struct str time = audit_line_time(line);

    if (time.len > 0 && !fits_time(match, time))
        return false;
    for (size_t i = 0; i < match->needle_count; i++) {
        const struct audit_needle *needle = &match->needles[i];

        if (!holds(line, needle->text) && (needle->other.len == 0 || !holds(line, needle->other)))
            return false;
    }
    return true;
}

/* Names are recorded as given, so "./a//b" is below "a" as well. */
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

static bool has_component(struct str name)
{
    struct str component;

    return next_component(&name, &component);
}

/* Records do not say where the folder is: each ending of the path may be meant. */
static bool is_below_an_end(struct str name, struct str path)
{
    struct str component;

    do {
        if (is_below(name, path))
            return true;
    } while (next_component(&path, &component) && has_component(path));
    return false;
}

static bool fits_name(const struct json_value *record, struct str field, struct str prefix)
{
    char bytes[PATH_MAX];
    struct str name = {bytes, 0};

    if (!audit_record_name(record, field, bytes, &name.len))
        return false;
    return is_absolute(prefix) ? is_below_an_end(name, prefix) : is_below(name, prefix);
}

static bool fits_text(const struct json_value *holder, struct str field, struct str wanted)
{
    struct str text;

    return wanted.len == 0 || (json_get_str(holder, field, &text) && str_eq(text, wanted));
}

bool audit_match_record(const struct audit_match *match, const struct json_value *record)
{
    const struct audit_query *query = match->query;
    const struct json_value *subject = json_get(record, STR("subject"));
    struct str timestamp = STR_EMPTY;

    json_get_str(record, STR("timestamp"), &timestamp);
    return fits_time(match, timestamp) &&
           fits_text(record, STR("requestId"),
                     (struct str){match->request_id, match->request_id_len}) &&
           fits_text(record, STR("tool"), query->tool) &&
           fits_text(record, STR("operation"), query->operation) &&
           fits_text(record, STR("outcome"), query->outcome) &&
           (fits_text(record, STR("decision"), query->decision) ||
            fits_text(record, STR("policySource"), query->decision)) &&
           (fits_text(subject, STR("id"), query->subject_id) ||
            fits_text(subject, STR("runId"), query->subject_id)) &&
           fits_text(json_get(record, STR("root")), STR("id"), query->root_id) &&
           (query->name_prefix.len == 0 ||
            fits_name(record, STR("relativePath"), query->name_prefix) ||
            fits_name(record, STR("destinationPath"), query->name_prefix));
}

bool audit_record_is_change(const struct json_value *record)
{
    struct str word;

    if (!json_get_str(record, STR("operation"), &word))
        return false;
    for (enum authority_operation operation = 0; operation < AUTHORITY_OPERATIONS; operation++)
        if (str_eq_c(word, authority_operation_name(operation)))
            return operation_is_mutation(operation);
    return false;
}
