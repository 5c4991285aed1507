/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/sdbus.h"

#include <dlfcn.h>
#include <string.h>

struct sdbus sdbus;

bool sdbus_load(void)
{
    void *handle = dlopen(SDBUS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *found;

    if (handle == NULL)
        return false;
        /* SAFETY: POSIX has function pointers fit into void *. */
#define X(name)                                                                                    \
    found = dlsym(handle, #name);                                                                  \
    if (found == NULL)                                                                             \
        return false;                                                                              \
    memcpy(&sdbus.name, &found, sizeof(found));
    SDBUS_FUNCTIONS(X)
#undef X
    return true;
}
