/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/room/wire.h"

#include <string.h>

bool room_is_name(const char *name)
{
    size_t len = strnlen(name, ROOM_ID_BYTES);

    return len > 0 && len < ROOM_ID_BYTES && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == len;
}

size_t room_order_strings(const struct room_order *order)
{
    return (size_t)1 + order->word_count + order->env_count;
}

bool room_order_parse(const struct room_order *order, char *bytes, char **strings)
{
    const char *end = bytes + order->bytes;

    for (size_t i = 0; i < room_order_strings(order); i++) {
        if (bytes >= end)
            return false;
        strings[i] = bytes;
        bytes += strlen(bytes) + 1;
    }
    return true;
}
