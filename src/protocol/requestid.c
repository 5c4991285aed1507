/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol/requestid.h"

#include <string.h>

#include "base/arena.h"

enum { ID_ARENA_BYTES = 64 << 10 };

/*
 *   BEGIN -> KEY_OR_END -> KEY -> COLON -> VALUE -> STRING ------> NEXT -> OVER
 *                ^                           |----> SCALAR -------->|
 *                |                           `----> NESTED -------->|
 *                |                                   ^ |            |
 *                |                                   | v            |
 *                |                             NESTED_STRING        |
 *                `--------------------------------------------------'
 * What fits nowhere is OVER too: what was found until then stays found.
 */
enum state {
    BEGIN,
    KEY_OR_END,
    KEY,
    COLON,
    VALUE,
    STRING,
    SCALAR,
    NESTED,
    NESTED_STRING,
    NEXT,
    OVER,
};

void requestid_init(struct requestid *scan)
{
    memset(scan, 0, sizeof(*scan));
    scan->state = BEGIN;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void keep(char *room, size_t size, size_t *len, char c)
{
    if (*len < size)
        room[*len] = c;
    if (*len <= size)
        ++*len;
}

static bool has_key(const struct requestid *scan, struct str key)
{
    return scan->key_len <= sizeof(scan->key) &&
           str_eq((struct str){scan->key, scan->key_len}, key);
}

static void end_value(struct requestid *scan)
{
    if (has_key(scan, STR("method")))
        scan->has_method = scan->value_len > 0 && scan->value[0] == '"';
    if (!has_key(scan, STR("id")))
        return;
    scan->ids++;
    scan->id_len = scan->value_len <= sizeof(scan->value) ? scan->value_len : 0;
    memcpy(scan->id, scan->value, scan->id_len);
}

/* Handles a byte of a string; returns whether it was the closing quote. */
static bool ends_string(struct requestid *scan, char c)
{
    bool is_end = c == '"' && !scan->is_escaped;

    scan->is_escaped = c == '\\' && !scan->is_escaped;
    return is_end;
}

static enum state begin_value(struct requestid *scan, char c)
{
    scan->value_len = 0;
    switch (c) {
    case '"':
        keep(scan->value, sizeof(scan->value), &scan->value_len, c);
        return STRING;
    case '{':
        scan->objects = 1;
        return NESTED;
    case '[':
        scan->arrays = 1;
        return NESTED;
    case ',':
    case ':':
    case '}':
    case ']':
        return OVER;
    default:
        keep(scan->value, sizeof(scan->value), &scan->value_len, c);
        return SCALAR;
    }
}

static enum state end_member(char c)
{
    if (is_space(c))
        return NEXT;
    return c == ',' ? KEY_OR_END : OVER;
}

static enum state nest(struct requestid *scan, char c)
{
    if (c == '"')
        return NESTED_STRING;
    if (c == '{')
        scan->objects++;
    if (c == '[')
        scan->arrays++;
    if ((c == '}' && scan->objects == 0) || (c == ']' && scan->arrays == 0))
        return OVER;
    if (c == '}')
        scan->objects--;
    if (c == ']')
        scan->arrays--;
    if (scan->objects > 0 || scan->arrays > 0)
        return NESTED;
    end_value(scan);
    return NEXT;
}

static enum state step(struct requestid *scan, char c)
{
    enum state state = (enum state)scan->state;

    switch (state) {
    case BEGIN:
        return is_space(c) ? BEGIN : c == '{' ? KEY_OR_END : OVER;
    case KEY_OR_END:
        scan->key_len = 0;
        return is_space(c) ? KEY_OR_END : c == '"' ? KEY : OVER;
    case KEY:
        if (ends_string(scan, c))
            return COLON;
        keep(scan->key, sizeof(scan->key), &scan->key_len, c);
        return KEY;
    case COLON:
        return is_space(c) ? COLON : c == ':' ? VALUE : OVER;
    case VALUE:
        return is_space(c) ? VALUE : begin_value(scan, c);
    case STRING:
        keep(scan->value, sizeof(scan->value), &scan->value_len, c);
        if (!ends_string(scan, c))
            return STRING;
        end_value(scan);
        return NEXT;
    case SCALAR:
        if (is_space(c) || c == ',' || c == '}') {
            end_value(scan);
            return end_member(c);
        }
        keep(scan->value, sizeof(scan->value), &scan->value_len, c);
        return SCALAR;
    case NESTED:
        return nest(scan, c);
    case NESTED_STRING:
        return ends_string(scan, c) ? NESTED : NESTED_STRING;
    case NEXT:
        return end_member(c);
    case OVER:
        break;
    }
    return OVER;
}

void requestid_feed(struct requestid *scan, struct str bytes)
{
    for (size_t i = 0; i < bytes.len && scan->state != OVER; i++)
        scan->state = (int)step(scan, bytes.ptr[i]);
}

struct str requestid_end(struct requestid *scan)
{
    cleanup_arena struct arena arena = ARENA_INIT(ID_ARENA_BYTES);
    const struct json_value *value;
    struct str text;

    if (!scan->has_method || scan->ids != 1 || scan->id_len == 0 ||
        json_parse(&arena, (struct str){scan->id, scan->id_len}, JSON_LIMITS_DEFAULT, &value,
                   NULL) < 0 ||
        jsonrpc_id_text(&arena, value, &text, NULL) < 0)
        return STR_EMPTY;
    memcpy(scan->id, text.ptr, text.len);
    scan->id_len = text.len;
    return (struct str){scan->id, scan->id_len};
}
