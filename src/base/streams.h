/* SPDX-License-Identifier: Apache-2.0 */
/* Cleanup attributes for streams of the C library, as base/cleanup.h has them for other things. */
#ifndef BASE_STREAMS_H
#define BASE_STREAMS_H

#include <dirent.h>
#include <stdio.h>

#include "base/cleanup.h"

static inline void cleanup_file_(FILE *const *file)
{
    if (*file != NULL)
        fclose(*file);
}
#define cleanup_file cleanup_with(cleanup_file_)

static inline void cleanup_dir_(DIR *const *dir)
{
    if (*dir != NULL)
        closedir(*dir);
}
#define cleanup_dir cleanup_with(cleanup_dir_)

#endif
