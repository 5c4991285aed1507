/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol/nearname.h"

size_t nearname_fold(struct str name, char out_folded[NEARNAME_BYTES])
{
    size_t len = 0;

    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if (c == '_' || c == '-')
            continue;
        if (len == NEARNAME_BYTES)
            return 0;
        out_folded[len++] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
    }
    return len;
}

size_t nearname_distance(struct str given, struct str known)
{
    size_t far = str_distance(given, known);

    if (far <= (given.len > known.len ? given.len : known.len) / 3)
        return far;
    if (given.len < 3 || known.len < 3)
        return SIZE_MAX;
    if (str_starts_with(known, given) || str_starts_with(given, known))
        return NEARNAME_BYTES + far;
    return str_find(known, given) != SIZE_MAX || str_find(given, known) != SIZE_MAX
               ? 2 * NEARNAME_BYTES + far
               : SIZE_MAX;
}
