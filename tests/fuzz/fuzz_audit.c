/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a line of the audit log: parsing ends, and an accepted record has readable names.
 * Any bytes as names and words of an event: they become one line of valid UTF-8, which parses to
 * the same event and says so if a name was cut.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "gatehouse/audit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 4 << 20, TEXT_BYTES = 256 };

static void check_line(struct str line)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_value *record = NULL;
    char bytes[PATH_MAX];
    size_t len;
    int r = audit_parse(&arena, line, &record);

    if (r < 0) {
        assert(r == ERR_INVALID_JSON && record == NULL);
        return;
    }
    assert(line.len <= AUDIT_MAX_RECORD_BYTES && json_get(record, STR("operation")) != NULL);
    if (json_get(record, STR("relativePath")) != NULL ||
        json_get(record, STR("relativePathHex")) != NULL) {
        bool is_readable = audit_record_name(record, STR("relativePath"), bytes, &len);

        assert(is_readable && len <= PATH_MAX);
    }
}

/* An empty name is left out; one that is too long keeps its beginning and its length. */
static void check_name(const struct json_value *record, struct str field, struct str length_field,
                       struct str name, size_t longest)
{
    char bytes[PATH_MAX];
    size_t len = 0;
    int64_t told = 0;
    bool has_name = audit_record_name(record, field, bytes, &len);
    bool is_cut = json_get_int(record, length_field, &told);

    assert(has_name == (name.len > 0));
    assert(is_cut == (name.len > longest));
    if (is_cut)
        assert((size_t)told == name.len && len <= longest && len > longest - 4);
    else
        assert(len == name.len);
    assert(len == 0 || memcmp(bytes, name.ptr, len) == 0);
}

static void check_text(const struct json_value *holder, struct str field, const char *text,
                       bool is_whole)
{
    struct str found;
    bool has_text = json_get_str(holder, field, &found);

    assert(has_text);
    if (is_whole && utf8_is_valid(str_from(text)))
        assert(str_eq_c(found, text));
}

static void check_event(const struct authority_event *event)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    cleanup_buf struct buf line = BUF_INIT(AUDIT_MAX_RECORD_BYTES);
    const struct json_value *record;
    struct str text;
    size_t longest = event->outcome == AUTHORITY_INTENT ? PATH_MAX : AUDIT_KEPT_NAME_BYTES;
    bool is_cut = false;
    int r = audit_format(event, &line);

    assert(r == 0);
    text = buf_view(&line);
    assert(utf8_is_valid(text));
    for (size_t i = 0; i < text.len; i++)
        assert((unsigned char)text.ptr[i] >= 0x20);
    r = audit_parse(&arena, text, &record);
    assert(r == 0);
    check_name(record, STR("relativePath"), STR("relativePathBytes"), event->name, longest);
    check_name(record, STR("destinationPath"), STR("destinationPathBytes"), event->destination,
               longest);
    json_get_bool(record, STR("truncated"), &is_cut);
    check_text(json_get(record, STR("subject")), STR("id"), event->subject->id, !is_cut);
    check_text(json_get(record, STR("root")), STR("id"), event->root->id, !is_cut);
    check_text(record, STR("policySource"), event->policy_source, !is_cut);
    check_text(record, STR("reason"), event->reason, !is_cut);
}

/* The next `max` bytes at most, as a C string. */
static void take_text(struct str *rest, size_t max, char *out_text)
{
    struct str part = str_slice(*rest, 0, max);

    memcpy(out_text, part.ptr, part.len);
    out_text[part.len] = '\0';
    *rest = str_slice(*rest, part.len, rest->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = {(const char *)data, size};
    struct str rest = input;
    char id[TEXT_BYTES + 1];
    char reason[4 * TEXT_BYTES + 1];
    struct authority_subject subject = {.type = AUTHORITY_EXTENSION, .id = id};
    struct authority_root root = {.kind = AUTHORITY_WORKSPACE, .id = id, .display_name = reason};
    struct authority_event event = {
        .subject = &subject,
        .root = &root,
        .operation = AUTHORITY_OP_MOVE,
        .outcome = AUTHORITY_FAILED,
        .error = ERR_IO,
        .policy_source = id,
        .reason = reason,
        .wrapper_ids = {id, reason},
        .wrapper_count = 2,
    };

    if (size == 0)
        return 0;
    check_line(input);
    memcpy(&event.wall_ms, data, size < sizeof(event.wall_ms) ? size : sizeof(event.wall_ms));
    event.request_id = (uint64_t)event.wall_ms;
    take_text(&rest, size % (TEXT_BYTES + 1), id);
    take_text(&rest, size % sizeof(reason), reason);
    event.name = str_slice(rest, 0, rest.len / 2);
    event.destination = str_slice(rest, rest.len / 2, rest.len);
    check_event(&event);
    /* All of it as a name. */
    event.name = input;
    check_event(&event);
    event.outcome = AUTHORITY_INTENT;
    event.error = 0;
    check_event(&event);
    return 0;
}
