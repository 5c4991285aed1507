/* SPDX-License-Identifier: Apache-2.0 */
#include "session/callrecord.h"

#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/jsonwrite.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "gatehouse/audit.h"
#include "isolate/environment.h"

enum {
    CLIENT_BYTES = 65,
    /* As JSON, in which a byte may take six: as much as fits. */
    DIFF_JSON_BYTES = 9 << 10,
    OUTPUT_JSON_BYTES = 9 << 10,
    RESULT_ARENA_BYTES = 4 << 20,
    HIDDEN_BYTES = 4 * RESULT_ARENA_BYTES, /* the mark is longer than what it replaces */
};

_Static_assert(DIFF_JSON_BYTES + 1024 <= AUDIT_MAX_DETAILS_BYTES, "either of them fits");

/* Of "edits[].filePath" or "filePaths[]", the first of the list. */
static struct str argument_of(const struct json_value *arguments, struct str name)
{
    static const struct str each = STR_LITERAL("[]");
    size_t at = str_find(name, each);
    const struct json_value *value = json_get(arguments, str_slice(name, 0, at));

    if (value != NULL && at != SIZE_MAX) {
        struct str member = str_slice(name, at + each.len, name.len);
        const struct json_value *list = value;

        value = NULL;
        json_each_item (item, list) {
            value = item;
            break;
        }
        if (value != NULL && member.len > 0)
            value = json_get(value, str_slice(member, 1, member.len)); /* after the dot */
    }
    return value != NULL && value->type == JSON_STRING ? json_str(value) : STR_EMPTY;
}

/* The client's words, which need not be valid. */
static void name_subject(const struct callrecord *record, struct authority_note *note)
{
    const struct catalog_tool *tool = record->tool;
    const struct catalog_resource *first = tool->resources;
    bool has_arguments = record->arguments != NULL && record->arguments->type == JSON_OBJECT;

    if (!has_arguments || tool->resource_count == 0)
        return;
    note->name = argument_of(record->arguments, first->argument);
    if (note->name.len == 0 && first->fallback.ptr != NULL)
        note->name = STR(".");
    note->is_text = first->access == CATALOG_EXECUTES;
    if (first->directory.ptr != NULL)
        note->destination = argument_of(record->arguments, first->directory);
    else if (tool->resource_count > 1)
        note->destination = argument_of(record->arguments, tool->resources[1].argument);
}

/* Arguments that do not fit are the client's mistake, and nobody denied them. */
static enum authority_outcome outcome_of(int error)
{
    if (error == 0)
        return AUTHORITY_SUCCESS;
    return err_category(error) == ERR_POLICY && error != ERR_SCHEMA_MISMATCH &&
                   error != ERR_INVALID_ARGUMENT
               ? AUTHORITY_DENIED
               : AUTHORITY_FAILED;
}

/* ---- details ---- */

/* The beginning of a text without secrets, in at most that many bytes of JSON. */
static void put_beginning(const struct callrecord *record, struct json_writer *json, struct str key,
                          struct str text, size_t max)
{
    cleanup_buf struct buf hidden = BUF_INIT(HIDDEN_BYTES);
    cleanup_buf struct buf kept = BUF_INIT(max);
    size_t room = max;
    size_t used = 0;

    /* A secret may not be recognised without what follows it, so nothing is cut before. */
    if (record->variables != NULL) {
        if (environment_hide(record->variables, environ, text, &hidden) < 0)
            return;
        text = buf_view(&hidden);
    }
    if (redact_cut(text, max, &kept, &used) < 0)
        return;
    for (struct str view = buf_view(&kept); room > 0; room /= 2) {
        cleanup_buf struct buf made = BUF_INIT(max);
        struct json_writer trial;

        json_writer_init(&trial, &made);
        json_write_str_lossy(&trial, utf8_cut(view, room < view.len ? room : view.len));
        if (json_writer_finish(&trial) < 0)
            continue;
        json_key(json, key);
        json_splice(json, buf_view(&made));
        if (used < text.len || room < view.len)
            json_put_bool(json, STR("cut"), true);
        return;
    }
}

/* What a command printed: of its object, or the text of a result without one. */
static void put_output(const struct callrecord *record, struct json_writer *json)
{
    static const struct str names[] = {STR_LITERAL("stdout"), STR_LITERAL("stderr"),
                                       STR_LITERAL("output")};
    cleanup_arena struct arena arena = ARENA_INIT(RESULT_ARENA_BYTES);
    cleanup_buf struct buf text = BUF_INIT(RESULT_ARENA_BYTES);
    const struct json_value *parsed;
    const struct json_value *object;
    const struct json_value *content;
    struct str part;

    if (record->result.len == 0 ||
        json_parse(&arena, record->result, JSON_LIMITS_DEFAULT, &parsed, NULL) < 0)
        return;
    object = json_get(parsed, STR("structuredContent"));
    content = json_get(parsed, STR("content"));
    for (size_t i = 0; object != NULL && i < array_size(names); i++)
        if (json_get_str(object, names[i], &part) && buf_append_str(&text, part) < 0)
            return;
    if (object == NULL && content != NULL)
        json_each_item (block, content)
            if (json_get_str(block, STR("text"), &part) && buf_append_str(&text, part) < 0)
                return;
    if (text.len > 0)
        put_beginning(record, json, STR("output"), buf_view(&text), OUTPUT_JSON_BYTES);
}

static void write_details(const struct callrecord *record, struct buf *out)
{
    struct json_writer json;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_int(&json, STR("ms"), record->took_ms);
    if (record->answer != NULL)
        json_put_str(&json, STR("answer"), str_from(record->answer));
    if (record->change.len > 0)
        put_beginning(record, &json, STR("diff"), record->change, DIFF_JSON_BYTES);
    else if (record->tool->group == CATALOG_SHELL)
        put_output(record, &json);
    json_end_object(&json);
    if (json_writer_finish(&json) < 0)
        buf_clear(out);
}

/* At every call, so without snprintf(). */
static void copy_client(struct str name, char out_client[CLIENT_BYTES])
{
    size_t len = name.len < CLIENT_BYTES ? name.len : CLIENT_BYTES - 1;

    if (len > 0)
        memcpy(out_client, name.ptr, len);
    out_client[len] = '\0';
}

void callrecord_write(const struct callrecord *record)
{
    cleanup_buf struct buf details = BUF_INIT(AUDIT_MAX_DETAILS_BYTES);
    char client[CLIENT_BYTES];
    const struct authority_call about = {
        .tool = record->tool->name.ptr, /* of the catalogue, which ends its texts */
        .decision = record->decision,
        .id = record->number,
        .client = record->client.len > 0 ? client : NULL,
    };
    struct authority_note note = {
        .operation = AUTHORITY_OP_CALL,
        .outcome = outcome_of(record->err->code),
        .error = record->err->code,
        .policy_source = record->refused_by,
        .reason = record->err->code < 0 ? record->err->message : NULL,
    };

    copy_client(record->client, client);
    name_subject(record, &note);
    write_details(record, &details);
    note.details = buf_view(&details);
    (void)authority_note_call(record->scope, &about, &note);
}
