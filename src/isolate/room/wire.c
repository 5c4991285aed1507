/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/room/wire.h"

#include <string.h>

bool room_is_name(const char *name)
{
    size_t len = strnlen(name, ROOM_ID_BYTES);

    return len > 0 && len < ROOM_ID_BYTES && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == len;
}
