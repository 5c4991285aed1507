/* SPDX-License-Identifier: Apache-2.0 */
#include "searches.h"

const struct search searches[] = {
    {"literal", "queue_flush_all(", true, false, 1, true},
    {"literal, frequent", "return", true, false, 1, false},
    {"literal, ignoring case", "device_buffer", true, true, 1, true},
    {"literal with s and k, ignoring case", "task_stack", true, true, 1, false},
    {"literal beyond ASCII, ignoring case",
     "gr\xc3\xb6\xc3\x9f"
     "e",
     true, true, 1, true},
    {"Cyrillic, ignoring case", "\xd1\x80\xd0\xb0\xd0\xb7\xd0\xbc\xd0\xb5\xd1\x80", true, true, 1,
     false},
    {"regex with a literal in it", "fn\\s+\\w+_init\\(", false, false, 1, true},
    {"words by their length", "[a-z]{9}_[a-z]{2}_", false, false, 1, true},
    {"alternatives", "queue_push|table_find|index_drop", false, false, 1, false},
    {"nothing to be found", "zebra_quagga", true, false, 1, true},
    {"regex, nothing to be found", "zebra\\s*\\(\\w+,", false, false, 1, false},
    {"long words", "\\w{25,}", false, false, 1.5, true},
    {"closing braces", "^\\s+\\}$", false, false, 1.5, true},
    {"names with numbers", "[a-z]+_[a-z]+_[0-9]{4,}", false, false, 1.5, true},
};
const size_t search_count = sizeof(searches) / sizeof(searches[0]);
