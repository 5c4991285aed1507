/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a Dockerfile: what is accepted is a list of steps that the service knows. */
#include <assert.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"
#include "programs/sandboxd/dockerfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_known(struct str step)
{
    static const struct str words[] = {STR_LITERAL("FROM "), STR_LITERAL("RUN "),
                                       STR_LITERAL("COPY "), STR_LITERAL("ENV "),
                                       STR_LITERAL("WORKDIR /")};

    for (size_t i = 0; i < array_size(words); i++)
        if (str_starts_with(step, words[i]) && step.len > words[i].len - 1)
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct json_limits limits = {16 << 20, 4};
    cleanup_arena struct arena arena = ARENA_INIT(64 << 20);
    cleanup_buf struct buf steps = BUF_INIT(16 << 20);
    const struct json_value *list;
    struct err err = ERR_INIT;

    if (size == 0)
        return 0;
    if (dockerfile_read((struct str){(const char *)data, size}, &steps, &err) < 0) {
        assert(err.code < 0 && err.message[0] != '\0');
        return 0;
    }
    assert(json_parse(&arena, buf_view(&steps), limits, &list, NULL) == 0);
    assert(list->type == JSON_ARRAY && list->size > 0 && list->size <= DOCKERFILE_MAX_STEPS);
    json_each_item (item, list)
        assert(is_known(json_str(item)));
    return 0;
}
