/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What git says about a single name: it is also ignored if a directory above it is, whatever the
 * rules say about the name itself.
 */
#ifndef TESTS_SUPPORT_IGNORE_ALONE_H
#define TESTS_SUPPORT_IGNORE_ALONE_H

#include "authority/names/ignore.h"

static inline enum ignore_decision ignore_decide_alone(const struct ignore_layer *layer,
                                                       struct str name, bool is_dir)
{
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] == '/' &&
            ignore_decide(layer, (struct str){name.ptr, i}, true) == IGNORE_IGNORED)
            return IGNORE_IGNORED;
    return ignore_decide(layer, name, is_dir);
}

#endif
