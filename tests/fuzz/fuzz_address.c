/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parsed address, written and parsed again, is the same. Parsing hosts and origins does not
 * crash.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "net/address.h"
#include "net/http/origin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str text = {(const char *)data, size};
    const struct str origins[] = {STR("http://localhost:*")};
    const struct origin_policy policy = {
        .is_loopback = true, .port = 8080, .origins = origins, .origin_count = 1};
    char written[ADDRESS_TEXT_BYTES];
    struct address first;
    struct address second;

    if (size == 0)
        return 0;
    if (address_parse(text, &first) == 0) {
        address_format(&first, written);
        assert(address_parse(str_from(written), &second) == 0);
        assert(memcmp(first.ip, second.ip, sizeof(first.ip)) == 0 && first.port == second.port);
    }
    /* Whatever passes for our host has our port and one of our names in it. */
    if (origin_check_host(&policy, text) == 0)
        assert(str_ends_with(text, STR("8080")));
    if (origin_check_origin(&policy, text) == 0)
        assert(size > 7 && text.ptr[size - 1] != '/');
    return 0;
}
