/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts calls of fdatasync(), for tests: loaded by LD_PRELOAD into a program and those that it
 * starts. The count is in the file that COUNT_SYNCS names, which a program that has confined itself
 * and closed its descriptors still reaches.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic uint64_t nobodys;
static _Atomic uint64_t *count = &nobodys;

__attribute__((constructor)) static void open_count(void)
{
    const char *path = getenv("COUNT_SYNCS");
    int fd = path != NULL ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    void *place;

    if (fd < 0)
        return;
    if (ftruncate(fd, sizeof(*count)) == 0) {
        place = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (place != MAP_FAILED)
            count = place;
    }
    close(fd);
}

/* By its symbol, since the C library's declaration has attributes and names of its own. */
__attribute__((visibility("default"))) int count_sync(int fd) __asm__("fdatasync");

int count_sync(int fd)
{
    (*count)++;
    return (int)syscall(SYS_fdatasync, fd);
}
