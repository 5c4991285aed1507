/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the rules of a front end: rules that are parsed, compiled and written parse to the
 * same.
 */
#include <assert.h>
#include <stdint.h>

#include "permission/rules/denials.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROOM = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_arena struct arena arena = ARENA_INIT(ROOM);
    cleanup_buf struct buf once = BUF_INIT(ROOM);
    cleanup_buf struct buf again = BUF_INIT(ROOM);
    cleanup_rulebook struct rulebook *book = NULL;
    cleanup_rulebook struct rulebook *same = NULL;
    struct rule *rules;
    size_t count;
    int r;

    if (denials_read(&arena, (struct str){(const char *)data, size}, &rules, &count, NULL) < 0 ||
        rulebook_new(rules, count, &book, NULL) < 0)
        return 0;
    r = denials_write(book, INT64_MIN, &once);
    assert(r == 0);
    r = denials_read(&arena, buf_view(&once), &rules, &count, NULL);
    assert(r == 0 && count == rulebook_count(book));
    r = rulebook_new(rules, count, &same, NULL);
    assert(r == 0);
    r = denials_write(same, INT64_MIN, &again);
    assert(r == 0 && str_eq(buf_view(&once), buf_view(&again)));
    return 0;
}
