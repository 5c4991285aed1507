/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A byte that names a tool, and JSON: its arguments come into the catalogue's form or are refused
 * with a printable message that names one; what has that form stays as it is.
 */
#include <assert.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/jsonwrite.h"
#include "base/utf8.h"
#include "protocol/arguments.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 64 << 20, TEXT_BYTES = 16 << 20 };

static void check_error(int r, const struct err *err)
{
    if (r == ERR_NO_MEMORY || r == ERR_TOO_LARGE)
        return;
    assert(r == ERR_SCHEMA_MISMATCH && err->code == r);
    assert(err->message[0] != '\0' && utf8_is_valid(str_from(err->message)));
    assert(utf8_is_valid(str_from(err->field)));
    for (const char *c = err->message; *c != '\0'; c++)
        assert((unsigned char)*c >= ' ' && *c != 0x7F);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);
    const struct json_value *given;
    const struct json_value *result;
    const struct json_value *again;
    const struct catalog_tool *tool;
    struct json_writer w;
    struct err err = ERR_INIT;
    int r;

    if (size == 0)
        return 0;
    tool = &catalog_tools[data[0] % catalog_tool_count];
    if (json_parse(&arena, (struct str){(const char *)data + 1, size - 1}, JSON_LIMITS_DEFAULT,
                   &given, NULL) < 0)
        return 0;
    r = arguments_normalise(&arena, tool, given, &result, &err);
    if (r < 0) {
        check_error(r, &err);
        return 0;
    }
    assert((given->type == JSON_OBJECT) == (result->type == JSON_OBJECT));
    r = arguments_normalise(&arena, tool, result, &again, NULL);
    assert(r == ERR_TOO_LARGE || (r == 0 && json_eq(again, result)));
    json_writer_init(&w, &text);
    json_write_value(&w, result);
    r = json_writer_finish(&w);
    assert(r == 0 || r == ERR_TOO_LARGE);
    return 0;
}
