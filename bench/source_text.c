/* SPDX-License-Identifier: Apache-2.0 */
#include "source_text.h"

#include "base/cleanup.h"

static const char *const words[] = {
    "queue", "flush",  "buffer", "device", "index", "table",  "find",      "push",  "drop",
    "state", "stack",  "task",   "node",   "tree",  "length", "size",      "count", "value",
    "key",   "result", "error",  "config", "parse", "write",  "read",      "open",  "close",
    "start", "number", "offset", "header", "block", "memory", "allocate",  "free",  "context",
    "user",  "file",   "path",   "name",   "type",  "string", "character", "is",    "to",
};

size_t source_text_draw(struct source_text *source, size_t below)
{
    source->seed ^= source->seed << 13;
    source->seed ^= source->seed >> 7;
    source->seed ^= source->seed << 17;
    return (size_t)(source->seed % below);
}

static const char *word(struct source_text *source)
{
    return words[source_text_draw(source, array_size(words))];
}

void source_text_append_line(struct source_text *source, struct buf *out)
{
    int pad = 4 * (1 + (int)source_text_draw(source, 3));

    switch (source_text_draw(source, 16)) {
    case 0:
        buf_printf(out, "%*sif (%s->%s == %s_%s)\n", pad, "", word(source), word(source),
                   word(source), word(source));
        break;
    case 1:
        buf_printf(out, "%*sreturn %s_%s(%s, %s);\n", pad, "", word(source), word(source),
                   word(source), word(source));
        break;
    case 2:
        buf_printf(out, "%*s/* The %s of the %s %s before its %s is %s. */\n", pad, "",
                   word(source), word(source), word(source), word(source), word(source));
        break;
    case 3:
        buf_printf(out, "%*s}\n", pad, "");
        break;
    case 4:
        buf_printf(out, "\n");
        break;
    case 5:
        buf_printf(out, "%*s%s_%s_%s(%s + %zu, \"%s %s\");\n", pad, "", word(source), word(source),
                   word(source), word(source), source_text_draw(source, 100), word(source),
                   word(source));
        break;
    case 6:
        buf_printf(out, "%*sfor (size_t i = 0; i < %s->%s; i++) {\n", pad, "", word(source),
                   word(source));
        break;
    case 7:
        if (source_text_draw(source, 40) == 0)
            buf_printf(out, "fn %s_init(%s: u32) {\n", word(source), word(source));
        else
            buf_printf(out, "static int %s_%s(struct %s *%s)\n", word(source), word(source),
                       word(source), word(source));
        break;
    case 8:
        if (source_text_draw(source, 200) == 0)
            buf_printf(out,
                       "%*s// Gr\xc3\xb6\xc3\x9f"
                       "e: %s; \xd0\xa0\xd0\xb0\xd0\xb7\xd0\xbc\xd0\xb5\xd1\x80 %s\n",
                       pad, "", word(source), word(source));
        else
            buf_printf(out, "#define %s_%zu 0x%zx\n", word(source), source_text_draw(source, 1000),
                       source_text_draw(source, 1 << 16));
        break;
    case 9:
        if (source_text_draw(source, 60) == 0)
            buf_printf(out, "%*s%s_%s_%zu = queue_flush_all(%s);\n", pad, "", word(source),
                       word(source), source_text_draw(source, 100000), word(source));
        else
            buf_printf(out, "%*s%s.%s = %zu;\n", pad, "", word(source), word(source),
                       source_text_draw(source, 100000));
        break;
    default:
        buf_printf(out, "%*s%s_%s(&%s, %s->%s);\n", pad, "", word(source), word(source),
                   word(source), word(source), word(source));
        break;
    }
}
