/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A schema, a byte 0xFF (which no JSON text has) and a value: compiling and checking end, errors
 * are printable, and the result is always the same, with or without a message. {"not": schema}
 * gives the opposite.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/schema/schema.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_BYTES = 16 << 20, SEPARATOR = 0xFF };

static const struct json_limits limits = {MAX_BYTES, JSON_LARGEST_MAX_DEPTH};

static void check_text(const char *text)
{
    assert(utf8_is_valid(str_from(text)));
    for (; *text != '\0'; text++)
        assert((unsigned char)*text >= ' ' && *text != 0x7F);
}

static void check_error(const struct err *err)
{
    assert(err->message[0] != '\0');
    check_text(err->message);
    check_text(err->field);
}

static void check_opposite(struct arena *arena, struct str schema_text,
                           const struct json_value *value, int verdict)
{
    cleanup_buf struct buf text = BUF_INIT(MAX_BYTES + 16);
    const struct json_value *document;
    const struct schema *schema;
    int r;

    /* Places move when a schema is put inside another. */
    if (str_find(schema_text, STR("$")) != SIZE_MAX || str_find(schema_text, STR("\\")) != SIZE_MAX)
        return;
    buf_append_str(&text, STR("{\"not\":"));
    buf_append_str(&text, schema_text);
    buf_append_str(&text, STR("}"));
    if (json_parse(arena, buf_view(&text), limits, &document, NULL) < 0 ||
        schema_compile(arena, document, &schema, NULL) < 0)
        return;
    r = schema_check(schema, value, NULL);
    assert(r == ERR_TOO_LARGE || (r == 0) == (verdict == ERR_SCHEMA_MISMATCH));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_arena struct arena arena = ARENA_INIT(64 << 20);
    struct str rest = {(const char *)data, size};
    const struct json_value *document;
    const struct json_value *value;
    const struct schema *schema;
    struct err err = ERR_INIT;
    struct err again = ERR_INIT;
    struct str schema_text;
    int r;

    if (size == 0 || !str_cut(&rest, (char)SEPARATOR, &schema_text) || rest.ptr == NULL)
        return 0;
    if (json_parse(&arena, schema_text, limits, &document, NULL) < 0)
        return 0;
    if (schema_compile(&arena, document, &schema, &err) < 0) {
        check_error(&err);
        return 0;
    }
    if (json_parse(&arena, rest, limits, &value, NULL) < 0)
        return 0;
    r = schema_check(schema, value, &err);
    assert(r == 0 || r == ERR_SCHEMA_MISMATCH || r == ERR_TOO_LARGE);
    if (r < 0)
        check_error(&err);
    assert(schema_check(schema, value, &again) == r);
    assert(strcmp(err.message, again.message) == 0 && strcmp(err.field, again.field) == 0);
    /* Saying why takes work too: only the verdict may come within the limit. */
    assert(r == ERR_TOO_LARGE || schema_check(schema, value, NULL) == r);
    if (r != ERR_TOO_LARGE)
        check_opposite(&arena, schema_text, value, r);
    return 0;
}
