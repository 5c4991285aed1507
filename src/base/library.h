/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a library that a program loads only if it needs it, and can do without. */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct library_function {
    const char *name;
    void *to; /* the pointer to such a function that gets it */
};

/* False if dlopen() gave no library, or it lacks one of them. */
static inline bool library_find(void *handle, const struct library_function *functions,
                                size_t count)
{
    for (size_t i = 0; i < count && handle != NULL; i++) {
        void *found = dlsym(handle, functions[i].name);

        if (found == NULL)
            return false;
        /* SAFETY: POSIX has function pointers fit into void *. */
        memcpy(functions[i].to, &found, sizeof(found));
    }
    return handle != NULL;
}

#endif
