/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/room/space.h"

#include <sys/statvfs.h>

#define USUAL_BYTES (UINT64_C(1) << 30)
enum { SHARE = 20 };

bool space_free(int fd, struct space *out_free)
{
    struct statvfs about;

    if (fstatvfs(fd, &about) < 0)
        return false;
    out_free->bytes = (uint64_t)about.f_bavail * about.f_frsize;
    out_free->files = about.f_files > 0 ? (uint64_t)about.f_favail : UINT64_MAX;
    return true;
}

bool space_floor(int fd, uint64_t bytes, struct space *out_floor)
{
    struct statvfs about;
    uint64_t share;

    if (bytes == UINT64_MAX) {
        *out_floor = (struct space){0};
        return true;
    }
    if (fstatvfs(fd, &about) < 0)
        return false;
    share = (uint64_t)about.f_blocks * about.f_frsize / SHARE;
    out_floor->bytes = bytes > 0 ? bytes : share < USUAL_BYTES ? share : USUAL_BYTES;
    out_floor->files = (uint64_t)about.f_files / SHARE;
    return true;
}

bool space_is_low(const struct space *free, const struct space *floor)
{
    return free->bytes < floor->bytes || free->files < floor->files;
}

bool space_is_half_low(const struct space *free, const struct space *floor)
{
    return free->bytes < floor->bytes / 2 || free->files < floor->files / 2;
}
