/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol/staged.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

enum { ID_BYTES = 64 };

static struct str last_part(struct str path)
{
    size_t at = path.len;
    struct str part;

    while (at > 0 && path.ptr[at - 1] != '/')
        at--;
    part = str_slice(path, at, path.len);
    if (part.len == 0 || str_eq(part, STR(".")) || str_eq(part, STR("..")))
        return STR("file");
    return part;
}

bool staged_name(uint64_t number, size_t index, struct str given, char out_name[STAGED_NAME_BYTES])
{
    struct str part = last_part(given);

    return snprintf(out_name, STAGED_NAME_BYTES, "%" PRIu64 "/%zu/%.*s", number, index,
                    STR_ARG(part)) < STAGED_NAME_BYTES;
}

bool staged_is_download(struct str id)
{
    for (size_t i = 0; i < id.len; i++)
        if (!isalnum((unsigned char)id.ptr[i]) && id.ptr[i] != '-')
            return false;
    return id.len > 0 && id.len <= ID_BYTES;
}
