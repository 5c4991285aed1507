/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A URI: if it has a name, the name is inside the root, and the URI made from that name leads to
 * the same name.
 */
#include <assert.h>
#include <stdint.h>

#include "authority/names/fileuri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct str roots[] = {STR_LITERAL("/r"), STR_LITERAL("/"), STR_LITERAL("/a b/%41")};

static void check_components(struct str name)
{
    struct str part;

    if (name.len == 0)
        return;
    while (str_cut(&name, '/', &part))
        assert(part.len > 0 && !str_eq(part, STR(".")) && !str_eq(part, STR("..")));
}

static void check_way_back(struct str root, struct str name)
{
    cleanup_buf struct buf uri = BUF_INIT(64 << 10);
    char again[PATH_MAX];
    size_t len;
    int r = fileuri_append(&uri, root, name);

    assert(r == 0);
    r = fileuri_name(buf_view(&uri), root, again, &len, NULL);
    /* The root before it may make it too long to be read again. */
    assert(r == 0 || (r == ERR_INVALID_PATH && name.len + root.len + 1 >= PATH_MAX));
    assert(r < 0 || str_eq((struct str){again, len}, name));
}

/* Any bytes, and what they decode to, survive the way there and back. */
static void check_decoding(struct str text)
{
    cleanup_buf struct buf encoded = BUF_INIT(64 << 10);
    char once[PATH_MAX];
    char again[PATH_MAX];
    size_t len;
    size_t len_again;

    if (fileuri_decode(text, once, &len) < 0)
        return;
    assert(len < PATH_MAX && once[len] == '\0' && strlen(once) == len);
    assert(fileuri_append_encoded(&encoded, (struct str){once, len}) == 0);
    assert(fileuri_decode(buf_view(&encoded), again, &len_again) == 0);
    assert(str_eq((struct str){once, len}, (struct str){again, len_again}));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str uri = {size > 0 ? (const char *)data : "", size};

    check_decoding(uri);
    for (size_t i = 0; i < array_size(roots); i++) {
        char name[PATH_MAX];
        size_t len = SIZE_MAX;
        struct err err = ERR_INIT;
        int r = fileuri_name(uri, roots[i], name, &len, &err);

        if (r < 0) {
            assert(r == ERR_INVALID_ARGUMENT || r == ERR_INVALID_PATH ||
                   r == ERR_PATH_OUTSIDE_ROOT);
            assert(len == SIZE_MAX && err.code == r && err.message[0] != '\0');
            continue;
        }
        assert(len < PATH_MAX && name[len] == '\0' && strlen(name) == len);
        check_components((struct str){name, len});
        check_way_back(roots[i], (struct str){name, len});
    }
    return 0;
}
