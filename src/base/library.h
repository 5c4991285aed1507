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

/*
 * The same for a list FUNCTIONS(X) of names, each of which is a member of a struct `library`:
 *
 *     #define FUNCTIONS(X) X(vips_init) X(vips_black)
 */
#define LIBRARY_FUNCTION_(name) {#name, &library.name},
#define LIBRARY_FIND(handle, FUNCTIONS)                                                            \
    ({                                                                                             \
        const struct library_function functions_[] = {FUNCTIONS(LIBRARY_FUNCTION_)};               \
        library_find(handle, functions_, sizeof(functions_) / sizeof(functions_[0]));              \
    })

#endif
