/* SPDX-License-Identifier: Apache-2.0 */
#include "shell/text.h"

#include <stdio.h>

#include "base/utf8.h"

enum { CHARACTER_MAX = 4 };

int text_append(struct buf *out, struct str bytes)
{
    int r = 0;

    while (bytes.len > 0 && r == 0) {
        size_t valid = utf8_valid_length(bytes);

        r = buf_append(out, bytes.ptr, valid);
        bytes = str_slice(bytes, valid, bytes.len);
        if (r == 0 && bytes.len > 0) {
            r = buf_append_str(out, STR(UTF8_REPLACEMENT));
            bytes = str_slice(bytes, 1, bytes.len);
        }
    }
    return r;
}

static bool is_tail(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Length of a character that begins with this byte; 1 if it starts no multi-byte character. */
static size_t length_by_lead(char byte)
{
    unsigned char lead = (unsigned char)byte;

    if (lead < 0xC2 || lead > 0xF4)
        return 1;
    return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* Whether further bytes could complete a character. */
static bool can_be_finished(struct str start, size_t length)
{
    char whole[CHARACTER_MAX];

    /* The valid second bytes depend on the first; any others will do. */
    for (unsigned second = 0x80; second < 0xC0; second += 0x10) {
        whole[0] = start.ptr[0];
        whole[1] = start.len > 1 ? start.ptr[1] : (char)second;
        whole[2] = whole[3] = (char)0x80;
        if (utf8_sequence(whole, length) == length)
            return true;
    }
    return false;
}

size_t text_unfinished(struct str bytes)
{
    for (size_t back = 1; back < CHARACTER_MAX && back <= bytes.len; back++) {
        struct str start = str_slice(bytes, bytes.len - back, back);

        if (is_tail(start.ptr[0]))
            continue;
        return length_by_lead(start.ptr[0]) > back &&
                       can_be_finished(start, length_by_lead(start.ptr[0]))
                   ? back
                   : 0;
    }
    return 0;
}

size_t text_leftover(struct str bytes)
{
    size_t count = 0;

    while (count < CHARACTER_MAX - 1 && count < bytes.len && is_tail(bytes.ptr[count]))
        count++;
    return count;
}

const char *text_size(uint64_t bytes, char out_text[TEXT_SIZE_BYTES])
{
    static const char *const units[] = {"KB", "MB", "GB", "TB"};
    double amount = (double)bytes / 1000;
    size_t unit = 0;

    if (bytes < 1000) {
        snprintf(out_text, TEXT_SIZE_BYTES, "%u byte%s", (unsigned)bytes, bytes == 1 ? "" : "s");
        return out_text;
    }
    /* What would be shown as 1000.0 is one of the next. */
    while (amount >= 999.95 && unit + 1 < array_size(units)) {
        amount /= 1000;
        unit++;
    }
    snprintf(out_text, TEXT_SIZE_BYTES, "%.1f %s", amount, units[unit]);
    return out_text;
}
