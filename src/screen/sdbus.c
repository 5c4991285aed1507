/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/sdbus.h"

#include "base/cleanup.h"
#include "base/library.h"

struct sdbus sdbus;

bool sdbus_load(void)
{
    static const struct library_function functions[] = {
#define X(name) {#name, &sdbus.name},
        SDBUS_FUNCTIONS(X)
#undef X
    };

    return library_find(dlopen(SDBUS_LIBRARY, RTLD_NOW | RTLD_LOCAL), functions,
                        array_size(functions));
}
