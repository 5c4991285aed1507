/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text, a NUL, another text: their diff contains all lines of the first in order (removed or
 * kept), and all lines of the second.
 */
#include <assert.h>
#include <stdint.h>

#include "files/diff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OUT_BYTES = 16 << 20 };

static struct str take_line(struct str *rest)
{
    size_t end = str_find(*rest, STR("\n"));
    struct str line = str_slice(*rest, 0, end == SIZE_MAX ? rest->len : end + 1);

    *rest = str_slice(*rest, line.len, rest->len);
    return line;
}

/* Finds the lines of one side in its text, each behind the one before. */
static void check_side(struct str diff, char mark, struct str text)
{
    (void)take_line(&diff);
    (void)take_line(&diff);
    while (diff.len > 0) {
        struct str line = take_line(&diff);

        if (line.ptr[0] != ' ' && line.ptr[0] != mark)
            continue;
        line = str_slice(line, 1, line.len);
        if (str_starts_with(diff, STR("\\ ")))
            line.len--;
        while (!str_eq(take_line(&text), line))
            assert(text.len > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct diff_options options = {.name = STR("name")};
    cleanup_buf struct buf diff = BUF_INIT(OUT_BYTES);
    const char *nul = memchr(data, '\0', size);
    struct str before = {(const char *)data, size};
    struct str after = STR_EMPTY;
    int r;

    if (nul != NULL) {
        before.len = (size_t)(nul - before.ptr);
        after = (struct str){nul + 1, size - before.len - 1};
    }
    r = diff_unified(before, after, &options, &diff);
    assert(r == 0 && (diff.len == 0) == str_eq(before, after));
    if (diff.len > 0) {
        check_side(buf_view(&diff), '-', before);
        check_side(buf_view(&diff), '+', after);
    }
    return 0;
}
