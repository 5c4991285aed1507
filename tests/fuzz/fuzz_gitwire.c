/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a repository makes git print becomes valid JSON, and an error a status of the API. */
#include <assert.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"
#include "programs/sandboxd/daytona/gitwire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OUT_BYTES = 16 << 20, ARENA_BYTES = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const writers[])(struct json_writer *, struct str) = {
        gitwire_status,  gitwire_branches, gitwire_history,
        gitwire_remotes, gitwire_commit,   gitwire_config};
    const struct str output = {(const char *)data, size};

    for (size_t i = 0; i < array_size(writers); i++) {
        cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
        cleanup_buf struct buf out = BUF_INIT(OUT_BYTES);
        const struct json_value *document;
        struct json_writer json;

        json_writer_init(&json, &out);
        writers[i](&json, output);
        assert(json_writer_finish(&json) == 0);
        assert(json_parse(&arena, buf_view(&out), JSON_LIMITS_DEFAULT, &document, NULL) == 0);
    }
    assert(gitwire_failure(output, STR_EMPTY).status >= 400);
    return 0;
}
