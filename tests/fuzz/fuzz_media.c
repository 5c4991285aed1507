/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a request to gatehouse-media and as its answer: what is accepted lies within the
 * bytes, and is the same again when it is written.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "media/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_request(struct str bytes)
{
    cleanup_free struct media_request *request = malloc(sizeof(*request));
    cleanup_free struct media_request *again = malloc(sizeof(*again));
    cleanup_buf struct buf out = BUF_INIT(MEDIA_MAX_BYTES);
    struct err err = ERR_INIT;

    assert(request != NULL && again != NULL);
    if (media_read_request(bytes, request, &err) < 0) {
        assert(err.code == ERR_INVALID_ARGUMENT && err.message[0] != '\0');
        /* cppcheck-suppress memleak ; it is freed by its cleanup */
        return;
    }
    for (size_t i = 0; i < request->input_count; i++)
        assert(request->inputs[i].len == 0 ||
               (request->inputs[i].ptr >= bytes.ptr &&
                request->inputs[i].ptr + request->inputs[i].len <= bytes.ptr + bytes.len));
    assert(media_write_request(request, &out) == 0 && out.len == bytes.len);
    assert(media_read_request(buf_view(&out), again, NULL) == 0);
    assert(again->operation == request->operation && again->input_count == request->input_count);
}

static void check_answer(struct str bytes)
{
    cleanup_free struct media_answer *answer = malloc(sizeof(*answer));
    cleanup_buf struct buf out = BUF_INIT(MEDIA_MAX_BYTES);

    assert(answer != NULL);
    if (media_read_answer(bytes, answer, NULL) < 0)
        return;
    assert(answer->output_count <= MEDIA_MAX_OUTPUTS);
    assert(media_write_answer(answer, &out) == 0 && out.len == bytes.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = {(const char *)data, size};

    check_request(bytes);
    check_answer(bytes);
    (void)media_format_by_content(bytes);
    (void)media_format_by_ending(bytes);
    (void)media_format_by_name(bytes);
    return 0;
}
