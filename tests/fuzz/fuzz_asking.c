/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any line between a program that asks and a terminal: a question that is parsed and written parses
 * to the same.
 */
#include <assert.h>
#include <stdint.h>

#include "asking/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 32 << 20 };

static void check_question(const struct question *a, const struct question *b)
{
    assert(str_eq(a->asker, b->asker) && str_eq(a->client, b->client));
    assert(str_eq(a->tool, b->tool) && str_eq(a->action, b->action));
    assert(str_eq(a->detail, b->detail) && str_eq(a->folder, b->folder));
    assert(str_eq(a->pattern, b->pattern) && a->choices == b->choices);
    assert(a->group == b->group && a->is_diff == b->is_diff && a->deletes == b->deletes);
    assert(a->resource_count == b->resource_count);
    for (size_t i = 0; i < a->resource_count; i++)
        assert(str_eq(a->resources[i].shown, b->resources[i].shown) &&
               a->resources[i].operation == b->resources[i].operation);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    cleanup_buf struct buf line = BUF_INIT(ASKING_QUESTION_BYTES);
    struct asking_message message;
    struct asking_message again;
    int r;

    if (asking_parse(&arena, (struct str){(const char *)data, size}, &message) < 0)
        return 0;
    assert(message.id > 0);
    if (message.kind != ASKING_QUESTION || question_bytes(&message.question) > QUESTION_MAX_BYTES)
        return 0;
    r = asking_write_question(message.id, message.question.asker, &message.question, &line);
    assert(r == 0);
    r = asking_parse(&arena, buf_view(&line), &again);
    assert(r == 0 && again.kind == ASKING_QUESTION && again.id == message.id);
    check_question(&message.question, &again.question);
    return 0;
}
