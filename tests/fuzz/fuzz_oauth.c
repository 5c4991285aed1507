/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A form whose values are encoded and read again gives the same values. An accepted redirect is
 * itself, has only characters that browsers leave as they are, and stays the same with another port
 * on loopback only.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "programs/server/oauthwire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_BYTES = 1 << 20, NAMES = 2 };

static const struct str names[NAMES] = {STR_LITERAL("redirect_uri"), STR_LITERAL("state")};

static void check_form(struct str text)
{
    cleanup_arena struct arena arena = ARENA_INIT(8 * MAX_BYTES);
    cleanup_buf struct buf again = BUF_INIT(8 * MAX_BYTES);
    struct str values[NAMES];
    struct str same[NAMES];

    if (oauthwire_read_form(&arena, text, names, NAMES, values) < 0)
        return;
    for (size_t i = 0; i < NAMES; i++)
        if (values[i].ptr != NULL) {
            assert(!str_has_nul(values[i]));
            assert(oauthwire_append(&again, names[i], values[i]) == 0);
        }
    assert(oauthwire_read_form(&arena, buf_view(&again), names, NAMES, same) == 0);
    for (size_t i = 0; i < NAMES; i++)
        assert((values[i].ptr == NULL) == (same[i].ptr == NULL) && str_eq(values[i], same[i]));
}

static void check_redirect(struct str uri)
{
    struct oauthwire_redirect redirect;

    if (!oauthwire_read_redirect(uri, &redirect))
        return;
    assert(redirect.host.len > 0 && uri.len <= OAUTHWIRE_MAX_URI_BYTES);
    assert(memchr(redirect.host.ptr, '@', redirect.host.len) == NULL);
    assert(memchr(uri.ptr, '#', uri.len) == NULL && memchr(uri.ptr, '\\', uri.len) == NULL);
    for (size_t i = 0; i < uri.len; i++)
        assert(uri.ptr[i] > ' ' && uri.ptr[i] <= '~');
    assert(oauthwire_is_same_redirect(uri, uri));
    assert(redirect.rest.len == 0 || redirect.rest.ptr[0] == '/' || redirect.rest.ptr[0] == '?');
    assert(redirect.is_loopback == str_starts_with(uri, STR("http://")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};

    check_form(text);
    check_redirect(text);
    (void)oauthwire_verify(str_slice(text, 0, OAUTHWIRE_CHALLENGE_CHARS),
                           str_slice(text, OAUTHWIRE_CHALLENGE_CHARS, size));
    return 0;
}
