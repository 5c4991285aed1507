/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the list of an upload's parts: what is accepted are parts that are there, in order.
 */
#include <assert.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "programs/sandboxd/daytona/parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct str contents[] = {STR_LITERAL("a"), STR_LITERAL("bc"), STR_LITERAL("def")};
    struct str pieces[PARTS_MOST];
    struct parts_upload *upload = NULL;
    struct parts parts;
    char tag[PARTS_ID_BYTES];
    size_t count = 0;
    size_t last = 0;

    parts_init(&parts);
    assert(parts_begin(&parts, "", STR("x"), 0, &upload) == 0);
    for (size_t i = 0; i < array_size(contents); i++)
        assert(parts_put(&parts, upload, (int64_t)i + 1, contents[i], 0, tag) == 0);
    if (parts_read_list(upload, (struct str){(const char *)data, size}, pieces, &count) == 0)
        assert(count > 0 && count <= array_size(contents));
    for (size_t i = 0; i < count; i++) {
        assert(pieces[i].len > last && pieces[i].len <= array_size(contents));
        assert(str_eq(pieces[i], contents[pieces[i].len - 1]));
        last = pieces[i].len;
    }
    parts_done(&parts);
    return 0;
}
