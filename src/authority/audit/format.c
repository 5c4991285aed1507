/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/audit/internal.h"

#include <assert.h>
#include <string.h>

#include "authority/internal.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hex.h"
#include "base/jsonwrite.h"
#include "base/utf8.h"

enum {
    MAX_REASON_BYTES = 512,
    MAX_CLIENT_BYTES = 64,
    LONGEST_ESCAPE = 6,
    PLAIN_ESCAPE = 2, /* of a name: a quote, a backslash, or two hex digits */
    FIXED_BYTES = 1024,
    /* subject, run, root, its display name, tool, decision, policy source, hooks */
    TEXTS = 7 + AUTHORITY_MAX_HOOKS,
};

_Static_assert((2 * PATH_MAX + AUDIT_KEPT_NAME_BYTES) * PLAIN_ESCAPE +
                       TEXTS * (AUDIT_TEXT_BYTES * LONGEST_ESCAPE + 3) +
                       (MAX_REASON_BYTES + MAX_CLIENT_BYTES) * LONGEST_ESCAPE + FIXED_BYTES <=
                   AUDIT_MAX_RECORD_BYTES,
               "the longest record fits");

/* Only the end of a call has details, and only a refusal a rule: both keep little of their names.
 */
_Static_assert((3 * AUDIT_KEPT_NAME_BYTES) * PLAIN_ESCAPE +
                       (TEXTS + 1) * (AUDIT_TEXT_BYTES * LONGEST_ESCAPE + 3) +
                       (MAX_REASON_BYTES + MAX_CLIENT_BYTES) * LONGEST_ESCAPE + FIXED_BYTES +
                       AUDIT_MAX_DETAILS_BYTES <=
                   AUDIT_MAX_RECORD_BYTES,
               "the longest record of a call fits");

#define KEY(name) ((struct str)JSON_MADE_KEY(name))

size_t audit_digits(uint64_t number, char out_text[20])
{
    char reversed[20];
    size_t len = 0;

    do {
        reversed[len++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    for (size_t i = 0; i < len; i++)
        out_text[i] = reversed[len - 1 - i];
    return len;
}

void audit_timestamp(int64_t wall_ms, char out_text[AUDIT_TIMESTAMP_BYTES])
{
    char text[CLOCK_ISO_BYTES];

    clock_format_iso(wall_ms < 0 ? 0 : wall_ms > CLOCK_LAST_MS ? CLOCK_LAST_MS : wall_ms, text);
    memcpy(out_text, text, AUDIT_TIMESTAMP_BYTES);
}

/* The host's texts should be short and well-formed; others are cut and repaired. */
static void put_text(struct json_writer *writer, const char *text, size_t max_bytes, bool *is_cut)
{
    struct str view = {text, text != NULL ? strnlen(text, max_bytes + 1) : 0};

    if (view.len > max_bytes) {
        view = utf8_cut(view, max_bytes);
        *is_cut = true;
    }
    json_write_str_lossy(writer, view.len > 0 ? view : STR_EMPTY);
}

static void put_optional(struct json_writer *writer, struct str key, const char *text,
                         size_t max_bytes, bool *is_cut)
{
    if (text == NULL)
        return;
    json_made_key(writer, key);
    put_text(writer, text, max_bytes, is_cut);
}

/* Text that needs at most two output bytes per byte, and cannot control a terminal. */
static bool is_plain(struct str name)
{
    unsigned char all = 0;
    bool has_control = false;

    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];

        all |= c;
        has_control |= c < 0x20 || c == 0x7f;
    }
    return !has_control && ((all & 0x80) == 0 || utf8_is_valid(name));
}

static void put_hex(struct json_writer *writer, struct str bytes)
{
    char text[2 * PATH_MAX + 2];
    size_t len = 2 * bytes.len + 2;

    assert(bytes.len <= PATH_MAX);
    text[0] = text[len - 1] = '"';
    hex_write(text + 1, bytes);
    json_splice(writer, (struct str){text, len});
}

/* The made keys of a name: as text, in hex, and for one that was cut. */
struct name_keys {
    struct str text;
    struct str hex;
    struct str end;
    struct str end_hex;
    struct str bytes;
    struct str hash;
};
#define NAME_KEYS(field)                                                                           \
    {                                                                                              \
        JSON_MADE_KEY(field), JSON_MADE_KEY(field AUDIT_HEX_SUFFIX), JSON_MADE_KEY(field "End"),   \
            JSON_MADE_KEY(field "End" AUDIT_HEX_SUFFIX), JSON_MADE_KEY(field "Bytes"),             \
            JSON_MADE_KEY(field "Hash")                                                            \
    }
static const struct name_keys name_keys = NAME_KEYS("relativePath");
static const struct name_keys destination_keys = NAME_KEYS("destinationPath");

/*
 * The name of a change is needed whole, to undo it. Anybody can invent any number of other names,
 * of any length.
 */
static size_t longest_name(const struct authority_event *event)
{
    switch (event->outcome) {
    case AUTHORITY_INTENT:
    case AUTHORITY_NOTICED:
        return PATH_MAX;
    case AUTHORITY_SUCCESS:
        return operation_is_mutation(event->operation) ? PATH_MAX : AUDIT_KEPT_NAME_BYTES;
    case AUTHORITY_DENIED:
    case AUTHORITY_FAILED:
        return AUDIT_KEPT_NAME_BYTES;
    }
    return AUDIT_KEPT_NAME_BYTES;
}

/*
 * Distinguishes names with the same beginning; the hash key is fixed, so that records can be
 * compared.
 */
static void put_cut(struct json_writer *writer, const struct name_keys *keys, struct str name)
{
    static const struct hash_key key = {0, 0};
    uint64_t hash = hash_str(&key, name);
    char text[16];

    json_made_key(writer, keys->bytes);
    json_write_int(writer, (int64_t)name.len);
    for (size_t i = sizeof(text); i > 0; i--, hash >>= 4)
        text[i - 1] = HEX_DIGITS[hash & 15];
    json_made_key(writer, keys->hash);
    json_write_str(writer, (struct str){text, sizeof(text)});
}

/* Any bytes, without loss. */
static void put_bytes(struct json_writer *writer, struct str text_key, struct str hex_key,
                      struct str bytes)
{
    if (is_plain(bytes)) {
        json_made_key(writer, text_key);
        json_write_str(writer, bytes);
    } else {
        json_made_key(writer, hex_key);
        put_hex(writer, bytes);
    }
}

/* The last bytes of what was cut, starting at a character if they are text. */
static struct str end_of(struct str name, size_t kept, size_t longest_end)
{
    size_t from = name.len - kept > longest_end ? name.len - longest_end : kept;
    size_t last = from + 3;

    while (from > kept && from < last && ((unsigned char)name.ptr[from] & 0xC0) == 0x80)
        from++;
    return str_slice(name, from, name.len);
}

static void put_name(struct json_writer *writer, const struct name_keys *keys, struct str name,
                     size_t longest, size_t longest_end, bool *is_cut)
{
    struct str kept = name.len > longest ? utf8_cut(name, longest) : name;

    if (name.len == 0)
        return;
    put_bytes(writer, keys->text, keys->hex, kept);
    if (kept.len < name.len) {
        if (longest_end > 0)
            put_bytes(writer, keys->end, keys->end_hex, end_of(name, kept.len, longest_end));
        put_cut(writer, keys, name);
        *is_cut = true;
    }
}

/* The effect of a command may be at its end, after any number of blanks. */
static size_t longest_end_of(const struct authority_event *event, const struct audit_extra *extra)
{
    return event->operation == AUTHORITY_OP_EXECUTE && !extra->is_brief ? AUDIT_KEPT_NAME_BYTES : 0;
}

static void put_subject(struct json_writer *writer, const struct authority_subject *subject,
                        bool *is_cut)
{
    json_made_key(writer, KEY("subject"));
    json_begin_object(writer);
    json_made_key(writer, KEY("type"));
    json_write_str(writer, str_from(authority_subject_type_name(subject->type)));
    json_made_key(writer, KEY("id"));
    put_text(writer, subject->id, AUDIT_TEXT_BYTES, is_cut);
    put_optional(writer, KEY("runId"), subject->run_id, AUDIT_TEXT_BYTES, is_cut);
    json_end_object(writer);
}

static void put_root(struct json_writer *writer, const struct authority_root *root, bool *is_cut)
{
    json_made_key(writer, KEY("root"));
    json_begin_object(writer);
    json_made_key(writer, KEY("kind"));
    json_write_str(writer, str_from(authority_root_kind_name(root->kind)));
    json_made_key(writer, KEY("id"));
    put_text(writer, root->id, AUDIT_TEXT_BYTES, is_cut);
    put_optional(writer, KEY("displayName"), root->display_name, AUDIT_TEXT_BYTES, is_cut);
    json_end_object(writer);
}

static void texts_of(const struct authority_event *event, const char *out_texts[4])
{
    out_texts[0] = event->subject->id;
    out_texts[1] = event->subject->run_id;
    out_texts[2] = event->root->id;
    out_texts[3] = event->root->display_name;
}

static bool has_origin(const struct authority_event *event, const struct audit_origin *origin)
{
    const char *texts[array_size(origin->texts)];

    if (origin->key_len == 0 || origin->type != event->subject->type ||
        origin->kind != event->root->kind)
        return false;
    texts_of(event, texts);
    for (size_t i = 0; i < array_size(texts); i++)
        if ((texts[i] != NULL) != origin->texts[i].is_there ||
            (texts[i] != NULL && strcmp(texts[i], origin->texts[i].text) != 0))
            return false;
    return true;
}

/* False if a text is too long: each line cuts it, and says so. */
static bool keep_origin(const struct authority_event *event, struct audit_origin *origin)
{
    cleanup_buf struct buf made = BUF_INIT(sizeof(origin->json));
    const char *texts[array_size(origin->texts)];
    struct json_writer writer;
    bool is_cut = false;

    origin->key_len = 0;
    texts_of(event, texts);
    for (size_t i = 0; i < array_size(texts); i++) {
        const size_t size = sizeof(origin->texts[i].text);

        origin->texts[i].is_there = texts[i] != NULL;
        if (texts[i] == NULL)
            continue;
        if (strnlen(texts[i], size) == size)
            return false;
        memcpy(origin->texts[i].text, texts[i], strlen(texts[i]) + 1);
    }
    json_writer_init(&writer, &made);
    json_begin_object(&writer);
    put_subject(&writer, event->subject, &is_cut);
    put_root(&writer, event->root, &is_cut);
    json_end_object(&writer);
    if (json_writer_finish(&writer) < 0 || is_cut)
        return false;
    origin->len = made.len - 2; /* without the braces */
    memcpy(origin->json, made.data + 1, origin->len);
    origin->type = event->subject->type;
    origin->kind = event->root->kind;
    /* No text contains this: its quotes would be escaped. */
    origin->key_len =
        str_find((struct str){origin->json, origin->len}, STR("\"root\":{")) + KEY("root").len;
    return true;
}

static void put_origin(struct json_writer *writer, const struct authority_event *event,
                       struct audit_origin *origin, bool *is_cut)
{
    if (origin == NULL || (!has_origin(event, origin) && !keep_origin(event, origin))) {
        put_subject(writer, event->subject, is_cut);
        put_root(writer, event->root, is_cut);
        return;
    }
    json_made_key(writer, (struct str){origin->json, origin->key_len});
    json_splice(writer,
                (struct str){origin->json + origin->key_len, origin->len - origin->key_len});
}

static void put_id(struct json_writer *writer, struct str key, uint64_t id)
{
    char digits[20];

    json_made_key(writer, key);
    json_write_str(writer, (struct str){digits, audit_digits(id, digits)});
}

static void put_call(struct json_writer *writer, const struct authority_call *call, bool *is_cut)
{
    if (call == NULL)
        return;
    put_optional(writer, KEY("tool"), call->tool, AUDIT_TEXT_BYTES, is_cut);
    put_optional(writer, KEY("decision"), call->decision, AUDIT_TEXT_BYTES, is_cut);
    if (call->id != 0)
        put_id(writer, KEY("callId"), call->id);
    put_optional(writer, KEY("client"), call->client, MAX_CLIENT_BYTES, is_cut);
}

static void put_result(struct json_writer *writer, const struct authority_event *event)
{
    json_made_key(writer, KEY("outcome"));
    json_write_str(writer, str_from(authority_outcome_name(event->outcome)));
    if (event->outcome == AUTHORITY_NOTICED) {
        json_made_key(writer, KEY("change"));
        json_write_str(writer, str_from(authority_change_name(event->change)));
    }
    if (event->error == 0)
        return;
    json_made_key(writer, KEY("error"));
    json_write_str(writer, str_from(err_name(event->error)));
    json_made_key(writer, KEY("category"));
    json_write_str(writer, str_from(err_category_name(err_category(event->error))));
}

static void put_circumstances(struct json_writer *writer, const struct authority_event *event,
                              bool *is_cut)
{
    assert(event->wrapper_count <= AUTHORITY_MAX_HOOKS);
    put_optional(writer, KEY("policySource"), event->policy_source, AUDIT_TEXT_BYTES, is_cut);
    if (event->outcome == AUTHORITY_DENIED)
        put_optional(writer, KEY("policyRule"), event->policy_rule, AUDIT_TEXT_BYTES, is_cut);
    if (event->wrapper_count > 0) {
        json_made_key(writer, KEY("wrapperIds"));
        json_begin_array(writer);
        for (size_t i = 0; i < event->wrapper_count; i++)
            put_text(writer, event->wrapper_ids[i], AUDIT_TEXT_BYTES, is_cut);
        json_end_array(writer);
    }
    put_optional(writer, KEY("reason"), event->reason, MAX_REASON_BYTES, is_cut);
    if (event->operation != AUTHORITY_OP_CALL || event->details.len == 0)
        return;
    if (event->details.len > AUDIT_MAX_DETAILS_BYTES) {
        *is_cut = true;
        return;
    }
    json_made_key(writer, KEY("details"));
    json_splice(writer, event->details);
}

static void put_count(struct json_writer *writer, struct str key, uint64_t count)
{
    if (count == 0)
        return;
    json_made_key(writer, key);
    json_write_int(writer, count > INT64_MAX ? INT64_MAX : (int64_t)count);
}

#define LINE_START    "{\"timestamp\":\""
#define OUTCOME_START ",\"outcome\":\""

struct facts {
    char *room;
    size_t len;
    bool is_full;
};

static void add_fact(struct facts *facts, const void *bytes, size_t len)
{
    facts->is_full |= len > AUDIT_FACTS_BYTES - facts->len;
    if (facts->is_full || len == 0)
        return;
    memcpy(facts->room + facts->len, bytes, len);
    facts->len += len;
}

static void add_name(struct facts *facts, struct str name)
{
    add_fact(facts, &name.len, sizeof(name.len));
    add_fact(facts, name.ptr, name.len);
}

/* NULL is no text, and "" is one. */
static void add_text(struct facts *facts, const char *text)
{
    const bool is_there = text != NULL;

    add_fact(facts, &is_there, sizeof(is_there));
    if (is_there)
        add_fact(facts, text, strlen(text) + 1);
}

/* All that the line tells besides the time and the outcome; false if there is too much of it. */
static bool list_facts(const struct authority_event *event, struct facts *facts)
{
    static const struct authority_call none;
    const struct authority_call *call = event->call != NULL ? event->call : &none;
    const uint64_t numbers[] = {event->request_id, call->id, (uint64_t)event->operation,
                                (uint64_t)event->subject->type, (uint64_t)event->root->kind};

    add_fact(facts, numbers, sizeof(numbers));
    add_name(facts, event->name);
    add_name(facts, event->destination);
    add_text(facts, event->subject->id);
    add_text(facts, event->subject->run_id);
    add_text(facts, event->root->id);
    add_text(facts, event->root->display_name);
    add_text(facts, call->tool);
    add_text(facts, call->decision);
    add_text(facts, call->client);
    add_text(facts, event->policy_source);
    add_text(facts, event->reason);
    return !facts->is_full;
}

/* Whether the line would tell the same of it as of the intent. */
static bool is_its_success(const struct authority_event *event, const struct audit_intent *intent)
{
    __attribute__((uninitialized)) char room[AUDIT_FACTS_BYTES];
    struct facts facts = {.room = room};

    return event->outcome == AUTHORITY_SUCCESS && intent->outcome_at > 0 && event->error == 0 &&
           event->wrapper_count == 0 && event->details.len == 0 &&
           operation_is_mutation(event->operation) && list_facts(event, &facts) &&
           facts.len == intent->facts_len && memcmp(room, intent->facts, facts.len) == 0;
}

static int write_success(const struct audit_intent *intent, const char *timestamp, struct buf *out)
{
    const struct str success = str_from(authority_outcome_name(AUTHORITY_SUCCESS));
    const size_t time_end = STR(LINE_START).len + AUDIT_TIMESTAMP_BYTES;
    const size_t outcome_end =
        intent->outcome_at + str_from(authority_outcome_name(AUTHORITY_INTENT)).len;
    char *to;
    int r = buf_reserve(out, intent->len + success.len);

    if (r < 0)
        return r;
    to = out->data + out->len;
    memcpy(to, intent->text, intent->outcome_at);
    memcpy(to + STR(LINE_START).len, timestamp, time_end - STR(LINE_START).len);
    to += intent->outcome_at;
    memcpy(to, success.ptr, success.len);
    to += success.len;
    memcpy(to, intent->text + outcome_end, intent->len - outcome_end);
    out->len = (size_t)(to - out->data) + intent->len - outcome_end;
    return 0;
}

static void keep_intent(const struct authority_event *event, struct str line, size_t result_at,
                        struct audit_intent *intent)
{
    struct facts facts = {.room = intent->facts};

    intent->outcome_at = 0;
    if (line.len > sizeof(intent->text) || event->error != 0 || event->wrapper_count > 0 ||
        event->details.len > 0)
        return;
    if (!list_facts(event, &facts))
        return;
    intent->facts_len = facts.len;
    memcpy(intent->text, line.ptr, line.len);
    intent->len = line.len;
    intent->outcome_at = result_at + STR(OUTCOME_START).len;
}

int audit_write_record(const struct authority_event *event, const struct audit_extra *extra,
                       struct buf *out)
{
    const bool is_usual =
        extra->intent != NULL && !extra->is_brief && extra->dropped == 0 && extra->more == 0;
    char timestamp[AUDIT_TIMESTAMP_BYTES];
    struct json_writer writer;
    bool is_cut = extra->is_brief;
    size_t start = out->len;
    size_t longest = longest_name(event);
    size_t result_at;
    int r;

    audit_timestamp(event->wall_ms, timestamp);
    if (is_usual && is_its_success(event, extra->intent))
        return write_success(extra->intent, timestamp, out);
    json_writer_init(&writer, out);
    json_begin_object(&writer);
    json_made_key(&writer, KEY("timestamp"));
    json_write_str(&writer, (struct str){timestamp, sizeof(timestamp)});
    put_id(&writer, KEY("requestId"), event->request_id);
    put_origin(&writer, event, extra->origin, &is_cut);
    put_call(&writer, event->call, &is_cut);
    json_made_key(&writer, KEY("operation"));
    json_write_str(&writer, str_from(authority_operation_name(event->operation)));
    put_name(&writer, &name_keys, event->name, longest, longest_end_of(event, extra), &is_cut);
    put_name(&writer, &destination_keys, event->destination, longest, 0, &is_cut);
    result_at = json_writer_length(&writer) - start;
    put_result(&writer, event);
    if (!extra->is_brief)
        put_circumstances(&writer, event, &is_cut);
    if (is_cut) {
        json_made_key(&writer, KEY("truncated"));
        json_write_bool(&writer, true);
    }
    put_count(&writer, KEY("dropped"), extra->dropped);
    put_count(&writer, KEY("more"), extra->more);
    json_end_object(&writer);
    r = json_writer_finish(&writer);
    if (r < 0) {
        out->len = start;
        return r;
    }
    assert(out->len - start <= AUDIT_MAX_RECORD_BYTES);
    if (is_usual && event->outcome == AUTHORITY_INTENT && !is_cut)
        keep_intent(event, str_slice(buf_view(out), start, out->len), result_at, extra->intent);
    return 0;
}

int audit_format(const struct authority_event *event, struct buf *out)
{
    return audit_write_record(event, &(struct audit_extra){.dropped = 0}, out);
}
