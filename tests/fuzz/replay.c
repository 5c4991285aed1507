/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over every file of its corpus: a directory given as the
 * only argument. An empty or missing corpus is a failure, so that a moved directory does not
 * pass.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LARGEST_SEED_BYTES = 16 << 20 };

static int replay_file(int dir_fd, const char *name)
{
    cleanup_fd int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    cleanup_buf struct buf seed = BUF_INIT(LARGEST_SEED_BYTES);

    if (fd < 0)
        return -1;
    while (true) {
        ssize_t got;

        if (buf_reserve(&seed, 4096) < 0)
            return -1;
        got = read(fd, seed.data + seed.len, 4096);
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        seed.len += (size_t)got;
    }
    return LLVMFuzzerTestOneInput((const uint8_t *)seed.data, seed.len);
}

int main(int argc, char **argv)
{
    const struct dirent *entry;
    unsigned count = 0;
    DIR *dir;

    if (argc != 2)
        return 2;
    dir = opendir(argv[1]);
    if (dir == NULL) {
        perror(argv[1]);
        return 1;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        if (replay_file(dirfd(dir), entry->d_name) != 0) {
            fprintf(stderr, "%s/%s: failed\n", argv[1], entry->d_name);
            closedir(dir);
            return 1;
        }
        count++;
    }
    closedir(dir);
    printf("%u seeds\n", count);
    return count > 0 ? 0 : 1;
}
