/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beside the files "stem", "stem.1", … is "stem.lock". A process locks it to rotate or allocate,
 * and it holds a few bytes about the space of the current file. Appending needs no lock.
 */
#include "authority/audit/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define DEFAULT_MAX_BYTES ((uint64_t)16 << 20)
/* Twice this, plus a chunk, still fits an off_t. */
#define LARGEST_MAX_BYTES ((uint64_t)INT64_MAX / 4)

enum {
    DEFAULT_MAX_FILES = 8,
    WRITABLE_MODE = 0600,
    SEALED_MODE = 0400,
    PAGE_BYTES = 4096,
    DEFAULT_LOCK_WAIT_MS = 5000,
    FIRST_PAUSE_NS = 50000,
    LONGEST_PAUSE_NS = 5000000,
};

/* The lock file's content about the current file's space. Only for this machine. */
struct space {
    uint64_t magic;
    uint64_t inode;
    uint64_t end;      /* allocated up to here */
    uint64_t unleased; /* part of it that no process has leased */
};
static const uint64_t space_magic = 0x3165636170536147;

/* ---- Opening ---- */

bool audit_name_is_usable(const char *name)
{
    size_t len = name != NULL ? strnlen(name, AUDIT_MAX_NAME + 1) : 0;

    return len > 0 && len <= AUDIT_MAX_NAME && strchr(name, '/') == NULL &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

void audit_stem(const char *name, enum audit_kind kind, char out_stem[AUDIT_NAME_BYTES])
{
    snprintf(out_stem, AUDIT_NAME_BYTES, "%.*s%s", AUDIT_MAX_NAME, name,
             kind == AUDIT_READS ? ".reads" : "");
}

void audit_file_name(const char *stem, unsigned number, char out_name[AUDIT_NAME_BYTES])
{
    if (number == 0)
        snprintf(out_name, AUDIT_NAME_BYTES, "%.*s", AUDIT_MAX_STEM, stem);
    else
        snprintf(out_name, AUDIT_NAME_BYTES, "%.*s.%u", AUDIT_MAX_STEM, stem, number);
}

static void name_with(const struct audit_store *store, const char *suffix,
                      char out_name[AUDIT_NAME_BYTES])
{
    snprintf(out_name, AUDIT_NAME_BYTES, "%.*s%s", AUDIT_MAX_STEM, store->stem, suffix);
}

/* Never through a link, never blocking on a FIFO. The fd or ERR_*. */
static int open_regular(int dir_fd, const char *name, int flags, struct stat *out_about)
{
    cleanup_fd int fd =
        openat(dir_fd, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, WRITABLE_MODE);

    if (fd < 0) {
        if (errno == ELOOP)
            return ERR_SYMLINK_REJECTED;
        return errno == EISDIR || errno == ENXIO ? ERR_NOT_REGULAR_FILE : err_from_errno(errno);
    }
    if (fstat(fd, out_about) < 0)
        return err_from_errno(errno);
    if (!S_ISREG(out_about->st_mode))
        return ERR_NOT_REGULAR_FILE;
    return steal_fd(&fd);
}

/* A file that nobody else can write to. The fd or ERR_*. */
static int open_own(int dir_fd, const char *name, int flags, struct stat *out_about)
{
    cleanup_fd int fd = open_regular(dir_fd, name, flags, out_about);

    if (fd < 0)
        return fd;
    if (out_about->st_uid != geteuid())
        return ERR_PERMISSION_DENIED;
    if (out_about->st_nlink > 1)
        return ERR_HARDLINK_REJECTED;
    return steal_fd(&fd);
}

int audit_open_to_read(int dir_fd, const char *name, struct stat *out_about)
{
    cleanup_fd int fd = open_regular(dir_fd, name, O_RDONLY, out_about);

    if (fd < 0)
        return fd;
    if (out_about->st_uid != geteuid() && geteuid() != 0)
        return ERR_PERMISSION_DENIED;
    return steal_fd(&fd);
}

static int open_lock(struct audit_store *store)
{
    char name[AUDIT_NAME_BYTES];
    struct stat about = {0};
    cleanup_fd int fd = -1;

    name_with(store, ".lock", name);
    fd = open_own(store->dir_fd, name, O_RDWR | O_CREAT, &about);
    if (fd < 0)
        return fd;
    if ((about.st_mode & 07777) != WRITABLE_MODE && fchmod(fd, WRITABLE_MODE) < 0)
        return err_from_errno(errno);
    if (store->lock_fd >= 0)
        close(store->lock_fd);
    store->lock_fd = steal_fd(&fd);
    return 0;
}

int audit_store_init(struct audit_store *store, const struct audit_config *config,
                     enum audit_kind kind, struct err *err)
{
    cleanup_fd int dir_fd = -1;
    int r;

    if (!audit_name_is_usable(config->name))
        return err_set(err, ERR_INVALID_ARGUMENT, "the audit log needs a plain file name");
    if (config->max_files > AUDIT_MAX_FILES)
        return err_set(err, ERR_INVALID_ARGUMENT, "the audit log keeps at most %d files",
                       (int)AUDIT_MAX_FILES);
    if (config->max_bytes > LARGEST_MAX_BYTES)
        return err_set(err, ERR_INVALID_ARGUMENT, "the file size of the audit log is too large");
    dir_fd = fcntl(config->dir_fd, F_DUPFD_CLOEXEC, 0);
    if (dir_fd < 0)
        return err_set(err, err_from_errno(errno), "cannot use the directory of the audit log: %s",
                       err_errno_text(errno));
    *store = (struct audit_store){
        .dir_fd = dir_fd,
        .lock_fd = -1,
        .max_bytes = config->max_bytes > 0 ? config->max_bytes : DEFAULT_MAX_BYTES,
        .max_files = config->max_files > 0 ? config->max_files : DEFAULT_MAX_FILES,
        .lock_wait_ms = config->lock_wait_ms > 0 ? config->lock_wait_ms : DEFAULT_LOCK_WAIT_MS,
        .sync = config->sync,
    };
    audit_stem(config->name, kind, store->stem);
    r = open_lock(store);
    if (r < 0)
        return err_set(err, r, "cannot use the lock file of the audit log: %s", err_text(r));
    steal_fd(&dir_fd);
    return 0;
}

void audit_store_done(struct audit_store *store)
{
    close(store->lock_fd);
    close(store->dir_fd);
}

/* ---- The lock ---- */

/* A removed lock file no longer keeps other processes out. */
static bool is_lock_valid(const struct audit_store *store)
{
    struct stat about;

    return fstat(store->lock_fd, &about) == 0 && about.st_nlink > 0;
}

/* With a timeout: a process that was stopped while it holds the lock must not block all others. */
int audit_store_lock(struct audit_store *store)
{
    int64_t give_up_ms = clock_monotonic_ms(&clock_system) + store->lock_wait_ms;
    struct timespec pause = {.tv_nsec = FIRST_PAUSE_NS};

    while (true) {
        if (flock(store->lock_fd, LOCK_EX | LOCK_NB) == 0) {
            int r;

            if (is_lock_valid(store))
                return 0;
            r = open_lock(store);
            if (r < 0)
                return r;
        } else if (errno != EWOULDBLOCK && errno != EINTR) {
            return err_from_errno(errno);
        }
        if (clock_monotonic_ms(&clock_system) >= give_up_ms)
            return ERR_TIMED_OUT;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < LONGEST_PAUSE_NS)
            pause.tv_nsec *= 2;
    }
}

void audit_store_unlock(struct audit_store *store)
{
    flock(store->lock_fd, LOCK_UN);
}

/* ---- Space ---- */

/*
 * Every user of a file holds a shared lock on it. Being alone is therefore being able to lock it
 * exclusively; it is shared again afterwards. Nobody starts to use a file without the store's lock.
 */
static bool is_alone(int fd)
{
    bool is_alone = flock(fd, LOCK_EX | LOCK_NB) == 0;

    flock(fd, LOCK_SH | LOCK_NB);
    return is_alone;
}

static int load_space(const struct audit_store *store, int fd, struct space *out_space,
                      uint64_t *out_size)
{
    struct space space;
    struct stat about;
    uint64_t size;

    if (fstat(fd, &about) < 0)
        return err_from_errno(errno);
    size = (uint64_t)about.st_size;
    if (pread(store->lock_fd, &space, sizeof(space), 0) != (ssize_t)sizeof(space) ||
        space.magic != space_magic || space.inode != about.st_ino || space.end < size ||
        space.end > (uint64_t)about.st_blocks * 512 || space.unleased > space.end - size) {
        /* Lost or invalid: the space may belong to others, so rely on none of it. */
        space = (struct space){.magic = space_magic, .inode = about.st_ino, .end = size};
    }
    *out_space = space;
    *out_size = size;
    return 0;
}

static int save_space(const struct audit_store *store, const struct space *space)
{
    ssize_t written = pwrite(store->lock_fd, space, sizeof(*space), 0);

    if (written < 0)
        return err_from_errno(errno);
    return written == (ssize_t)sizeof(*space) ? 0 : ERR_NO_SPACE;
}

/* A file system that cannot reserve space still takes records, until it is full. */
static int allocate(int fd, uint64_t from, uint64_t bytes)
{
    int r;

    do {
        r = fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)bytes);
    } while (r < 0 && errno == EINTR);
    if (r < 0 && errno != EOPNOTSUPP && errno != ENOSYS)
        return err_from_errno(errno);
    return 0;
}

static uint64_t round_up(uint64_t bytes, uint64_t step)
{
    return (bytes + step - 1) / step * step;
}

static int grow_space(int fd, struct space *space, uint64_t bytes)
{
    int r = allocate(fd, space->end, bytes);

    if (r < 0)
        return r;
    space->end += bytes;
    space->unleased += bytes;
    return 0;
}

int audit_store_lease(struct audit_store *store, int fd, size_t least, size_t *out_bytes)
{
    uint64_t wanted = least > AUDIT_CHUNK_BYTES ? least : AUDIT_CHUNK_BYTES;
    struct space space = {0};
    uint64_t size = 0;
    uint64_t taken;
    int r = load_space(store, fd, &space, &size);

    if (r < 0)
        return r;
    if (space.unleased < wanted) {
        r = grow_space(fd, &space, round_up(wanted - space.unleased, AUDIT_CHUNK_BYTES));
        /* The last few pages of a disk still hold a record. */
        if (r < 0 && space.unleased < least)
            r = grow_space(fd, &space, round_up(least - space.unleased, PAGE_BYTES));
        if (r < 0 && space.unleased < least)
            return r;
    }
    taken = space.unleased < wanted ? space.unleased : wanted;
    space.unleased -= taken;
    r = save_space(store, &space);
    if (r < 0)
        return r;
    *out_bytes = (size_t)taken;
    return 0;
}

void audit_store_give_back(struct audit_store *store, int fd, size_t bytes)
{
    struct space space = {0};
    uint64_t size = 0;

    if (load_space(store, fd, &space, &size) < 0 || space.end - size - space.unleased < bytes)
        return;
    space.unleased += bytes;
    /* What is not returned is reclaimed by the next process that is alone. */
    (void)save_space(store, &space);
}

/* Reclaims leases of dead processes. */
static void reclaim_space(const struct audit_store *store, int fd)
{
    struct space space = {0};
    uint64_t size = 0;

    if (!is_alone(fd) || load_space(store, fd, &space, &size) < 0)
        return;
    space.unleased = space.end - size;
    (void)save_space(store, &space);
}

void audit_store_trim(int fd)
{
    struct stat about;

    if (is_alone(fd) && fstat(fd, &about) == 0 && ftruncate(fd, about.st_size) < 0) {
        /* It goes when the file goes. */
    }
}

/* ---- Rotation ---- */

static bool exists(const struct audit_store *store, unsigned number)
{
    char name[AUDIT_NAME_BYTES];
    struct stat about;

    audit_file_name(store->stem, number, name);
    return fstatat(store->dir_fd, name, &about, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The lowest free number, or that of the file to be dropped. */
static unsigned first_free(const struct audit_store *store)
{
    unsigned number = 1;

    while (number < store->max_files && exists(store, number))
        number++;
    return number;
}

static int sync_directory(const struct audit_store *store)
{
    /* EINVAL: a file system that cannot sync a directory has done so already, or never will. */
    if (store->sync == AUDIT_SYNC_NEVER || fsync(store->dir_fd) == 0 || errno == EINVAL)
        return 0;
    return err_from_errno(errno);
}

/*
 * From the top, so that each rename fills a gap and a crash in between leaves just another gap,
 * which the next rotation fills without losing a file.
 */
static int shift_files(const struct audit_store *store)
{
    char from[AUDIT_NAME_BYTES];
    char to[AUDIT_NAME_BYTES];

    for (unsigned number = first_free(store); number > 0; number--) {
        audit_file_name(store->stem, number - 1, from);
        audit_file_name(store->stem, number, to);
        if (renameat(store->dir_fd, from, store->dir_fd, to) < 0 && errno != ENOENT)
            return err_from_errno(errno);
    }
    /* Left from a time when more were kept. */
    for (unsigned number = store->max_files + 1; number <= AUDIT_MAX_FILES; number++) {
        audit_file_name(store->stem, number, to);
        unlinkat(store->dir_fd, to, 0);
    }
    return 0;
}

/* Creates a file. The fd or ERR_*. */
static int create_file(const struct audit_store *store, const char *name)
{
    struct stat about = {0};
    cleanup_fd int fd = open_own(store->dir_fd, name, O_RDWR | O_APPEND | O_CREAT | O_EXCL, &about);

    if (fd < 0)
        return fd;
    /* Whatever the umask: read-only would mean sealed. */
    if (fchmod(fd, WRITABLE_MODE) < 0)
        return err_from_errno(errno);
    flock(fd, LOCK_SH | LOCK_NB);
    return steal_fd(&fd);
}

static int create_with_space(const struct audit_store *store, const char *name, uint64_t bytes,
                             struct space *out_space)
{
    struct space space = {.magic = space_magic};
    struct stat about = {0};
    cleanup_fd int fd = create_file(store, name);
    int r;

    if (fd < 0)
        return fd;
    if (fstat(fd, &about) < 0)
        return err_from_errno(errno);
    space.inode = about.st_ino;
    r = grow_space(fd, &space, bytes);
    if (r < 0)
        return r;
    *out_space = space;
    return 0;
}

/* Under this name, replacing what an interrupted rotation left there. */
static int make_next(const struct audit_store *store, const char *name, size_t least,
                     struct space *out_space)
{
    char oldest[AUDIT_NAME_BYTES];
    int r;

    unlinkat(store->dir_fd, name, 0);
    r = create_with_space(store, name, round_up(least, AUDIT_CHUNK_BYTES), out_space);
    if (r != ERR_NO_SPACE)
        return r;
    /* On a full disk the oldest file is dropped to make room, and a few pages must do. */
    if (first_free(store) == store->max_files) {
        audit_file_name(store->stem, store->max_files, oldest);
        unlinkat(store->dir_fd, oldest, 0);
    }
    unlinkat(store->dir_fd, name, 0);
    return create_with_space(store, name, round_up(least, PAGE_BYTES), out_space);
}

int audit_store_rotate(struct audit_store *store, int fd, size_t least)
{
    char next[AUDIT_NAME_BYTES];
    struct space space;
    int r;

    name_with(store, ".new", next);
    r = make_next(store, next, least, &space);
    if (r < 0)
        goto undo;
    if (store->sync != AUDIT_SYNC_NEVER && fdatasync(fd) < 0) {
        r = err_from_errno(errno);
        goto undo;
    }
    /* First the seal: whoever sees it waits for the lock, and may have to finish this. */
    (void)fchmod(fd, SEALED_MODE);
    r = shift_files(store);
    if (r < 0) {
        (void)fchmod(fd, WRITABLE_MODE);
        goto undo;
    }
    if (renameat(store->dir_fd, next, store->dir_fd, store->stem) < 0) {
        r = err_from_errno(errno);
        goto undo;
    }
    r = save_space(store, &space);
    return r < 0 ? r : sync_directory(store);

undo:
    unlinkat(store->dir_fd, next, 0);
    return r;
}

/* ---- The current file ---- */

bool audit_store_is_current(const struct audit_store *store, int fd)
{
    struct stat mine;
    struct stat named;

    return fstat(fd, &mine) == 0 &&
           fstatat(store->dir_fd, store->stem, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           mine.st_dev == named.st_dev && mine.st_ino == named.st_ino && mine.st_nlink == 1 &&
           !audit_is_sealed(&mine);
}

static int create_current(const struct audit_store *store, int *out_fd)
{
    cleanup_fd int fd = create_file(store, store->stem);
    struct space space;
    struct stat about;
    int r;

    if (fd < 0)
        return fd;
    /* The lock file may still describe this inode. */
    if (fstat(fd, &about) < 0)
        return err_from_errno(errno);
    space = (struct space){.magic = space_magic, .inode = about.st_ino};
    r = save_space(store, &space);
    if (r == 0)
        r = sync_directory(store);
    if (r < 0)
        return r;
    *out_fd = steal_fd(&fd);
    return 0;
}

/* The rotation that sealed the current file was killed before it moved it. */
static int finish_rotation(const struct audit_store *store)
{
    struct stat about = {0};
    cleanup_fd int fd = open_own(store->dir_fd, store->stem, O_RDONLY, &about);

    if (fd < 0)
        return fd == ERR_NOT_FOUND ? 0 : fd;
    if (!audit_is_sealed(&about))
        return 0;
    if (shift_files(store) == 0)
        return 0;
    /* Then it grows, up to its limit. */
    return fchmod(fd, WRITABLE_MODE) == 0 ? 0 : err_from_errno(errno);
}

int audit_store_open_current(struct audit_store *store, int *out_fd)
{
    struct stat about = {0};
    cleanup_fd int fd = -1;
    int r = finish_rotation(store);

    if (r < 0)
        return r;
    fd = open_own(store->dir_fd, store->stem, O_RDWR | O_APPEND, &about);
    if (fd == ERR_NOT_FOUND)
        return create_current(store, out_fd);
    if (fd < 0)
        return fd;
    /* Private again, whatever was done to it. */
    if ((about.st_mode & 07777) != WRITABLE_MODE && fchmod(fd, WRITABLE_MODE) < 0)
        return err_from_errno(errno);
    flock(fd, LOCK_SH | LOCK_NB);
    reclaim_space(store, fd);
    *out_fd = steal_fd(&fd);
    return 0;
}
