/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"

/* Skips the ASCII at p, several words at a time. */
static size_t skip_ascii(const char *p, size_t len)
{
    const uint64_t high_bits = 0x8080808080808080U;
    size_t i = 0;
    uint64_t words[2];

    for (; len - i >= sizeof(words); i += sizeof(words)) {
        memcpy(words, p + i, sizeof(words));
        if (((words[0] | words[1]) & high_bits) != 0)
            break;
    }
    while (i < len && (signed char)p[i] >= 0)
        i++;
    return i;
}

size_t utf8_valid_length(struct str text)
{
    size_t i = 0;

    while (i < text.len) {
        size_t step = (signed char)text.ptr[i] >= 0 ? skip_ascii(text.ptr + i, text.len - i)
                                                    : utf8_sequence(text.ptr + i, text.len - i);

        if (step == 0)
            return i;
        i += step;
    }
    return i;
}

bool utf8_is_ascii(struct str text)
{
    return skip_ascii(text.ptr, text.len) == text.len;
}

bool utf8_next(struct str *text, uint32_t *out_code_point)
{
    static const unsigned char lead_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    size_t len;
    uint32_t code_point;

    assert(text->len > 0);
    len = (signed char)text->ptr[0] >= 0 ? 1 : utf8_sequence(text->ptr, text->len);
    if (len == 0) {
        *text = str_slice(*text, 1, text->len);
        *out_code_point = 0xFFFD;
        return false;
    }
    code_point = (unsigned char)text->ptr[0] & lead_bits[len];
    for (size_t i = 1; i < len; i++)
        code_point = code_point << 6 | ((unsigned char)text->ptr[i] & 0x3F);
    *text = str_slice(*text, len, text->len);
    *out_code_point = code_point;
    return true;
}

bool utf8_is_printable(uint32_t code_point)
{
    static const struct {
        uint32_t first;
        uint32_t last;
    } hidden[] = {
        {0x00, 0x1F},       {0x7F, 0x9F},       {0xAD, 0xAD},       {0x34F, 0x34F},
        {0x600, 0x605},     {0x61C, 0x61C},     {0x6DD, 0x6DD},     {0x70F, 0x70F},
        {0x890, 0x891},     {0x8E2, 0x8E2},     {0x115F, 0x1160},   {0x17B4, 0x17B5},
        {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},
        {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},
        {0xFFF0, 0xFFFB},   {0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F},
        {0x1BCA0, 0x1BCA3}, {0x1D159, 0x1D159}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
    };

    if (code_point >= ' ' && code_point <= '~')
        return true;
    for (size_t i = 0; i < array_size(hidden); i++)
        if (code_point >= hidden[i].first && code_point <= hidden[i].last)
            return false;
    return true;
}

size_t utf8_encode(uint32_t code_point, char out_bytes[4])
{
    assert(code_point <= 0x10FFFF && (code_point < 0xD800 || code_point > 0xDFFF));
    if (code_point < 0x80) {
        out_bytes[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        out_bytes[0] = (char)(0xC0 | code_point >> 6);
        out_bytes[1] = (char)(0x80 | (code_point & 0x3F));
        return 2;
    }
    if (code_point < 0x10000) {
        out_bytes[0] = (char)(0xE0 | code_point >> 12);
        out_bytes[1] = (char)(0x80 | (code_point >> 6 & 0x3F));
        out_bytes[2] = (char)(0x80 | (code_point & 0x3F));
        return 3;
    }
    out_bytes[0] = (char)(0xF0 | code_point >> 18);
    out_bytes[1] = (char)(0x80 | (code_point >> 12 & 0x3F));
    out_bytes[2] = (char)(0x80 | (code_point >> 6 & 0x3F));
    out_bytes[3] = (char)(0x80 | (code_point & 0x3F));
    return 4;
}

size_t utf8_count(struct str text)
{
    size_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char)text.ptr[i] & 0xC0) != 0x80;
    return count;
}

struct str utf8_cut(struct str text, size_t max_bytes)
{
    size_t len = max_bytes;

    if (text.len <= max_bytes)
        return text;
    /* Step back over continuation bytes, at most three, to the start of a character. */
    while (len > 0 && max_bytes - len < 3 && ((unsigned char)text.ptr[len] & 0xC0) == 0x80)
        len--;
    return (struct str){text.ptr, len};
}
