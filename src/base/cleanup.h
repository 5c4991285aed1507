/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cleanup attributes for locals that own something. Such a local starts empty (-1, NULL, *_INIT)
 * and is passed on with steal_fd() or steal_ptr(). Modules that own memory define their own
 * attribute beside their _done().
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

#define cleanup_with(function) __attribute__((cleanup(function)))

static inline void cleanup_fd_(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}
#define cleanup_fd cleanup_with(cleanup_fd_)

/* Takes void * so that it fits a pointer of any type. */
static inline void cleanup_free_(void *pointer)
{
    free(*(void **)pointer);
}
#define cleanup_free cleanup_with(cleanup_free_)

static inline int steal_fd(int *fd)
{
    int stolen = *fd;

    *fd = -1;
    return stolen;
}

#define steal_ptr(pointer)                                                                         \
    ({                                                                                             \
        __typeof__(*(pointer)) stolen_ = *(pointer);                                               \
        *(pointer) = NULL;                                                                         \
        stolen_;                                                                                   \
    })

#define array_size(array) (sizeof(array) / sizeof((array)[0]))

#endif
