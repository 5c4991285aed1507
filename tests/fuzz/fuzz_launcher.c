/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a message to and from a launcher: an accepted message follows the protocol, and is
 * written as the same bytes.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "isolate/launcher/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_request(struct str message)
{
    cleanup_buf struct buf again = BUF_INIT(2 * LAUNCHER_MAX_MESSAGE);
    struct launcher_request request;
    int r;

    if (launcher_wire_read_request(message, &request) < 0)
        return;
    if (request.kind == LAUNCHER_START) {
        assert(request.word_count >= 1 && request.word_count <= LAUNCHER_MAX_WORDS);
        assert(request.words[request.word_count] == NULL);
        assert(request.variables[request.variable_count] == NULL);
        assert(request.cwd[0] == '/');
    }
    r = launcher_wire_write_request(&request, &again);
    assert(r == 0 && str_eq(buf_view(&again), message));
}

static void check_notice(struct str message)
{
    cleanup_buf struct buf again = BUF_INIT(2 * LAUNCHER_MAX_MESSAGE);
    struct launcher_notice notice;
    int r;

    if (launcher_wire_read_notice(message, &notice) < 0)
        return;
    assert(memchr(notice.err.message, '\0', sizeof(notice.err.message)) != NULL);
    r = launcher_wire_write_notice(&notice, &again);
    assert(r == 0 && str_eq(buf_view(&again), message));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str message = {(const char *)data, size};

    check_request(message);
    check_notice(message);
    return 0;
}
