/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a file system is left to those who are not root, as the service and the keeper see
 * it. */
#ifndef ISOLATE_ROOM_SPACE_H
#define ISOLATE_ROOM_SPACE_H

#include <stdbool.h>
#include <stdint.h>

struct space {
    uint64_t bytes;
    uint64_t files; /* UINT64_MAX: the file system has no such limit */
};

/* What is free where the file of `fd` is. False if that cannot be told. */
bool space_free(int fd, struct space *out_free);

/*
 * What has to stay free there: `bytes` or, with 0, 1 GiB and at most a twentieth of the file
 * system; and a twentieth of the number of files that it can have. UINT64_MAX: nothing has to.
 */
bool space_floor(int fd, uint64_t bytes, struct space *out_floor);

/* Whether less is free than a floor, or than a half of it. */
bool space_is_low(const struct space *free, const struct space *floor);
bool space_is_half_low(const struct space *free, const struct space *floor);

#endif
